#include "generator/families/warpgroup/ring.h"

#include <algorithm>

#include "generator/families/shared_memory.h"
#include "generator/families/warpgroup/shares.h"
#include "generator/families/warpgroup/stage.h"

namespace heddle {
namespace {

using device::WarpgroupConfig;

constexpr int kMostTokensAhead = 64;  // that weights of several stages may be ahead of
// The short ring is one of so many tokens and of weights of so many bits at most.
constexpr int kShortRing = 150 << 10;
constexpr int kShortRingTokens = 32;
constexpr int kShortRingBits = 4;
constexpr int kFewBits = 2;
constexpr int kFewestStagesOfBlock = 8;

// However blocks share tiles: pairs take some more barriers.
int most_shared_bytes(WarpgroupConfig c) {
  c.sharing = device::TileSharing::kPairs;
  return c.shared_bytes();
}

// Codes of two bits are decoded by two warpgroups no faster than they come: weights ahead of the
// tokens would only make the tokens late.
bool decodes_slowly(const GemmSpec& spec, const WarpgroupConfig& c) {
  return spec.weight.bits <= kFewBits && !c.has_four();
}

// `soon`: bytes on their way ahead of the tokens would make these late.
int stages_that_fit(const GemmSpec& spec, const Target& target, WarpgroupConfig c, bool soon) {
  const bool is_short = soon && c.tile_m == kShortRingTokens && spec.weight.bits <= kShortRingBits;
  const int ring = is_short ? kShortRing : target.shared_per_block;
  for (c.stages = kMostBulkStages; c.stages > 1; --c.stages) {
    if (c.stages * c.stage_bytes() <= ring && most_shared_bytes(c) <= target.shared_per_block) {
      break;
    }
  }
  return c.stages;
}

// Blocks of four warpgroups have many stages.
int stages_ahead(const GemmSpec& spec, const WarpgroupConfig& c) {
  if (c.tile_m > kMostTokensAhead || decodes_slowly(spec, c)) return 1;
  return c.has_four() ? std::max(c.stages - 1, 1) : std::min(c.stages, 2);
}

}  // namespace

void set_wgmma_ring(const GemmSpec& spec, const Target& target, WarpgroupConfig& c) {
  c.stages = spec.tile.stages ? *spec.tile.stages
                              : stages_that_fit(spec, target, c, decodes_slowly(spec, c));
  c.stages_ahead = stages_ahead(spec, c);
}

// The blocks of a pair that have few stages would have their first tokens late behind the weights
// of two, and the next behind those of a large ring.
void wgmma_share_in_pairs(const GemmSpec& spec, const Target& target, WarpgroupKernel& c) {
  if (!wgmma_may_pair(c)) return;
  c.sharing = device::TileSharing::kPairs;
  if (c.total_units() >= kWgmmaCluster * kFewestStagesOfBlock) return;
  if (c.tile_m > kMostTokensAhead) return;
  c.stages_ahead = 1;
  if (!spec.tile.stages) c.stages = stages_that_fit(spec, target, c, true);
  if (!wgmma_may_pair(c)) c.sharing = device::TileSharing::kParts;
}

}  // namespace heddle
