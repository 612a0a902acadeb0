// Guard bands around outputs, and the bytes that memory is filled with before a launch.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_POISON_H_
#define HEDDLE_TOOLS_GPU_HARNESS_POISON_H_

#include <cstddef>

namespace heddle {

// Bytes before and behind an output that no kernel may write to.
inline constexpr std::size_t kGuardBytes = 4096;

// Outputs and their guard bands are filled with this where they need not hold NaNs.
inline constexpr unsigned char kGuardByte = 0xA5;

// Memory full of this byte holds NaNs, whatever its floating-point type.
inline constexpr unsigned char kNanByte = 0xFF;

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_POISON_H_
