// Requests for decode plans as JSON text, for codes of one's own.
#ifndef HEDDLE_GENERATOR_DECODE_REQUEST_JSON_H_
#define HEDDLE_GENERATOR_DECODE_REQUEST_JSON_H_

#include <string>
#include <string_view>

#include "generator/decode/decode_plan.h"
#include "generator/decode/requests.h"

namespace heddle {

// A member that is left out has its default. Throws Error(kSpec) with every problem: text that is
// no JSON object, unknown members, values of another type, words that no request has, and members
// that mean nothing for the kind or the order.
DecodeRequest parse_decode_request(std::string_view json);

// {"requests": [{"name", "request", "instructions_per_weight"}]}: every_decode_request().
std::string decode_requests_to_json();

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_DECODE_REQUEST_JSON_H_
