#include "generator/families/warpgroup/config.h"

#include "generator/families/warpgroup/stage.h"

namespace heddle {

device::WarpgroupConfig warpgroup_sizes(const WeightLayout& layout, const GemmVariant& v) {
  device::WarpgroupConfig config{};
  config.weights = packed_sizes(layout);
  config.scaling = scaling_of(v);
  config.tile_m = v.tile_m;
  config.tile_n = v.tile_n;
  config.tokens = static_cast<int>(v.m_max);
  config.stage_chunks = v.stage_chunks;
  config.half_stages = v.stage_k < WeightLayout::kChunkK;
  config.stages = v.stages;
  config.stages_ahead = v.stages_ahead;
  config.warpgroups = wgmma_warpgroups(v);
  config.cluster = v.cluster;
  config.shares_tiles = v.shares_tiles;
  config.shares_in_pairs = v.shares_in_pairs;
  config.step_tiles = v.step_tiles;
  config.decoded_sets = v.decoded_sets;
  config.workers = v.workers;
  return config;
}

device::WarpgroupConfig warpgroup_config(const GemmSpec& spec, const WeightLayout& layout,
                                         const GemmVariant& v) {
  device::WarpgroupConfig config = warpgroup_sizes(layout, v);
  config.weights = packed_weights(spec, layout);
  config.epilogue = epilogue_of(spec.epilogue);
  return config;
}

}  // namespace heddle
