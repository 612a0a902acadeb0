// Tensor maps of the tokens, and of their scales, that a wgmma kernel reads, kept by each thread.
#ifndef HEDDLE_RUNTIME_LAUNCH_TENSOR_MAPS_H_
#define HEDDLE_RUNTIME_LAUNCH_TENSOR_MAPS_H_

#include <cstdint>

#include "runtime/driver/driver.h"

namespace heddle {

// X as boxes of kColumns columns by some tokens.
struct TokenBoxes {
  static constexpr int kColumns = 64;  // 128 bytes, what the swizzle permutes

  const void* x = nullptr;  // [m, k], row-major
  std::int64_t m = 0;
  std::int64_t k = 0;
  int box_tokens = 0;
  bool bf16 = false;

  bool operator==(const TokenBoxes&) const = default;
};

// Scales of groups of columns as boxes of one line by some tokens, which are not permuted.
struct ScaleBoxes {
  const void* scales = nullptr;  // [lines][stride], words
  std::int64_t m = 0;            // of the stride
  std::int64_t lines = 0;
  std::int64_t stride = 0;
  int box_tokens = 0;

  bool operator==(const ScaleBoxes&) const = default;
};

// The map of `boxes`, from the few that this thread encoded last: an engine launches from the same
// buffers over and over, and the driver takes as long to encode one as Heddle for all the rest of a
// launch. A map is a function of the boxes alone, so none is ever out of date. It stays valid until
// the thread's next call of the same function. Throws Error(kDriver). Allocates nothing unless it
// does, but where the library was opened with dlopen() the loader takes memory for a thread's maps
// at its first call.
cuda::CUtensorMap* token_map(const cuda::Driver& driver, const TokenBoxes& boxes);
cuda::CUtensorMap* scale_map(const cuda::Driver& driver, const ScaleBoxes& boxes);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_LAUNCH_TENSOR_MAPS_H_
