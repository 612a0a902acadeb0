#include "generator/families/tiles/config.h"

#include "generator/families/next_start.h"

namespace heddle {
namespace {

device::Feeder feeder_of(const GemmVariant& v) {
  if (v.kernel == GemmKernel::kBulk) return device::Feeder::kBulk;
  return v.path == Path::kTuring ? device::Feeder::kRegisters : device::Feeder::kAsync;
}

}  // namespace

device::TilesConfig tiles_sizes(const WeightLayout& layout, const GemmVariant& v) {
  device::TilesConfig config{};
  config.weights = packed_sizes(layout);
  config.scaling = scaling_of(v);
  config.feeder = feeder_of(v);
  config.reads_ahead = v.reads_ahead;
  config.tile_m = v.tile_m;
  config.tile_n = v.tile_n;
  config.stage_k = v.stage_k;
  config.stages = v.stages;
  config.split_k = v.split_k;
  config.warps_m = v.warps_m;
  config.warps_n = v.warps_n;
  config.warps_k = v.warps_k;
  if (config.feeder == device::Feeder::kBulk) {
    config.stages_ahead = v.stages_ahead;
    config.tokens_alone = most_tokens_alone(layout);
  }
  return config;
}

device::TilesConfig tiles_config(const GemmSpec& spec, const WeightLayout& layout,
                                 const GemmVariant& v) {
  device::TilesConfig config = tiles_sizes(layout, v);
  config.weights = packed_weights(spec, layout);
  config.epilogue = epilogue_of(spec.epilogue);
  config.pre_scale = takes_pre_scale(spec);
  return config;
}

}  // namespace heddle
