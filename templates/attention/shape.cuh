// The constants of an attention kernel, in the groups that its steps read.
//
// Every step of this folder is a template over a Shape S and says in front of its struct which of
// the groups it reads. A kernel whose configuration has the members of config.h gets all of them
// from AttentionShape<Config>; another kernel gives a step a struct that has the groups it names:
//
// | group | what it says |
// | --- | --- |
// | rows, AttentionRows | heads, the rows of Q that share a head of K and V, what a lane has of
// them | | cache, AttentionCache | Key and Val (KvTensorShape), and the pages that their tiles lie
// in | | logits, AttentionLogitShape | scale, softcap, ALiBi, and which tokens a query sees | |
// blocks, AttentionBlocks | warps, stages, thread blocks of a cluster, what a launch asks for | |
// places, AttentionPlaces | byte offsets in shared memory and in the workspace |
//
// Row r of a head of K and V is query r / kGroup of head r % kGroup of those that share it.
#pragma once

#include "attention/kv_tensor.cuh"
#include "attention/parameters.h"

namespace heddle {

// Rows: the queries that share a head of K and V, and what a thread block and a lane have of them.
template <class Config>
struct AttentionRows {
  using Element = typename Config::Value;  // of Q and of the output
  static constexpr int kQueryHeads = Config::value.heads.query;
  static constexpr int kKvHeads = Config::value.heads.kv;
  static constexpr int kQueryLen = Config::value.query_len;
  static constexpr int kGroup = Config::value.heads.group();
  static constexpr int kRows = Config::value.rows();
  static constexpr int kRowTiles = Config::value.row_tiles;  // of kQueryTile rows, per block
  static constexpr int kBlockRows = Config::value.block_rows();
  // Blocks of kBlockRows rows that a head of K and V has. A thread block works for one of them: its
  // work head w is row block w % kRowBlocks of head w / kRowBlocks of K and V.
  static constexpr int kRowBlocks = Config::value.row_blocks();
  static constexpr int kWorkHeads = kKvHeads * kRowBlocks;
  static __device__ __forceinline__ int kv_head(int work_head) { return work_head / kRowBlocks; }
  static __device__ __forceinline__ int first_row(int work_head) {
    return work_head % kRowBlocks * kBlockRows;
  }

  // Where a row of the first head of K and V is among a sequence's queries, [query_len][heads]. In
  // 32 bits on purpose, and so is what callers multiply it with: NVRTC 13.0 takes row % kGroup for
  // 32 bits without a sign in 64-bit arithmetic after it has subtracted a constant from it.
  static constexpr int kQueries = kQueryLen * kQueryHeads;
  static __device__ __forceinline__ int query_of_row(int row) {
    return row / kGroup * kQueryHeads + row % kGroup;
  }

  // Elements of a row of Q and K, and of a row of V and the output.
  static constexpr int kKeyDim = Config::value.k.head_dim;
  static constexpr int kValueDim = Config::value.v.head_dim;
  static constexpr int kKeySteps = kKeyDim / 16;    // MMA instructions along K's elements
  static constexpr int kDimTiles = kValueDim / 16;  // MMA tiles of the output's elements
  static_assert(kKeyDim % 16 == 0 && kValueDim % 16 == 0, "whole tiles of the tensor core");

