// as_size(): an index into a tensor, which is signed, as the standard library wants it.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_NUMBERS_AS_SIZE_H_
#define HEDDLE_TOOLS_GPU_HARNESS_NUMBERS_AS_SIZE_H_

#include <cstddef>
#include <cstdint>

namespace heddle {

inline std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_NUMBERS_AS_SIZE_H_
