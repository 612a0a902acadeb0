#include "generator/families/decode_attention/schedule.h"

#include <algorithm>

namespace heddle {
namespace {

using device::DecodeAttentionConfig;
using device::kMostTeamSequences;

// Thread blocks that share each sequence and head, a power of two; 1: blocks take equal parts of
// all. A team is a cluster: all of them and those of the next launch, which starts before this one
// has ended, must find room, and clusters of more than two do not reach every SM.
int team_of(const Target& target, const DecodeAttentionConfig& config, int blocks_per_sm,
            std::int64_t tiles_of_sequence, std::int64_t items, std::int64_t sequences) noexcept {
  // Beyond these more blocks are faster.
  constexpr int kMostTilesOfSm = 16;
  constexpr int kMostTilesOfWarp = 8;
  const int sms = target.sm_count;
  const int most = sms * blocks_per_sm;
  if (blocks_per_sm == 1 || sequences > kMostTeamSequences ||
      tiles_of_sequence * items > kMostTilesOfSm * sms) {
    return 1;
  }
  const auto fits = [&](int team) {
    const std::int64_t blocks = items * team;
    return blocks <= sms && 2 * blocks <= (team > 2 ? most * 9 / 10 : most);
  };
  int team = config.most_team;
  while (team > 1 && (!fits(team) || tiles_of_sequence <= config.warps * team / 2)) team /= 2;
  return tiles_of_sequence <= kMostTilesOfWarp * config.warps * team ? team : 1;
}

// Where blocks take equal parts of all: whether pairs of them do. Of long sequences there are half
// as many parts to merge then, and neighbouring tiles are read at the same time.
bool takes_pairs(const DecodeAttentionConfig& config, int blocks_per_sm,
                 std::int64_t tiles_of_sequence, std::int64_t sequences) noexcept {
  return config.most_team > 1 && blocks_per_sm > 1 && sequences <= kMostTeamSequences &&
         tiles_of_sequence >= kLongTiles;
}

}  // namespace

// No more thread blocks than have tiles when every sequence is as long as it can be.
AttentionSchedule attention_schedule(const Target& target, const DecodeAttentionConfig& config,
                                     int blocks_per_sm, const LaunchSize& size) noexcept {
  const std::int64_t of_sequence = device::ceil_div(size.size, device::kAttentionTile);
  const std::int64_t items = size.sequences * config.heads.kv * config.row_parts();
  const int team = team_of(target, config, blocks_per_sm, of_sequence, items, size.sequences);
  if (team > 1) return {of_sequence, items, items * team, team, true};
  const int least = of_sequence <= config.warps ? config.warps : config.least_share;
  const std::int64_t blocks =
      std::clamp<std::int64_t>(device::ceil_div(of_sequence * items, least), 1,
                               std::int64_t{target.sm_count} * blocks_per_sm);
  const bool pairs = takes_pairs(config, blocks_per_sm, of_sequence, size.sequences);
  return {of_sequence, items, blocks, blocks % 2 == 0 && pairs ? 2 : 1, false};
}

}  // namespace heddle
