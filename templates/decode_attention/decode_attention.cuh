// Attention of each sequence's last tokens over a quantised cache of K and V, sm_80 and up:
//
//   out = softmax(Q K^T / sqrt(scale_dim) + bias) V
//
// Floors. Bytes: K, V and their scales, once. Operations: for 32 tokens of a head of 128 elements
// and up to 8 rows (queries that share the head) 34 matrix instructions, and decoding, 128
// instructions in 8 bits, 144 in 4.
//
// Budget of such a tile on an SM of an H200 at 1.965 GHz. Memory gives the SM 17.5 bytes a clock: 8
// KB of K and V in 8 bits take 470 clocks, 1870 issue slots, in 4 bits half of that. The loop has
// some 500 instructions in 8 bits and 450 in 4; masks, shifts and byte permutations take two clocks
// of a scheduler, so codes of 4 bits are bound by instructions where few warps run. Shared memory:
// each byte is written and read once; a stage of a warp's ring has 8.3 KB in 8 bits, so that two
// blocks of four warps with three stages fill an SM. Registers: what the SM's blocks
// leave a thread, 128 to 255; large heads keep Q in shared memory. Short sequences are bound by a
// chain of trips to the L2 cache instead: lengths, pages, tiles, the exchange of partial results.
//
// Roles, with the shared steps of attention/. A warp works for itself: it fetches tiles of 32
// tokens into its ring (fetch.cuh), multiplies them with Q (query.cuh, scores.cuh, channel.cuh),
// masks the logits (mask.cuh), and adds them to its own softmax (softmax.cuh) and output
// (values.cuh). Thread blocks take equal parts of all tiles of the launch (work.cuh). What a block
// has of one sequence and head is a segment. The blocks of a cluster are a team, which takes
// segments as one large block would. Which tiles are whose follows from the lengths on the device,
// so that a captured graph serves other lengths. Grid: any number of blocks up to most_blocks,
// which run at the same time, alone or in clusters of a power of two up to most_team.
//
// Order.
// 1. While the previous kernel runs: share out the tiles by lengths and pages as they are, prefetch
//    Q, pages and the first tiles into the L2 cache. Then wait for it.
// 2. Request Q and the first tiles, and begin anew if lengths or pages have changed meanwhile.
// 3. Tile by tile: wait, fetch the tile `stages` - 1 on, logits, softmax, output.
// 4. At the end of a segment the warps' results are added, then those of the team's blocks
//    (finish.cuh). Results of a part of a sequence go to the workspace, and the last
//    block that comes merges them in a fixed order (output.cuh).
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

template <class Config>
struct AttentionWarp {
  using S = AttentionShape<Config>;
  using Key = typename S::Key;
  using Val = typename S::Val;
  static_assert(Config::value.heads.value_rows == ValueRows::kOwn, "V is fetched beside K");

  const AttentionParameters& arguments;
  const AttentionWork<Config>& work;
  KvFetch<Config>& fetch;
  AttentionQuery<Config>& query;  // of the segment, requested
  u32 ring;
  u32 query_room;
  int warp;
  int lane;
  TensorScale keys;
  TensorScale values;
  int stage = 0;

  // A segment's tiles that are this warp's.
  __device__ __forceinline__ void run(const Segment& segment, AttentionSoftmax<Config>& softmax) {
    const int g = lane / 4;
    const int t = lane % 4;
    const int length = work.length(segment.sequence);
    query.prepare(query_room, g, t);
    AttentionMask<Config> mask;
    mask.load(arguments, segment, length, t);
    // Where a word holds the entries of two heads: the place of this head's.
    const u32 odd_head = 2 * (segment.head / S::kRowParts % 2);
    const u32 key_half = Key::kEntryBytes == 2 && !Key::kPairs ? odd_head : 0;
    const u32 value_half = Val::kEntryBytes == 2 && !Val::kPairs ? odd_head : 0;
#pragma unroll 1
    for (int tile = segment.begin + work.of_team(warp); tile < segment.end; tile += work.warps()) {
      const int token = work.token_of(tile - segment.item, length);
      copy_async_wait<Config::value.stages - 2>();
      warp_barrier();
      fetch.fetch(before(stage));
      const u32 from = ring + stage * S::kStageBytes;
      AttentionScores<Config> scores;
      if constexpr (Key::kScalesQuery) {
        if (token < Key::window_begin(length)) {
          AttentionQuery<Config> scaled;
          AttentionChannels<Config>::scale(from + S::kKeyEntriesOffset, query, scaled, t, lane);
          scores.multiply(from, 0, scaled, keys, g, t);
        } else {
          AttentionChannels<Config>::window(arguments, segment, token, length, scores.logits, g, t);
        }
      } else {
        scores.multiply(from, from + S::kKeyEntriesOffset + key_half, query, keys, g, t);
      }
      mask.apply(scores.logits, token, g);
      softmax.add(from + S::kValueOffset, from + S::kValueEntriesOffset + value_half, scores.logits,
                  values, length - token, g, t, lane);
      if (++stage == Config::value.stages) stage = 0;
    }
  }

