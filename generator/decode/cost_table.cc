#include <fmt/format.h>

#include "heddle/decode_plan.h"

namespace heddle {
namespace {

std::string cost(const DecodeRequest& request) {
  const DecodePlan plan = derive_decode_plan(request);
  return fmt::format("{:.3f} ({}/{})", plan.instructions_per_weight, plan.ops.size(),
                     plan.elements());
}

}  // namespace

std::string decode_cost_table() {
  // The same names for both destinations; a few plans exist for FP16 alone.
  const std::vector<NamedDecodeRequest> list = every_decode_request();
  std::string text = "| source | to FP16 | to BF16 |\n| --- | --: | --: |\n";
  for (const NamedDecodeRequest& fp16 : list) {
    if (fp16.request.dtype != DType::kFp16) continue;
    std::string bf16_cost = "-";
    for (const NamedDecodeRequest& other : list) {
      if (other.request.dtype == DType::kBf16 && other.name == fp16.name) {
        bf16_cost = cost(other.request);
      }
    }
    text += fmt::format("| {} | {} | {} |\n", fp16.name, cost(fp16.request), bf16_cost);
  }
  return text;
}

}  // namespace heddle
