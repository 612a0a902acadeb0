#include <string_view>

#include "generator/render/config.h"
#include "generator/render/kernel_text.h"
#include "generator/render/packing_kernel.h"

namespace heddle {
namespace {

constexpr std::string_view kTemplate = "repack/repack.cuh";

std::string config_text(const Plan& plan, const TileKernel& kernel) {
  const WeightOpSpec& spec = plan.spec.weight_op();
  const bool awq = spec.format == CheckpointFormat::kAwq;
  ConfigWriter config;
  add_packing_members(plan, kernel, config);
  config.enumerator("kFormat", "Format", awq ? "kAwq" : "kGptq");
  config.number("kZeroBias", spec.format == CheckpointFormat::kGptq ? 1 : 0);
  config.flag("kActOrder", spec.act_order);
  config.number("kTileRows", kernel.tile_rows);
  config.type("Codes", awq              ? "AwqCodes<Config>"
                       : spec.act_order ? "GptqGather<Config>"
                                        : "GptqCodes<Config>");
  return config.text(kTemplate);
}

}  // namespace

Source render_repack(const Plan& plan, const TileKernel& kernel) {
  return packing_source(
      plan, kernel, kTemplate, config_text(plan, kernel),
      "const heddle::u8* weights, const heddle::u8* scales, const heddle::u8* zeros,\n"
      "       const heddle::u8* permutation, heddle::u8* packed",
      "heddle::repack<heddle::Config, heddle::Encode>(weights, scales, zeros, permutation, "
      "packed)");
}

}  // namespace heddle
