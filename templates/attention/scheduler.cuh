// The tile scheduler: which KV tiles a thread block, or the blocks of a cluster, take.
//
// A problem is one sequence and one work head. The tiles of all problems follow each other, once
// for every work head, and cluster i takes the i-th of equal runs of them (stream-K), but for whole
// problems and the least that is worth taking. Neighbouring clusters read the same tokens of
// several heads at about the same time. What a cluster has of one problem is a split; clusters that
// have splits of the same problem merge their partial results.
//
// A sequence's length decides which of its tiles are seen: all, or those of the window and before
// them those of sink tokens. The lengths are on the device, and so are all decisions here.
#pragma once

#include "attention/shape.cuh"
#include "primitives/cluster.cuh"
#include "primitives/sync.cuh"

namespace heddle {

// The thread blocks of a cluster, kMost at most and a power of two: they take the same splits, and
// their warps the tiles of a split in turns. Nothing of this is held in registers, which the loop
// over tiles has none for.
template <int kMost>
struct AttentionCluster {
  static __device__ __forceinline__ int blocks() { return static_cast<int>(cluster_size()); }
  static __device__ __forceinline__ int rank() {
    return static_cast<int>(blockIdx.x & (cluster_size() - 1));
  }
  // This cluster's number, and how many there are.
  static __device__ __forceinline__ int index() { return static_cast<int>(cluster_index()); }
  static __device__ __forceinline__ int count() { return static_cast<int>(cluster_count()); }
  // The binary logarithm of blocks().
  static __device__ __forceinline__ int log_blocks() {
    const int size = blocks();
    return (size > 1) + (size > 2) + (size > 4) + (size > 8);
  }
};
// Each block alone.
template <>
struct AttentionCluster<1> {
  static __device__ __forceinline__ int blocks() { return 1; }
  static __device__ __forceinline__ int rank() { return 0; }
  static __device__ __forceinline__ int index() { return static_cast<int>(blockIdx.x); }
  static __device__ __forceinline__ int count() { return static_cast<int>(gridDim.x); }
  static __device__ __forceinline__ int log_blocks() { return 0; }
};

// Tiles begin to end of a problem, counted from the first tile of the first work head.
struct KvSplit {
  int work_head;
  int sequence;
  int problem_begin;
  int problem_end;
  int begin;
  int end;
};

// Reads rows, logits, blocks and places of S.
template <class S>
struct AttentionScheduler {
  using Cluster = AttentionCluster<S::kMostCluster>;

  const AttentionParameters& arguments;
  u32 memory;   // shared
  int end = 0;  // of this cluster's tiles

  __device__ __forceinline__ AttentionScheduler(const AttentionParameters& arguments, u32 memory)
      : arguments(arguments), memory(memory) {
    if (threadIdx.x == 0) store_shared_4(changed_flag(), 0);
  }

