#include "generator/families/decode_attention/schedule.h"

#include <algorithm>

namespace heddle {
namespace {

using device::DecodeAttentionConfig;
using device::kMostClusterSequences;

// Clusters that take whole problems pay for few short sequences: up to so many tiles of an SM, and
// of a warp, and then more blocks are faster. `heddle bench --loads` measures both sides on an
// H200.
constexpr int kMostTilesOfSm = 16;
constexpr int kMostTilesOfWarp = 8;

// Blocks of a cluster that takes a whole problem, a power of two; 1: clusters take equal runs of
// all tiles. All clusters and those of the next launch, which starts before this one has ended,
// must be resident. Some GPCs have a number of SMs that clusters of more than two blocks do not
// fill: these reach nine tenths of the SMs.
int cluster_of_problem(const Target& target, const DecodeAttentionConfig& config, int blocks_per_sm,
                       std::int64_t sequence_tiles, std::int64_t problems,
                       std::int64_t sequences) noexcept {
  const int sms = target.sm_count;
  const int most = sms * blocks_per_sm;
  if (blocks_per_sm == 1 || sequences > kMostClusterSequences ||
      sequence_tiles * problems > kMostTilesOfSm * sms) {
    return 1;
  }
  const auto fits = [&](int cluster) {
    const std::int64_t blocks = problems * cluster;
    return blocks <= sms && 2 * blocks <= (cluster > 2 ? most * 9 / 10 : most);
  };
  int cluster = config.most_cluster;
  while (cluster > 1 && (!fits(cluster) || sequence_tiles <= config.warps * cluster / 2)) {
    cluster /= 2;
  }
  return sequence_tiles <= kMostTilesOfWarp * config.warps * cluster ? cluster : 1;
}

// Whether blocks that take equal runs of all tiles work in pairs. Long sequences then leave half as
// many partial results to merge, and neighbouring tiles are read at the same time.
bool takes_pairs(const DecodeAttentionConfig& config, int blocks_per_sm,
                 std::int64_t sequence_tiles, std::int64_t sequences) noexcept {
  return config.most_cluster > 1 && blocks_per_sm > 1 && sequences <= kMostClusterSequences &&
         sequence_tiles >= kLongTiles;
}

}  // namespace

AttentionSchedule attention_schedule(const Target& target, const DecodeAttentionConfig& config,
                                     int blocks_per_sm, const LaunchSize& size) noexcept {
  const std::int64_t sequence_tiles = device::ceil_div(size.size, device::kAttentionTile);
  const std::int64_t problems = size.sequences * config.heads.kv * config.row_blocks();
  const int cluster =
      cluster_of_problem(target, config, blocks_per_sm, sequence_tiles, problems, size.sequences);
  if (cluster > 1) return {sequence_tiles, problems, problems * cluster, cluster, true};
  const int least = sequence_tiles <= config.warps ? config.warps : config.least_block_tiles;
  const std::int64_t blocks =
      std::clamp<std::int64_t>(device::ceil_div(sequence_tiles * problems, least), 1,
                               std::int64_t{target.sm_count} * blocks_per_sm);
  const bool pairs = takes_pairs(config, blocks_per_sm, sequence_tiles, size.sequences);
  return {sequence_tiles, problems, blocks, blocks % 2 == 0 && pairs ? 2 : 1, false};
}

}  // namespace heddle
