// Attention of each sequence's last tokens over a quantised cache of K and V, sm_80 and up:
//
//   out = softmax(Q K^T / sqrt(scale_dim) + bias) V
//
// Floors. Bytes: K, V and their scales, once. Operations: for 32 tokens of a head of 128 elements
// and up to 8 rows (queries that share the head) 34 MMA instructions, and decoding, 128
// instructions in 8 bits, 144 in 4.
//
// Budget of such a tile on an SM of an H200 at 1.965 GHz. Memory: 17.5 bytes a clock, so 8 KB of K
// and V in 8 bits take 470 clocks, half of that in 4 bits. Issue: the loop has some 500
// instructions in 8 bits and 450 in 4, and masks, shifts and byte permutations take a scheduler two
// clocks: codes of 4 bits are bound by instructions where few warps run. Shared memory: each byte
// is written and read once; a stage of a warp's ring has 8.3 KB in 8 bits, so two blocks of four
// warps with three stages fill an SM. Registers: 128 to 255 a thread, by the blocks of an SM. Short
// sequences are bound by latency instead: lengths, pages, tiles and partial results come one after
// the other.
//
// Roles. All warps do the same: each has a ring of stages of its own, fills it (fetch.cuh) and
// computes with it; there is no producer warp. A KV tile is 32 tokens of one sequence and head. The
// tile scheduler (scheduler.cuh) gives each cluster of thread blocks, mostly of one block, an equal
// run of all tiles of the launch; a run consists of splits, one for each sequence and head that it
// crosses. It reads the lengths on the device, so a captured graph serves other lengths. Grid: up
// to most_blocks thread blocks, all resident, in clusters of a power of two up to most_cluster.
//
// Order.
// 1. While the previous kernel runs: schedule by the lengths and pages as they are, prefetch Q,
//    pages and the first tiles into the L2 cache. Then griddepcontrol.wait.
// 2. Load Q, start the copies of the first tiles; start again if lengths or pages have changed.
// 3. Tile by tile: wait for a stage, refill the one before it, S^T = K Q^T (query.cuh, scores.cuh,
//    channel.cuh), mask (mask.cuh), softmax (softmax.cuh), O^T += V^T P^T (values.cuh).
// 4. At the end of a split: add the warps' results, then those of the cluster (finish.cuh). A split
//    that is no whole problem leaves a partial result in the workspace, and the last block to
//    arrive merges them in a fixed order (output.cuh).
#pragma once

#include "attention/channel.cuh"
#include "attention/fetch.cuh"
#include "attention/finish.cuh"
#include "attention/mask.cuh"
#include "attention/scores.cuh"
#include "attention/softmax.cuh"
#include "decode_attention/config.h"
#include "primitives/dependent_launch.cuh"

namespace heddle {

// One warp's loop over the tiles of a split. Reads every group of S.
template <class S>
struct AttentionWarp {
  using Key = typename S::Key;
  using Val = typename S::Val;

  const AttentionParameters& arguments;
  const AttentionScheduler<S>& scheduler;
  KvFetch<S>& fetch;
  AttentionQuery<S>& query;  // of the split, requested
  u32 ring;
  u32 query_room;
  int warp;
  int lane;
  TensorScale keys;
  TensorScale values;
  int stage = 0;

  // The tiles of a split that are this warp's.
  __device__ __forceinline__ void run(const KvSplit& split, AttentionSoftmax<S>& softmax) {
    const int g = lane / 4;
    const int t = lane % 4;
    const int length = scheduler.length(split.sequence);
    query.prepare(query_room, g, t);
    AttentionMask<S> mask;
    mask.load(arguments, split, length, t);
    // Where a word holds the entries of two heads: the byte of this head's.
    const u32 odd_head = 2 * (S::kv_head(split.work_head) % 2);
    const u32 key_byte = Key::kEntryBytes == 2 && !Key::kPairs ? odd_head : 0;
    const u32 value_byte = Val::kEntryBytes == 2 && !Val::kPairs ? odd_head : 0;
#pragma unroll 1
    for (int tile = split.begin + scheduler.cluster_warp(warp); tile < split.end;
         tile += scheduler.cluster_warps()) {
      const int token = scheduler.token_of(tile - split.problem_begin, length);
      copy_async_wait<S::kStages - 2>();
      warp_barrier();
      fetch.fetch(before(stage));
      const u32 from = ring + stage * S::kStageBytes;
      AttentionScores<S> scores;
      if constexpr (Key::kScalesQuery) {
        if (token < Key::residual_begin(length)) {
          AttentionQuery<S> scaled;
          AttentionChannels<S>::scale(from + S::kKeyEntriesOffset, query, scaled, t, lane);
          scores.multiply(from, 0, scaled, keys, g, t);
        } else {
          AttentionChannels<S>::residual(arguments, split, token, length, scores.logits, g, t);
        }
      } else {
        scores.multiply(from, from + S::kKeyEntriesOffset + key_byte, query, keys, g, t);
      }
      mask.apply(scores.logits, token, g);
      softmax.add(from + S::kValueOffset, from + S::kValueEntriesOffset + value_byte, scores.logits,
                  values, length - token, g, t, lane);
      if (++stage == S::kStages) stage = 0;
    }
  }

