// Proving decode plans, for the files of the C API that do.
#ifndef HEDDLE_RUNTIME_C_API_DECODE_H_
#define HEDDLE_RUNTIME_C_API_DECODE_H_

#include <cstdint>

#include "generator/decode/decode_plan.h"

namespace heddle::c_api {

// How many codes were checked. Throws Error(kInternal, "decode.mismatch") for a plan that is wrong.
std::uint64_t prove(const DecodePlan& plan);

}  // namespace heddle::c_api

#endif  // HEDDLE_RUNTIME_C_API_DECODE_H_
