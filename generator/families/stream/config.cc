#include "generator/families/stream/config.h"

namespace heddle {
namespace {

constexpr int kTokenTile = 8;  // tokens of a matrix instruction

}  // namespace

device::StreamConfig stream_config(const GemmSpec& spec, const WeightLayout& layout,
                                   const GemmVariant& v) {
  device::StreamConfig config{};
  config.weights = packed_weights(spec, layout);
  config.scaling = scaling_of(v);
  config.epilogue = epilogue_of(spec.epilogue);
  config.pre_scale = takes_pre_scale(spec);
  // In whole tiles of the matrix instruction where there are several.
  config.tokens = v.m_max < kTokenTile ? static_cast<int>(v.m_max) : v.tile_m;
  config.stage_chunks = v.stage_chunks;
  config.stages = v.stages;
  config.split_k = v.split_k;
  config.cluster = v.cluster;
  config.warps_k = v.warps_k;
  config.workers = v.workers;
  config.least_shared_bytes = v.shared_bytes;
  return config;
}

}  // namespace heddle
