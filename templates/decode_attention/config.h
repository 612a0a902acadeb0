// The configuration of decode_attention.cuh.
#pragma once

#include "attention/config.h"
#include "config/workspace.h"

namespace heddle::device {

// The most sequences of a launch: a block keeps their lengths in shared memory.
constexpr int kMostSequences = 1024;
// The most of a launch in which a cluster takes whole problems and adds in shared memory.
constexpr int kMostClusterSequences = 31;

// A warp takes kAttentionTile tokens of one sequence and head at a time: their K, V and entries are
// a stage of its ring in shared memory.
struct DecodeAttentionConfig {
  AttentionHeads heads;
  AttentionLogits logits;
  KvPages pages;
  AttentionTensorConfig k;
  AttentionTensorConfig v;
  int query_len;          // the last tokens of each sequence, which have queries
  bool log_sums;          // the logarithm of each softmax's sum is written, too
  bool dependent;         // the kernel starts while the one before it still runs
  int row_tiles;          // tiles of queries of one head of K and V, of a thread block
  int warps;              // of a thread block
  int stages;             // tiles of a warp's ring
  int most_blocks;        // thread blocks of a launch, for which the workspace has slots
  int least_block_tiles;  // KV tiles that a thread block takes at least
  int most_cluster;       // thread blocks of a cluster, a power of two; 1: no clusters

  HEDDLE_BOTH constexpr int threads() const { return 32 * warps; }
  HEDDLE_BOTH constexpr int block_rows() const { return kQueryTile * row_tiles; }
  // Queries that share a head of K and V, and the blocks of block_rows() rows that these are.
  HEDDLE_BOTH constexpr int rows() const { return heads.group() * query_len; }
  HEDDLE_BOTH constexpr int row_blocks() const {
    return static_cast<int>(ceil_div(rows(), block_rows()));
  }

  // Shared memory, in this order: the table of each sequence's last tile, or what the blocks of a
  // cluster exchange; lengths, if a window hides tiles; the references and sums of each warp's
  // rows; where each warp's output tile is, and a flag; the tiles of a cluster; Q; the warps'
  // rings.
  static HEDDLE_BOTH constexpr int round_up(int value, int step) {
    return (value + step - 1) / step * step;
  }
  HEDDLE_BOTH constexpr int tile_ends_bytes() const {
    return round_up(4 * (kMostSequences + 1), 16);
  }
  // What the blocks of a cluster exchange of a row tile lies behind the table of a launch with few
  // sequences: an mbarrier and how often it was used; the reference and sum of each row and block;
  // each block's slice of the outputs, in quads.
  HEDDLE_BOTH constexpr int exchange_offset() const {
    return round_up(4 * (kMostClusterSequences + 1), 16);
  }
  HEDDLE_BOTH constexpr int exchange_stats_offset() const { return exchange_offset() + 16; }
  HEDDLE_BOTH constexpr int exchange_quads_offset() const {
    return exchange_stats_offset() + 16 * kQueryTile * most_cluster;
  }
  HEDDLE_BOTH constexpr int exchange_end() const {
    return exchange_quads_offset() + 16 * (kQueryTile * v.head_dim / 4 + 4 * (most_cluster - 1));
  }
  HEDDLE_BOTH constexpr int lengths_offset() const {
    return most_cluster > 1 ? max_of(exchange_end(), tile_ends_bytes()) : tile_ends_bytes();
  }
  HEDDLE_BOTH constexpr int stats_offset() const {
    return lengths_offset() + (logits.window > 0 ? round_up(4 * kMostSequences, 16) : 0);
  }
  HEDDLE_BOTH constexpr int output_tiles_offset() const {
    return stats_offset() + 8 * warps * block_rows();
  }
  HEDDLE_BOTH constexpr int flag_offset() const { return output_tiles_offset() + 4 * warps; }
  HEDDLE_BOTH constexpr int cluster_tiles_offset() const { return flag_offset() + 4; }
  HEDDLE_BOTH constexpr int query_offset() const {
    return round_up(cluster_tiles_offset() + 4, 128);
  }
  // The most elements of a head whose Q is in registers beside the output.
  static constexpr int kMostHeldDim = 192;
  // With large heads registers hold the output, and Q is in shared memory. With scales of K per
  // channel the product of Q and the scales lies behind it.
  HEDDLE_BOTH constexpr bool has_large_heads() const {
    return max_of(k.head_dim, v.head_dim) > kMostHeldDim;
  }
  HEDDLE_BOTH constexpr int query_bytes() const {  // of a warp
    return has_large_heads() ? 2 * kQueryTile * row_tiles * k.head_dim *
                                   (k.scale_use() == ScaleUse::kQuery ? 2 : 1)
                             : 0;
  }
  HEDDLE_BOTH constexpr int ring_offset() const { return query_offset() + warps * query_bytes(); }

  // A stage: codes of K and of V, entries of K and of V. A warp's output tile overwrites a stage,
  // eight rows at a time, each padded by four elements.
  HEDDLE_BOTH constexpr int values_offset() const {
    return heads.value_rows == ValueRows::kFirstOfKey ? 0 : k.code_tile_bytes();
  }
  HEDDLE_BOTH constexpr int key_entries_offset() const {
    const bool in_key = heads.value_rows == ValueRows::kFirstOfKey;
    return k.code_tile_bytes() + (in_key ? 0 : v.code_tile_bytes());
  }
  HEDDLE_BOTH constexpr int value_entries_offset() const {
    return key_entries_offset() + k.entry_tile_bytes();
  }
  HEDDLE_BOTH constexpr int sum_stride() const { return v.head_dim + 4; }
  HEDDLE_BOTH constexpr int stage_bytes() const {
    const int tile_bytes = value_entries_offset() + v.entry_tile_bytes();
    return round_up(max_of(tile_bytes, 4 * kQueryTile * sum_stride()), 128);
  }
  HEDDLE_BOTH constexpr int ring_bytes() const { return stages * stage_bytes(); }
  HEDDLE_BOTH constexpr int shared_bytes() const { return ring_offset() + warps * ring_bytes(); }

  // The workspace: a counter of each block of the largest target (4096 SMs, 4 blocks each), then
  // two slots for partial results of each block: FP32 [block rows][head_dim] and the reference and
  // sum of each row, once for every 16 elements.
  HEDDLE_BOTH constexpr int counter_bytes() const { return Workspace::kCounterBytes; }
  HEDDLE_BOTH constexpr int slot_bytes() const {
    return block_rows() * (4 * v.head_dim + 8 * (v.head_dim / 16));
  }
  HEDDLE_BOTH constexpr i64 workspace_bytes() const {
    return counter_bytes() + 2 * static_cast<i64>(most_blocks) * slot_bytes();
  }

  HEDDLE_FIELDS(heads, logits, pages, k, v, query_len, log_sums, dependent, row_tiles, warps,
                stages, most_blocks, least_block_tiles, most_cluster)
};

}  // namespace heddle::device
