#include "generator/families/stream/product.h"

#include <fmt/format.h>

#include "generator/ceil_div.h"
#include "generator/families/gemm_config.h"
#include "generator/families/scale_mode.h"
#include "generator/families/stream/shape.h"

namespace heddle {

device::StreamConfig stream_product(const GemmSpec& spec, const WeightLayout& layout, int tokens,
                                    int sms) {
  device::StreamConfig c{};
  c.weights = packed_weights(spec, layout);
  c.shape = weight_shape(spec, layout);
  c.scaling.mode = scale_mode_of_entries(
      spec, layout, static_cast<int>(ceil_div(tokens, kTokenTile)) * kTokenTile);
  c.epilogue = epilogue_of(spec);
  c.token_values = device::TokenValues::kHalves;
  c.tokens = tokens;
  c.split_k = 1;
  c.cluster = 1;
  c.workers = sms;
  return c;
}

std::string stream_arithmetic(const device::StreamConfig& c) {
  // Without groups that are scaled, sums of a stage are added to those of all stages before it.
  const bool scales_groups =
      c.scaling.mode == ScaleMode::kAccumulator || c.scaling.mode == ScaleMode::kGroup;
  std::string text = fmt::format("streams, {}", scale_text(c.scaling.mode));
  if (!scales_groups) text += fmt::format(", sums of {} chunks", c.stage_chunks);
  text += fmt::format(", K over {} warps", c.warps_k);
  if (c.split_k > 1) text += fmt::format(" of each of {} blocks", c.split_k);
  return text;
}

std::string stream_product_text(const char* name, const char* member, const GemmSpec& spec) {
  std::string text = fmt::format(
      "struct {} {{\n  static constexpr StreamConfig value = Config::value.{};\n", name, member);
  for (const std::string& alias : gemm_aliases(spec)) text += "  " + alias + '\n';
  return text + "  using Products = StreamHalfProducts<Value>;\n  using Sums = FloatSums;\n};\n";
}

}  // namespace heddle
