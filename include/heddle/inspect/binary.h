// Binary: what the compiler made of a Source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/export.h"

namespace heddle {

// A text that is decompressed when it is first read. Copies share the text. Any thread may read
// one, also while others do.
class HEDDLE_EXPORT LazyText {
 public:
  LazyText() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a text is assigned as to a std::string.
  LazyText(std::string text);
  // NOLINTNEXTLINE(google-explicit-constructor)
  LazyText(const char* text);
  // `make` is called at most once, by the first function below that is called, and then dropped.
  explicit LazyText(std::function<std::string()> make);

  // Lives as long as any copy of this object. Throws what `make` throws; the next call tries again.
  const std::string& str() const;
  // NOLINTNEXTLINE(google-explicit-constructor): what reads texts need not know that it is lazy.
  operator std::string_view() const { return str(); }
  std::size_t size() const { return str().size(); }
  bool empty() const { return str().empty(); }

 private:
  struct State;
  std::shared_ptr<State> state_;  // null: empty
};

inline bool operator==(const LazyText& a, const LazyText& b) { return a.str() == b.str(); }

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
