// How the thread blocks of a launch of decode_attention share the tiles of all sequences.
#ifndef HEDDLE_GENERATOR_FAMILIES_DECODE_ATTENTION_SCHEDULE_H_
#define HEDDLE_GENERATOR_FAMILIES_DECODE_ATTENTION_SCHEDULE_H_

#include <cstdint>

#include "decode_attention/config.h"
#include "heddle/inspect/plan.h"
#include "heddle/target.h"

namespace heddle {

// From so many tiles of a sequence on pairs of blocks take parts.
inline constexpr int kLongTiles = 256;
// The first length that has them.
inline constexpr std::int64_t kFirstLongSequence =
    std::int64_t{device::kAttentionTile} * (kLongTiles - 1) + 1;

struct AttentionSchedule {
  std::int64_t tiles_of_sequence;
  std::int64_t
      items;  // of a sequence and a head of K and V, as many rows of queries as blocks take
  std::int64_t blocks;
  int cluster;  // blocks of a team or of a pair
  bool teams;   // each takes an item; else blocks, or pairs of them, take equal parts of all tiles
};

// By the lengths that the sequences may have at most. Allocates nothing.
AttentionSchedule attention_schedule(const Target& target,
                                     const device::DecodeAttentionConfig& config, int blocks_per_sm,
                                     const LaunchSize& size) noexcept;

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_DECODE_ATTENTION_SCHEDULE_H_
