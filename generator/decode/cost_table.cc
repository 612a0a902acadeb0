#include <fmt/format.h>

#include <algorithm>

#include "heddle/inspect/decode_plan.h"

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
  // FP16 first, then the same ones for BF16, then those that only BF16 has.
  const auto is_scaled = [](const NamedDecodeRequest& one) { return one.request.fold_scale; };
  const auto scaled = std::find_if(list.begin(), list.end(), is_scaled);
  const auto half = static_cast<std::size_t>(scaled - list.begin()) / 2;
  std::string text = "| source | to FP16 | to BF16 |\n| --- | --: | --: |\n";
  for (std::size_t i = 0; i < half; ++i) {
    const DecodeRequest& fp16 = list[i].request;
    const DecodeRequest& bf16 = list[half + i].request;
    if (fp16.fold_power && !leaves_power(fp16) && !leaves_power(bf16)) continue;
    text += fmt::format("| {} | {} | {} |\n", list[i].name, cost(fp16), cost(bf16));
  }
  for (auto one = scaled; one != list.end(); ++one) {
    text += fmt::format("| {} | | {} |\n", one->name, cost(one->request));
  }
  return text;
}

}  // namespace heddle
