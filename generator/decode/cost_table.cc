#include <fmt/format.h>

#include "heddle/decode_plan.h"

namespace heddle {
namespace {

std::string cost(const DecodeRequest& request) {
  const DecodePlan plan = derive_decode_plan(request);
  return fmt::format("{:.3f} ({}/{})", plan.instructions_per_weight, plan.ops.size(),
                     plan.elements());
}

// Whether leaving the power of two to the scale makes another plan.
bool leaves_power(const DecodeRequest& request) {
  return derive_decode_plan(request).result_exponent != 0;
}

}  // namespace

std::string decode_cost_table() {
  const std::vector<NamedDecodeRequest> list = every_decode_request();
  const std::size_t half = list.size() / 2;  // FP16 first, then the same ones for BF16
  std::string text = "| source | to FP16 | to BF16 |\n| --- | --: | --: |\n";
  for (std::size_t i = 0; i < half; ++i) {
    const DecodeRequest& fp16 = list[i].request;
    const DecodeRequest& bf16 = list[half + i].request;
    if (fp16.fold_power && !leaves_power(fp16) && !leaves_power(bf16)) continue;
    text += fmt::format("| {} | {} | {} |\n", list[i].name, cost(fp16), cost(bf16));
  }
  return text;
}

}  // namespace heddle