  // What a lane has of a tile's logits, S^T in the accumulators of the tensor core: tokens g, g +
  // 8, g + 16 and g + 24, the octets, of the rows 2t and 2t + 1 of each tile of rows.
  static constexpr int kTile = kAttentionTile;
  static constexpr int kOctets = kTile / 8;
  static constexpr int kLaneRows = kQueryTile / 4;
  using Logits = float[kRowTiles][kOctets][kLaneRows];
  // Calls call(row tile, octet, row) for each of them.
  template <class Call>
  static __device__ __forceinline__ void for_each_logit(const Call& call) {
#pragma unroll
    for (int i = 0; i < kRowTiles * kOctets * kLaneRows; ++i)
      call(i / (kOctets * kLaneRows), i / kLaneRows % kOctets, i % kLaneRows);
  }
};

// Cache: K and V, and where their tokens lie.
template <class Config>
struct AttentionCache {
  using Key = KvTensorShape<Config, true>;
  using Val = KvTensorShape<Config, false>;
  static constexpr bool kPaged = Config::value.pages.paged;
  static constexpr int kPageSize = Config::value.pages.page_size;
  // Whether a tile lies in one page.
  static constexpr bool kOnePage = !kPaged || kPageSize % kAttentionTile == 0;
  static constexpr int kResidualRowBytes = 2 * Key::kHeadDim;
  static_assert(Config::value.heads.value_rows == ValueRows::kOwn || Val::kHeadDim <= Key::kHeadDim,
                "rows of V that are the first elements of K's lie in them");
};

// Logits: see AttentionLogits for the meaning of each.
template <class Config>
struct AttentionLogitShape {
  static constexpr i64 kScaleDim = Config::value.logits.scale_dim;
  static constexpr int kSoftcap = Config::value.logits.softcap;
  static constexpr Alibi kAlibi = Config::value.logits.alibi;
  static constexpr int kWindow = Config::value.logits.window;
  static constexpr int kSinkTokens = Config::value.logits.sink_tokens;
  static constexpr bool kSinkLogits = Config::value.logits.sink_logits;
};

// Blocks: how a launch is cut into warps, thread blocks and clusters.
template <class Config>
struct AttentionBlocks {
  static constexpr int kWarps = Config::value.warps;
  static constexpr int kThreads = Config::value.threads();
  static constexpr int kStages = Config::value.stages;  // of a warp's ring
  static constexpr int kMostCluster = Config::value.most_cluster;
  static constexpr int kLeastBlockTiles = Config::value.least_block_tiles;
  static constexpr bool kDependent = Config::value.dependent;
  static constexpr bool kLogSums = Config::value.log_sums;
};

// Places: bytes from the beginning of shared memory, of a stage, and of the workspace.
template <class Config>
struct AttentionPlaces {
  static constexpr int kExchangeOffset = Config::value.exchange_offset();
  static constexpr int kExchangeStatsOffset = Config::value.exchange_stats_offset();
  static constexpr int kExchangeQuadsOffset = Config::value.exchange_quads_offset();
  static constexpr int kLengthsOffset = Config::value.lengths_offset();
  static constexpr int kStatsOffset = Config::value.stats_offset();
  static constexpr int kOutputTilesOffset = Config::value.output_tiles_offset();
  static constexpr int kFlagOffset = Config::value.flag_offset();
  static constexpr int kClusterTilesOffset = Config::value.cluster_tiles_offset();
  static constexpr int kQueryOffset = Config::value.query_offset();
  static constexpr bool kQueryInShared = Config::value.has_large_heads();
  static constexpr int kQueryBytes = Config::value.query_bytes();
  static constexpr int kRingOffset = Config::value.ring_offset();
  // In a stage of a warp's ring.
  static constexpr int kSumStride = Config::value.sum_stride();
  static constexpr int kValueOffset = Config::value.values_offset();
  static constexpr int kKeyEntriesOffset = Config::value.key_entries_offset();
  static constexpr int kValueEntriesOffset = Config::value.value_entries_offset();
  static constexpr int kStageBytes = Config::value.stage_bytes();
  static constexpr int kRingBytes = Config::value.ring_bytes();
  // In the workspace: counters, then slots for partial results.
  static constexpr int kCounterBytes = Config::value.counter_bytes();
  static constexpr int kSlotBytes = Config::value.slot_bytes();
};

template <class Config>
struct AttentionShape : AttentionRows<Config>,
                        AttentionCache<Config>,
                        AttentionLogitShape<Config>,
                        AttentionBlocks<Config>,
                        AttentionPlaces<Config> {};

}  // namespace heddle
