// What the files of the C API share that deal with decode plans.
#ifndef HEDDLE_RUNTIME_C_API_DECODE_H_
#define HEDDLE_RUNTIME_C_API_DECODE_H_

#include <cstdint>

#include "heddle/c/decode.h"
#include "heddle/inspect/decode_plan.h"
#include "runtime/c_api/call.h"

namespace heddle::c_api {

// Both throw Error(kUsage, "decode.request") for what is none of a request's words.
DType dtype_of(const heddle_text& text);
DecodeRequest to_decode_request(const heddle_decode_request& given);
// Its arrays belong to the request.
heddle_decode_request to_c_request(const DecodeRequest& request);

// How many codes were checked. Throws Error(kInternal, "decode.mismatch") for a plan that is wrong.
std::uint64_t prove(const DecodePlan& plan);

}  // namespace heddle::c_api

#endif  // HEDDLE_RUNTIME_C_API_DECODE_H_
