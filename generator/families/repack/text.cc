#include "generator/families/repack/text.h"

#include <string_view>

#include "generator/families/packing_kernel.h"
#include "generator/families/value_type.h"
#include "generator/render/config.h"

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

KernelText repack_text(const Plan& plan, const TileKernel& kernel) {
  return packing_text(plan, kernel, kTemplate, config_text(plan, kernel),
                      "repack<heddle::Config, heddle::Encode>");
}

}  // namespace heddle
