// How decode_attention is cut into warps, stages and blocks.
#ifndef HEDDLE_GENERATOR_PLAN_ATTENTION_TILE_H_
#define HEDDLE_GENERATOR_PLAN_ATTENTION_TILE_H_

#include <cstddef>
#include <vector>

#include "heddle/error.h"
#include "heddle/kv_cache.h"
#include "heddle/plan.h"

namespace heddle {

inline constexpr int kAttentionTile = 32;  // tokens that a warp takes at a time
// The most sequences of a launch: a block keeps their lengths in shared memory.
inline constexpr int kMostSequences = 1024;
// The same where the blocks of a cluster are a team that adds in shared memory.
inline constexpr int kMostTeamSequences = 31;

// Where sequences may have so many tiles the kernel of wide blocks takes them, if there is one.
inline constexpr int kLongTiles = 256;

struct AttentionTile {
  int row_tiles = 1;  // of 8 queries of one head of K and V, per block
  bool has_window = false;
  int head_dim = 0;
  int warps = 4;
  int stages = 2;  // tiles of a warp's ring
  int stage_bytes = 0;
  int query_bytes = 0;   // of Q in shared memory, of a warp
  int shared_bytes = 0;  // dynamic, of a block
  int blocks_per_sm = 1;
  int blocks = 1;       // of every launch: as many as the device runs at the same time
  int least_share = 4;  // tiles of a block
  int most_team = 1;    // blocks of a team

  bool fits() const noexcept { return stages >= 2; }
  int threads() const noexcept { return 32 * warps; }
};

// Precondition: refuse_attention_tensors() finds nothing.
AttentionTile attention_tile(const DecodeAttentionSpec& spec, const Target& target);

// Of the plan's kernels: that one first, and for codes of 4 bits one of wider and fewer blocks,
// which leave fewer parts of a long sequence to merge. All keep their parts at the same places of
// the workspace, of which the first one needs most.
std::vector<AttentionTile> attention_tiles(const DecodeAttentionSpec& spec, const Target& target);

// Why the cache's tensors have no kernel.
std::vector<Problem> refuse_attention_tensors(const DecodeAttentionSpec& spec);

// Bytes of zero-initialised device memory that a launch needs.
std::size_t attention_workspace_bytes(const DecodeAttentionSpec& spec, const AttentionTile& tile);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLAN_ATTENTION_TILE_H_
