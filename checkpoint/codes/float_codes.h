// Values of codes and of coded scales; all exact.
#ifndef HEDDLE_CHECKPOINT_CODES_FLOAT_CODES_H_
#define HEDDLE_CHECKPOINT_CODES_FLOAT_CODES_H_

#include <cstdint>

namespace heddle {

inline constexpr std::int64_t kMxGroup = 32;  // columns that share a scale in the OCP's MX formats

double e4m3_value(std::uint8_t code);  // 0x7F and 0xFF are NaN
double e5m2_value(std::uint8_t code);  // with infinities and NaN
double e2m1_value(std::uint8_t code);  // of the low four bits
double e8m0_value(std::uint8_t code);  // 2^(code - 127); 255 is NaN

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_CODES_FLOAT_CODES_H_
