// The arithmetic of whole blocks; device code has its own in templates/config/config.h.
#ifndef HEDDLE_GENERATOR_CEIL_DIV_H_
#define HEDDLE_GENERATOR_CEIL_DIV_H_

#include <cstdint>

namespace heddle {

// Precondition: a >= 0, b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_CEIL_DIV_H_
