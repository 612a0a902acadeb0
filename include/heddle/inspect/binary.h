// Binary: what the compiler made of a Source.
#ifndef HEDDLE_INSPECT_BINARY_H_
#define HEDDLE_INSPECT_BINARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/inspect/lazy_text.h"

namespace heddle {

struct Binary {
  std::string kernel_name;
  std::string arch;
  std::string compiler;  // NVRTC's version and the build-ids of libnvrtc and libnvrtc-builtins
  std::vector<std::uint8_t> cubin;
  // Empty if made with `--no-source`. Reading it throws Error(kFile) if a bundle cannot be read.
  LazyText ptx;
  int registers = 0;    // per thread
  int spill_bytes = 0;  // stores and loads of registers to local memory, per thread
  int local_bytes = 0;  // stack frame, per thread
  int static_shared_bytes = 0;
  int dynamic_shared_bytes = 0;
  int threads = 0;        // per block
  double compile_ms = 0;  // of the compilation that made these bytes, also on a cache hit
};

}  // namespace heddle

#endif  // HEDDLE_INSPECT_BINARY_H_