  // Divides the tiles by the lengths as they are. Every warp does, and the first writes; every
  // thread of the block calls it.
  __device__ __forceinline__ void partition(int warp, int lane) {
    const int sequences = arguments.sequences;
    // Loads of a lane in flight. While the previous kernel runs their latency costs nothing.
    constexpr int kAtOnce = S::kDependent ? 1 : 2;
    int before = 0;
    int expected = 0;  // tiles of the first sequence
    bool uneven = false;
#pragma unroll 1
    for (int first = 0; first < sequences; first += 32 * kAtOnce) {
      int lengths[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int sequence = first + 32 * i + lane;
        lengths[i] = sequence < sequences
                         ? static_cast<int>(load_global_4_l2(arguments.lengths + sequence))
                         : 0;
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + 32 * i >= sequences) break;
        const int sequence = first + 32 * i + lane;
        const int length = within_capacity(lengths[i]);
        int sum = seen_tiles(length);
        if (first + i == 0) expected = static_cast<int>(broadcast(sum, 0));
        uneven = uneven || (sequence < sequences && sum != expected);
        add_before<1>(sum, lane);
        add_before<2>(sum, lane);
        add_before<4>(sum, lane);
        add_before<8>(sum, lane);
        add_before<16>(sum, lane);
        if (warp == 0 && sequence < sequences) {
          const int unused = tiles_of(length) * S::kTile - length;
          store_shared_4(memory + 4 * (sequence + 1), (before + sum) * S::kTile + unused);
          if constexpr (S::kWindow > 0)
            store_shared_4(memory + S::kLengthsOffset + 4 * sequence, length);
        }
        before += static_cast<int>(broadcast(sum, 31));
      }
    }
    const int tiles = before;
    const int all = tiles * S::kWorkHeads;
    const int clusters = Cluster::count();
    int own = (all + clusters - 1) / clusters;
    // A problem that has no more tiles than the cluster has warps is not split.
    int least = tiles <= cluster_warps() * sequences ? cluster_warps() : S::kLeastBlockTiles;
    if (Cluster::blocks() > 1) {
      // Such a cluster takes no more than a problem.
      const int mean = (tiles + sequences - 1) / sequences;
      least = mean < cluster_warps() ? mean : cluster_warps();
    }
    if (own < least) own = least;
    if (!any_lane(uneven)) own = aligned(own, expected);
    if (warp == 0 && lane == 0) {
      store_shared_4(memory, 0);
      store_shared_4(memory + S::kClusterTilesOffset, own);
    }
    block_barrier();
    const i64 last = static_cast<i64>(own) * (Cluster::index() + 1);
    end = last < all ? static_cast<int>(last) : all;
  }

