// A decode plan as JSON: as a part of a plan, and alone.
#ifndef HEDDLE_GENERATOR_DECODE_JSON_H_
#define HEDDLE_GENERATOR_DECODE_JSON_H_

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "generator/decode/decode_plan.h"

namespace heddle {

// What plan_to_json() says of it.
nlohmann::ordered_json decode_json(const DecodePlan& plan);
// What parse_decode_request() reads.
nlohmann::ordered_json request_json(const DecodeRequest& request);

// The spelling of the enumerators of a request.
std::string_view to_string(CodeKind kind) noexcept;
std::string_view to_string(ElementOrder order) noexcept;
std::string_view to_string(ZeroOrder order) noexcept;

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_DECODE_JSON_H_
