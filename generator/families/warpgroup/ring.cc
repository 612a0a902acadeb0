#include "generator/families/warpgroup/ring.h"

#include <algorithm>

#include "generator/families/shared_memory.h"
#include "generator/families/warpgroup/stage.h"

namespace heddle {
namespace {

constexpr int kMostStages = 8;
constexpr int kMostTokensAhead = 64;  // that weights of several stages may be ahead of
// The short ring is one of so many tokens and of weights of so many bits at most.
constexpr int kShortRing = 150 << 10;
constexpr int kShortRingTokens = 32;
constexpr int kShortRingBits = 4;
constexpr int kFewBits = 2;
constexpr int kFewestStagesOfBlock = 8;

// Whether blocks that share tiles do so as pairs, which takes some more barriers, is settled later.
int most_shared_bytes(const WeightLayout& layout, const GemmVariant& v) {
  device::WarpgroupConfig config = warpgroup_sizes(layout, v);
  config.shares_in_pairs = v.shares_tiles;
  return config.shared_bytes();
}

// Codes of two bits are decoded by two warpgroups no faster than they come: weights ahead of the
// tokens would only make the tokens late.
bool decodes_slowly(const GemmSpec& spec, const GemmVariant& v) {
  return spec.weight.bits <= kFewBits && !wgmma_has_four(v);
}

// `soon`: bytes on their way ahead of the tokens would make these late.
int stages_that_fit(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                    GemmVariant v, bool soon) {
  const bool is_short = soon && v.tile_m == kShortRingTokens && spec.weight.bits <= kShortRingBits;
  const int ring = is_short ? kShortRing : target.shared_per_block;
  for (v.stages = kMostStages; v.stages > 1; --v.stages) {
    if (v.stages * warpgroup_sizes(layout, v).stage_bytes() <= ring &&
        most_shared_bytes(layout, v) <= target.shared_per_block) {
      break;
    }
  }
  return v.stages;
}

// Blocks of four warpgroups have many stages.
int stages_ahead(const GemmSpec& spec, const GemmVariant& v) {
  if (v.tile_m > kMostTokensAhead || decodes_slowly(spec, v)) return 1;
  return wgmma_has_four(v) ? std::max(v.stages - 1, 1) : std::min(v.stages, 2);
}

}  // namespace

int wgmma_stages_that_fit(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                          const GemmVariant& variant) {
  return stages_that_fit(spec, target, layout, variant, decodes_slowly(spec, variant));
}

void set_wgmma_ring(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                    GemmVariant& variant) {
  variant.stages = spec.tile.stages.value_or(wgmma_stages_that_fit(spec, target, layout, variant));
  variant.stages_ahead = stages_ahead(spec, variant);
  variant.shared_bytes = most_shared_bytes(layout, variant);
}

// The blocks of a pair that have few stages would have their first tokens late behind the weights
// of two, and the next behind those of a large ring.
void settle_wgmma_ring(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                       GemmVariant& variant) {
  const int stages = ceil_div(layout.chunks_per_row_block, variant.stage_chunks);
  if (!variant.shares_in_pairs || stages >= kWgmmaCluster * kFewestStagesOfBlock) return;
  if (variant.tile_m > kMostTokensAhead) return;
  variant.stages_ahead = 1;
  if (spec.tile.stages) return;
  variant.stages = stages_that_fit(spec, target, layout, variant, true);
  variant.shared_bytes = most_shared_bytes(layout, variant);
}

}  // namespace heddle
