#include <utility>

#include "generator/decode/decode_plan.h"
#include "generator/decode/request_json.h"

namespace heddle {

SharedDecodePlan::SharedDecodePlan() : SharedDecodePlan(DecodePlan()) {}

SharedDecodePlan::SharedDecodePlan(DecodePlan plan)
    : plan_(std::make_shared<const DecodePlan>(std::move(plan))) {}

SharedDecodePlan SharedDecodePlan::parse(std::string_view request) {
  return derive_decode_plan(parse_decode_request(request));
}

int SharedDecodePlan::words() const noexcept { return plan_->words; }

int SharedDecodePlan::elements() const noexcept { return plan_->elements(); }

double SharedDecodePlan::instructions_per_weight() const noexcept {
  return plan_->instructions_per_weight;
}

const std::vector<int>& SharedDecodePlan::field_of() const noexcept { return plan_->field_of; }

}  // namespace heddle