  // The stage of the tile before, which every lane has left and nothing is copied to.
  __device__ __forceinline__ u32 free_stage() const {
    return ring + before(stage) * S::kStageBytes;
  }

 private:
  static __device__ __forceinline__ int before(int stage) {
    return stage == 0 ? Config::value.stages - 1 : stage - 1;
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

// Starts to bring what blocks will wait for, Q and the pages, into the L2 cache.
template <class Config>
__device__ __forceinline__ void warm_l2(const AttentionParameters& arguments) {
  using S = AttentionShape<Config>;
  const i64 line = static_cast<i64>(blockIdx.x) * S::kThreads + threadIdx.x;
  prefetch_line(arguments.q, line,
                static_cast<i64>(arguments.sequences) * (2 * S::kQueries * S::kKeyDim));
  if constexpr (Config::value.pages.paged)
    prefetch_line(arguments.block_table, line,
                  4 * static_cast<i64>(arguments.sequences) * arguments.table_width);
}

// Which tiles are the block's; Q of the first segment is then requested, and the first tiles are on
// their way to the ring.
//
// While the kernel before still runs, all of this is found from lengths and pages as they are then,
// and the first tiles are asked for in the L2 cache. Once it has ended Q and tiles are read, and
// lengths and pages again: only if these are others the block begins anew.
template <class Config>
__device__ __forceinline__ void begin_work(const AttentionParameters& arguments,
                                           AttentionWork<Config>& work, KvFetch<Config>& fetch,
                                           AttentionQuery<Config>& query, Segment& segment,
                                           int warp, int lane) {
  if constexpr (Config::value.dependent) warm_l2<Config>(arguments);
  bool released = !Config::value.dependent;
#pragma unroll 1
  while (true) {
    work.share_out(warp, lane);
    const bool any = work.any();
    if (any) {
      segment = work.first();
      fetch.begin(segment);
    }
    const bool was_released = released;
    const u32 pages = any ? fetch.pages_found() : 0;
    u32 pages_now = pages;
    int length_now = 0;
    if constexpr (Config::value.dependent) {
      if (!released) {
        if (any) {
          fetch.warm();
          fetch.settle();
        }
        wait_for_predecessor();
        launch_dependents();
        released = true;
        length_now = work.length_now();
        if (any) pages_now = fetch.pages_now();
      }
    }
    if (any) {
      query.request(arguments, segment, lane / 4, lane % 4);
      fetch.fetch_first();
    }
    if (was_released || !work.has_changed(pages_now != pages, length_now)) break;
    copy_async_wait<0>();
  }
}

template <class Config>
__device__ __forceinline__ void decode_attention(const AttentionParameters& arguments) {
  using S = AttentionShape<Config>;
  extern __shared__ __align__(128) u8 shared_memory[];
  const u32 memory = shared_address(shared_memory);
  const int warp = static_cast<int>(broadcast(threadIdx.x / 32, 0));
  const int lane = threadIdx.x % 32;
  AttentionFinish<Config>::start(memory);
  AttentionWork<Config> work(arguments, memory);
  const u32 ring = memory + S::kRingOffset + warp * S::kRingBytes;
  KvFetch<Config> fetch(arguments, work, ring, warp, lane);
  AttentionQuery<Config> query;
  Segment segment;
  begin_work(arguments, work, fetch, query, segment, warp, lane);
  const TensorScale keys = tensor_scale<typename S::Key>(arguments.k_given);
  const TensorScale values = tensor_scale<typename S::Val>(arguments.v_given);
  const AttentionOutput<Config> output{arguments, work, values.scale};
  const AttentionFinish<Config> finish{output, work, memory, warp, lane};
  if (work.any()) {
    AttentionWarp<Config> stream{
        arguments, work, fetch, query, ring, memory + S::kQueryOffset + warp * S::kQueryBytes,
        warp,      lane, keys,  values};
    // Items that other blocks share are the first segment's and the last one's.
    bool merge_first = false;
    bool merge_last = false;
    while (true) {
      AttentionSoftmax<Config> softmax;
      stream.run(segment, softmax);
      const Segment done = segment;
      const bool is_last = segment.end == work.end;
      if (!is_last) work.next(segment);
      // Large heads leave no registers for the next Q.
      if (!is_last && !S::kQueryInShared)
        stream.query.request(arguments, segment, lane / 4, lane % 4);
      const bool merges = finish.finish(done, softmax, stream.free_stage());
      if (is_last) {
        merge_last = merges;
        break;
      }
      if constexpr (S::kQueryInShared) stream.query.request(arguments, segment, lane / 4, lane % 4);
      merge_first = merge_first || merges;
    }
#pragma unroll 1
    for (int i = 0; i < 2; ++i) {
      if (!(i == 0 ? merge_last : merge_first)) continue;
      if (i == 1) segment = work.first();
      output.merge(segment, ring);
    }
  }
  output.clear_empty();
}

}  // namespace heddle
