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
  const std::vector<NamedDecodeRequest> list = every_decode_request();
  const std::size_t half = list.size() / 2;  // FP16 first, then the same ones for BF16
  std::string text = "| source | to FP16 | to BF16 |\n| --- | --: | --: |\n";
  for (std::size_t i = 0; i < half; ++i) {
    text += fmt::format("| {} | {} | {} |\n", list[i].name, cost(list[i].request),
                        cost(list[half + i].request));
  }
  return text;
}

}  // namespace heddle
