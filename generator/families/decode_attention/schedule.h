// How the thread blocks of a launch of decode_attention share the tiles of all sequences.
#ifndef HEDDLE_GENERATOR_FAMILIES_DECODE_ATTENTION_SCHEDULE_H_
#define HEDDLE_GENERATOR_FAMILIES_DECODE_ATTENTION_SCHEDULE_H_

#include <cstdint>

#include "decode_attention/config.h"
#include "heddle/inspect/plan.h"
#include "heddle/target.h"

namespace heddle {

// Sequences of this many KV tiles are long: neighbouring blocks then work in pairs.
inline constexpr int kLongTiles = 256;
// The first length that has them.
inline constexpr std::int64_t kFirstLongSequence =
    std::int64_t{device::kAttentionTile} * (kLongTiles - 1) + 1;

// In the words of templates/README.md: a problem is a sequence and a work head.
struct AttentionSchedule {
  std::int64_t sequence_tiles;
  std::int64_t problems;
  std::int64_t blocks;
  int cluster;          // blocks of a cluster
  bool whole_problems;  // a cluster takes one problem; else clusters take equal runs of all tiles
};

// For sequences that all are as long as the launch allows. Allocates nothing.
AttentionSchedule attention_schedule(const Target& target,
                                     const device::DecodeAttentionConfig& config, int blocks_per_sm,
                                     const LaunchSize& size) noexcept;

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_DECODE_ATTENTION_SCHEDULE_H_
