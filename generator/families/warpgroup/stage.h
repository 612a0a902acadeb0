// A stage of a GEMM with wgmma: chunks of weights, or half a chunk of each row block, and the
// tokens of their columns.
#ifndef HEDDLE_GENERATOR_FAMILIES_WARPGROUP_STAGE_H_
#define HEDDLE_GENERATOR_FAMILIES_WARPGROUP_STAGE_H_

#include "generator/families/fields.h"
#include "generator/families/scale_mode.h"
#include "heddle/spec.h"
#include "warpgroup/config.h"

namespace heddle {

// Blocks of a cluster that share K or tokens. GPCs have 16 or 18 SMs, so clusters of four would
// leave some of them idle.
inline constexpr int kWgmmaCluster = 2;

inline int stage_columns(const device::WarpgroupConfig& c) {
  return c.half_stages ? device::Chunk::kColumns / 2 : c.stage_chunks * device::Chunk::kColumns;
}

// Whether a stage of this tile may be half a chunk of each row block: a warp is done with one half
// after the other, whose words lie apart.
inline bool wgmma_may_halve(const GemmSpec& spec, const device::WarpgroupConfig& c) {
  return !c.byte_tokens() && c.tile_m >= 128 && c.tile_n == 128 && c.stage_chunks == 1 &&
         c.scaling.mode != ScaleMode::kAccumulator && spec.weight.interleave != Interleave::kTrtllm;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_WARPGROUP_STAGE_H_