  // The length that a thread compares first. Load it before the copies of tiles, which it would
  // otherwise wait behind.
  __device__ __forceinline__ int length_now() const {
    return length_now(static_cast<int>(threadIdx.x));
  }
  // Whether lengths are others than those that partition() has seen, or `changed` holds for a
  // thread. `now`: length_now(). Every thread of the block calls it, once.
  __device__ __forceinline__ bool has_changed(bool changed, int now) const {
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < arguments.sequences;) {
      changed = changed || within_capacity(now) != length(i);
      i += S::kThreads;
      now = length_now(i);
    }
    if (changed) shared_max(changed_flag(), 1);
    block_barrier();
    return load_shared_4(changed_flag()) != 0;
  }

  // The tiles of one work head, and those of a cluster: read seldom, so kept in shared memory.
  __device__ __forceinline__ int tiles() const { return first_tile(arguments.sequences); }
  __device__ __forceinline__ int cluster_tiles() const {
    return static_cast<int>(load_shared_4(memory + S::kClusterTilesOffset));
  }

  __device__ __forceinline__ int length(int sequence) const {
    if constexpr (S::kWindow > 0)
      return static_cast<int>(load_shared_4(memory + S::kLengthsOffset + 4 * sequence));
    const u32 end = tile_ends(sequence + 1);
    return static_cast<int>((end / S::kTile - first_tile(sequence)) * S::kTile - end % S::kTile);
  }
  // The first token of the i-th tile that is seen.
  __device__ __forceinline__ int token_of(int i, int length) const {
    return S::kTile * (i < sink_tiles(length) ? i : i + hidden_tiles(length));
  }

  __device__ __forceinline__ bool has_tiles() const {
    return static_cast<i64>(cluster_tiles()) * Cluster::index() < end;
  }
  __device__ __forceinline__ KvSplit first() const {
    KvSplit split;
    split.begin = cluster_tiles() * Cluster::index();
    split.work_head = split.begin / tiles();
    const int tile = split.begin - split.work_head * tiles();
    // The last sequence that begins at or before the tile: one without tiles is never the last.
    int low = 0;
    int high = arguments.sequences;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      if (first_tile(middle) <= tile) {
        low = middle;
      } else {
        high = middle;
      }
    }
    split.sequence = low;
    bound(split);
    return split;
  }
  // The warps of the cluster, and the number among them of a warp of this block.
  static __device__ __forceinline__ int cluster_warps() { return Cluster::blocks() * S::kWarps; }
  static __device__ __forceinline__ int cluster_warp(int warp) {
    return Cluster::rank() * S::kWarps + warp;
  }
  // Whether the blocks of the cluster add their results: not of a whole problem of which only the
  // first block has tiles.
  __device__ __forceinline__ bool cluster_adds(const KvSplit& split) const {
    return Cluster::blocks() > 1 && (split.end - split.begin > S::kWarps || !is_whole(split));
  }
  static __device__ __forceinline__ bool is_whole(const KvSplit& split) {
    return split.begin == split.problem_begin && split.end == split.problem_end;
  }
  // Precondition: split.end < end.
  __device__ __forceinline__ void next(KvSplit& split) const {
    split.begin = split.end;
    do {
      if (++split.sequence == arguments.sequences) {
        split.sequence = 0;
        ++split.work_head;
      }
    } while (first_tile(split.sequence) == first_tile(split.sequence + 1));
    bound(split);
  }

 private:
  __device__ __forceinline__ int length_now(int sequence) const {
    return sequence < arguments.sequences
               ? static_cast<int>(load_global_4_l2(arguments.lengths + sequence))
               : 0;
  }
  // AttentionFinish uses the same word later.
  __device__ __forceinline__ u32 changed_flag() const { return memory + S::kFlagOffset; }
  __device__ __forceinline__ int within_capacity(int length) const {
    return length < 0 ? 0 : length > arguments.capacity ? arguments.capacity : length;
  }
  // A cluster's tiles where all problems have `problem` tiles: whole problems or an equal part of
  // one, unless a warp then has many more tiles. Fewer splits end, and fewer or none are merged.
  static __device__ __forceinline__ int aligned(int own, int problem) {
    if (problem == 0) return own;
    int next = (own + problem - 1) / problem * problem;
    if (own < problem) {
      const int splits = problem / own;
      next = problem / splits;
      if (next * splits != problem) return own;
    }
    const int whole = (own + cluster_warps() - 1) / cluster_warps() * cluster_warps();
    return next <= whole + own / 16 ? next : own;
  }
  template <int kLanes>
  static __device__ __forceinline__ void add_before(int& sum, int lane) {
    const int other = shuffle_up(sum, kLanes);
    if (lane >= kLanes) sum += other;
  }
  static __device__ __forceinline__ int tiles_of(int tokens) {
    return (tokens + S::kTile - 1) / S::kTile;
  }
  // Whole tiles between the sink tokens and the first token of the first query's window.
  static __device__ __forceinline__ int hidden_tiles(int length) {
    if constexpr (S::kWindow == 0) return 0;
    const int first = length - S::kQueryLen - S::kWindow + 1;
    const int hidden = (first > 0 ? first : 0) / S::kTile - tiles_of(S::kSinkTokens);
    return hidden > 0 ? hidden : 0;
  }
  static __device__ __forceinline__ int sink_tiles(int) { return tiles_of(S::kSinkTokens); }
  static __device__ __forceinline__ int seen_tiles(int length) {
    return tiles_of(length) - hidden_tiles(length);
  }
  // Tiles of all sequences before this one, times kTile, plus the tokens that the last tile lacks.
  __device__ __forceinline__ u32 tile_ends(int sequence) const {
    return load_shared_4(memory + 4 * sequence);
  }
  __device__ __forceinline__ int first_tile(int sequence) const {
    return static_cast<int>(tile_ends(sequence) / S::kTile);
  }
  __device__ __forceinline__ void bound(KvSplit& split) const {
    const int before = split.work_head * tiles();
    split.problem_begin = before + first_tile(split.sequence);
    split.problem_end = before + first_tile(split.sequence + 1);
    split.end = split.problem_end < end ? split.problem_end : end;
  }
};

}  // namespace heddle
