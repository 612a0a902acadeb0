// Two codes of four bits at a time, where they fill a byte.
#ifndef HEDDLE_GENERATOR_DECODE_DERIVE_BYTES_H_
#define HEDDLE_GENERATOR_DECODE_DERIVE_BYTES_H_

#include <optional>

#include "generator/decode/decode_plan.h"

namespace heddle {

// `empty` with its operations, or nothing where codes are not of that kind or lie otherwise.
std::optional<DecodePlan> derive_bytes(const DecodePlan& empty);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_DECODE_DERIVE_BYTES_H_
