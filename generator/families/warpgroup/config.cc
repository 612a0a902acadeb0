#include "generator/families/warpgroup/config.h"

#include "generator/families/configuration.h"
#include "generator/families/warpgroup/stage.h"

namespace heddle {

device::WarpgroupConfig warpgroup_sizes(const WeightLayout& layout, const GemmVariant& v) {
  device::WarpgroupConfig config{};
  config.weights = packed_weights(GemmSpec{}, layout);
  config.scaling = {v.scale_mode, 0, 0};
  config.tile_m = v.tile_m;
  config.tile_n = v.tile_n;
  config.tokens = static_cast<int>(v.m_max);
  config.stage_chunks = v.stage_chunks;
  config.half_stages = v.stage_k < WeightLayout::kChunkK;
  config.stages = v.stages;
  config.stages_ahead = v.stages_ahead;
  config.warpgroups = wgmma_warpgroups(v);
  config.cluster = v.cluster;
  config.shares_rows = v.shares_rows;
  config.shares_tiles = v.shares_tiles;
  config.shares_in_pairs = v.shares_in_pairs;
  config.step_tiles = v.step_tiles;
  config.decoded_sets = v.decoded_sets;
  config.workers = v.workers;
  return config;
}

GemmVariant variant_of(const PlannedKernel& kernel) {
  const auto& config = config_of<device::WarpgroupConfig>(kernel);
  GemmVariant v;
  v.name = kernel.name;
  v.path = Path::kHopper;
  v.kernel = GemmKernel::kWgmma;
  v.m_min = kernel.size_min;
  v.m_max = kernel.size_max;
  v.scale_mode = config.scaling.mode;
  v.tile_m = config.tile_m;
  v.tile_n = config.tile_n;
  v.stage_chunks = config.stage_chunks;
  v.stage_k = config.half_stages ? 64 : config.stage_chunks * WeightLayout::kChunkK;
  v.stages = config.stages;
  v.stages_ahead = config.stages_ahead;
  v.warps_n = 4 * config.warpgroups;
  v.cluster = config.cluster;
  v.shares_rows = config.shares_rows;
  v.shares_tiles = config.shares_tiles;
  v.shares_in_pairs = config.shares_in_pairs;
  v.step_tiles = config.step_tiles;
  v.decoded_sets = config.decoded_sets;
  v.workers = config.workers;
  v.shared_bytes = kernel.shared_bytes;
  return v;
}

device::WarpgroupConfig warpgroup_config(const GemmSpec& spec, const WeightLayout& layout,
                                         const GemmVariant& v) {
  device::WarpgroupConfig config = warpgroup_sizes(layout, v);
  config.weights = packed_weights(spec, layout);
  config.epilogue = epilogue_of(spec.epilogue);
  return config;
}

}  // namespace heddle
