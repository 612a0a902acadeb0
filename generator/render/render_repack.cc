#include <fmt/format.h>

#include "generator/decode/encode_moves.h"
#include "generator/render/config.h"
#include "generator/render/encode_text.h"
#include "generator/render/kernel_text.h"
#include "generator/render/packing_config.h"

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
  config.type("Codes", awq              ? "AwqCodes<Config>"
                       : spec.act_order ? "GptqGather<Config>"
                                        : "GptqCodes<Config>");
  return config.text(kTemplate);
}

}  // namespace

Source render_repack(const Plan& plan, const TileKernel& kernel) {
  Source source;
  source.kernel_name = kernel.name;
  source.threads = kernel.threads;
  source.dynamic_shared_bytes = kernel.shared_bytes;
  source.text = kernel_text(
      plan,
      fmt::format("tiles of {} rows x {} columns, {:.3g} instructions per weight to pack codes\n",
                  kernel.tile_rows, kernel.tile_columns, encode_cost(plan.decode)),
      kTemplate, config_text(plan, kernel) + '\n' + encode_text(plan.decode),
      entry_text(kernel.name, kernel.threads, kernel.blocks_per_sm,
                 "const heddle::u8* weights, const heddle::u8* scales, const heddle::u8* zeros,\n"
                 "       const heddle::u8* permutation, heddle::u8* packed",
                 "heddle::repack<heddle::Config, heddle::Encode>(weights, scales, zeros, "
                 "permutation, packed)"));
  return source;
}

}  // namespace heddle