  // The stage of the previous tile, which every lane has read and no copy is in flight to.
  __device__ __forceinline__ u32 free_stage() const {
    return ring + before(stage) * S::kStageBytes;
  }

 private:
  static __device__ __forceinline__ int before(int stage) {
    return stage == 0 ? S::kStages - 1 : stage - 1;
  }
};

template <class Tensor>
__device__ __forceinline__ TensorScale tensor_scale(const float* given) {
  TensorScale tensor;
  if constexpr (Tensor::kGivenScale) {
    tensor.scale = given[0];
    if constexpr (Tensor::kZeros) tensor.zero = given[1];
  }
  return tensor;
}

// Prefetches what blocks will wait for, Q and the pages, into the L2 cache.
template <class S>
__device__ __forceinline__ void prefetch_query_and_pages(const AttentionParameters& arguments) {
  const i64 line = static_cast<i64>(blockIdx.x) * S::kThreads + threadIdx.x;
  prefetch_line(arguments.q, line,
                static_cast<i64>(arguments.sequences) * (2 * S::kQueries * S::kKeyDim));
  if constexpr (S::kPaged)
    prefetch_line(arguments.block_table, line,
                  4 * static_cast<i64>(arguments.sequences) * arguments.table_width);
}

// Steps 1 and 2: finds the block's first split, requests its Q and starts the copies of the first
// tiles. What was found while the previous kernel ran is found again if lengths or pages have
// changed.
template <class S>
__device__ __forceinline__ void begin_work(const AttentionParameters& arguments,
                                           AttentionScheduler<S>& scheduler, KvFetch<S>& fetch,
                                           AttentionQuery<S>& query, KvSplit& split, int warp,
                                           int lane) {
  if constexpr (S::kDependent) prefetch_query_and_pages<S>(arguments);
  bool released = !S::kDependent;
#pragma unroll 1
  while (true) {
    scheduler.partition(warp, lane);
    const bool any = scheduler.has_tiles();
    if (any) {
      split = scheduler.first();
      fetch.begin(split);
    }
    const bool was_released = released;
    const u32 pages = any ? fetch.pages_found() : 0;
    u32 pages_now = pages;
    int length_now = 0;
    if constexpr (S::kDependent) {
      if (!released) {
        if (any) {
          fetch.prefetch_first();
          fetch.settle();
        }
        wait_for_predecessor();
        launch_dependents();
        released = true;
        length_now = scheduler.length_now();
        if (any) pages_now = fetch.pages_now();
      }
    }
    if (any) {
      query.request(arguments, split, lane / 4, lane % 4);
      fetch.fetch_first();
    }
    if (was_released || !scheduler.has_changed(pages_now != pages, length_now)) break;
    copy_async_wait<0>();
  }
}

template <class Config>
__device__ __forceinline__ void decode_attention(const AttentionParameters& arguments) {
  using S = AttentionShape<Config>;
  static_assert(Config::value.heads.value_rows == ValueRows::kOwn, "V is fetched beside K");
  extern __shared__ __align__(128) u8 shared_memory[];
  const u32 memory = shared_address(shared_memory);
  const int warp = static_cast<int>(broadcast(threadIdx.x / 32, 0));
  const int lane = threadIdx.x % 32;
  AttentionFinish<S>::start(memory);
  AttentionScheduler<S> scheduler(arguments, memory);
  const u32 ring = memory + S::kRingOffset + warp * S::kRingBytes;
  KvFetch<S> fetch(arguments, scheduler, ring, warp, lane);
  AttentionQuery<S> query;
  KvSplit split;
  begin_work(arguments, scheduler, fetch, query, split, warp, lane);
  const TensorScale keys = tensor_scale<typename S::Key>(arguments.k_given);
  const TensorScale values = tensor_scale<typename S::Val>(arguments.v_given);
  const AttentionOutput<S> output{arguments, scheduler, values.scale};
  const AttentionFinish<S> finish{output, scheduler, memory, warp, lane};
  if (scheduler.has_tiles()) {
    AttentionWarp<S> stream{
        arguments, scheduler, fetch, query, ring, memory + S::kQueryOffset + warp * S::kQueryBytes,
        warp,      lane,      keys,  values};
    // Only the first split and the last one may be parts of problems.
    bool merge_first = false;
    bool merge_last = false;
    while (true) {
      AttentionSoftmax<S> softmax;
      stream.run(split, softmax);
      const KvSplit done = split;
      const bool is_last = split.end == scheduler.end;
      if (!is_last) scheduler.next(split);
      // Large heads leave no registers for the next Q.
      if (!is_last && !S::kQueryInShared)
        stream.query.request(arguments, split, lane / 4, lane % 4);
      const bool merges = finish.finish(done, softmax, stream.free_stage());
      if (is_last) {
        merge_last = merges;
        break;
      }
      if constexpr (S::kQueryInShared) stream.query.request(arguments, split, lane / 4, lane % 4);
      merge_first = merge_first || merges;
    }
#pragma unroll 1
    for (int i = 0; i < 2; ++i) {
      if (!(i == 0 ? merge_last : merge_first)) continue;
      if (i == 1) split = scheduler.first();
      output.merge(split, ring);
    }
  }
  output.clear_empty();
}

}  // namespace heddle
