// Which tiles a block, or a team of blocks, takes.
//
// The tiles of all sequences follow each other, once for every head: block i takes the i-th
// part of them, equal but for whole tiles of a team and the least that is worth sharing, and
// neighbouring blocks read the same tokens of
// several heads at about the same time. What a block has of one sequence and head is a segment; an
// item is all of these tiles, and the blocks that share it merge their results.
//
// A sequence's length decides which of its tiles are seen: all, or those of the window and before
// them those of sink tokens.
#pragma once

#include "attention/shape.cuh"
#include "primitives/cluster.cuh"
#include "primitives/sync.cuh"

namespace heddle {

// Thread blocks that take the same segments, each of them a part of every segment's tiles: those of
// a cluster, kMost at most and a power of two. Nothing of this is held in registers, which the loop
// over tiles has none for.
template <int kMost>
struct AttentionTeam {
  static __device__ __forceinline__ int blocks() { return static_cast<int>(cluster_size()); }
  static __device__ __forceinline__ int rank() {
    return static_cast<int>(blockIdx.x & (cluster_size() - 1));
  }
  // This team's number, and how many there are.
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
struct AttentionTeam<1> {
  static __device__ __forceinline__ int blocks() { return 1; }
  static __device__ __forceinline__ int rank() { return 0; }
  static __device__ __forceinline__ int index() { return static_cast<int>(blockIdx.x); }
  static __device__ __forceinline__ int count() { return static_cast<int>(gridDim.x); }
  static __device__ __forceinline__ int log_blocks() { return 0; }
};

struct Segment {
  int head;  // of work
  int sequence;
  int item;  // the item's first tile
  int item_end;
  int begin;
  int end;
};

template <class Config>
struct AttentionWork {
  using S = AttentionShape<Config>;
  using Team = AttentionTeam<Config::value.most_team>;

  const AttentionParameters& arguments;
  u32 memory;   // shared
  int end = 0;  // of this team

  __device__ __forceinline__ AttentionWork(const AttentionParameters& arguments, u32 memory)
      : arguments(arguments), memory(memory) {
    if (threadIdx.x == 0) store_shared_4(changed_flag(), 0);
  }

  // Shares out the tiles by the lengths as they are. Every warp does, and the first writes; every
  // thread of the block calls it.
  __device__ __forceinline__ void share_out(int warp, int lane) {
    const int sequences = arguments.sequences;
    // Loads of a lane on their way. Where the kernel before still runs they have their time, and
    // registers are few.
    constexpr int kAtOnce = Config::value.dependent ? 1 : 2;
    int before = 0;
    int item = 0;  // tiles of the first sequence
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
        if (first + i == 0) item = static_cast<int>(broadcast(sum, 0));
        uneven = uneven || (sequence < sequences && sum != item);
        add_before<1>(sum, lane);
        add_before<2>(sum, lane);
        add_before<4>(sum, lane);
        add_before<8>(sum, lane);
        add_before<16>(sum, lane);
        if (warp == 0 && sequence < sequences) {
          const int unused = tiles_of(length) * S::kTile - length;
          store_shared_4(memory + 4 * (sequence + 1), (before + sum) * S::kTile + unused);
          if constexpr (Config::value.logits.window > 0)
            store_shared_4(memory + S::kLengthsOffset + 4 * sequence, length);
        }
        before += static_cast<int>(broadcast(sum, 31));
      }
    }
    const int tiles = before;
    const int all = tiles * S::kWorkHeads;
    const int teams = Team::count();
    int share = (all + teams - 1) / teams;
    // Where an item has no more tiles than a team has warps, one team takes it.
    int least = tiles <= warps() * sequences ? warps() : Config::value.least_share;
    if (Team::blocks() > 1) {
      // A team takes no more than an item then.
      const int mean = (tiles + sequences - 1) / sequences;
      least = mean < warps() ? mean : warps();
    }
    if (share < least) share = least;
    if (!any_lane(uneven)) share = aligned(share, item);
    if (warp == 0 && lane == 0) {
      store_shared_4(memory, 0);
      store_shared_4(memory + S::kShareOffset, share);
    }
    block_barrier();
    const i64 last = static_cast<i64>(share) * (Team::index() + 1);
    end = last < all ? static_cast<int>(last) : all;
  }

  // The length that a thread compares first: to be asked for before the tiles, which it would wait
  // behind.
  __device__ __forceinline__ int length_now() const {
    return length_now(static_cast<int>(threadIdx.x));
  }
  // Whether lengths are others than those that share_out() has seen, or `changed` holds for a
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

  // The tiles of one head, and those of a team. They are in shared memory rather than in registers,
  // as they are seldom asked for.
  __device__ __forceinline__ int tiles() const { return begin_of(arguments.sequences); }
  __device__ __forceinline__ int share() const {
    return static_cast<int>(load_shared_4(memory + S::kShareOffset));
  }

  __device__ __forceinline__ int length(int sequence) const {
    if constexpr (Config::value.logits.window > 0)
      return static_cast<int>(load_shared_4(memory + S::kLengthsOffset + 4 * sequence));
    const u32 end = ends(sequence + 1);
    return static_cast<int>((end / S::kTile - begin_of(sequence)) * S::kTile - end % S::kTile);
  }
  // The first token of the i-th tile that is seen.
  __device__ __forceinline__ int token_of(int i, int length) const {
    return S::kTile * (i < sink_tiles(length) ? i : i + hidden_tiles(length));
  }

  __device__ __forceinline__ bool any() const {
    return static_cast<i64>(share()) * Team::index() < end;
  }
  __device__ __forceinline__ Segment first() const {
    Segment segment;
    segment.begin = share() * Team::index();
    segment.head = segment.begin / tiles();
    const int tile = segment.begin - segment.head * tiles();
    // The last sequence that begins at or before the tile: one without tiles is never the last.
    int low = 0;
    int high = arguments.sequences;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      if (begin_of(middle) <= tile) {
        low = middle;
      } else {
        high = middle;
      }
    }
    segment.sequence = low;
    bound(segment);
    return segment;
  }
  // The number of warps of a team, and the number in the team of a warp of this block.
  static __device__ __forceinline__ int warps() { return Team::blocks() * Config::value.warps; }
  static __device__ __forceinline__ int of_team(int warp) {
    return Team::rank() * Config::value.warps + warp;
  }
  // Whether the blocks of the team add their results: not of a whole item of which only the first
  // block has tiles. Of items that other teams have parts of each block merges its own share.
  __device__ __forceinline__ bool is_shared(const Segment& segment) const {
    return Team::blocks() > 1 &&
           (segment.end - segment.begin > Config::value.warps || !is_whole(segment));
  }
  static __device__ __forceinline__ bool is_whole(const Segment& segment) {
    return segment.begin == segment.item && segment.end == segment.item_end;
  }
  // Precondition: segment.end < end.
  __device__ __forceinline__ void next(Segment& segment) const {
    segment.begin = segment.end;
    do {
      if (++segment.sequence == arguments.sequences) {
        segment.sequence = 0;
        ++segment.head;
      }
    } while (begin_of(segment.sequence) == begin_of(segment.sequence + 1));
    bound(segment);
  }

 private:
  __device__ __forceinline__ int length_now(int sequence) const {
    return sequence < arguments.sequences
               ? static_cast<int>(load_global_4_l2(arguments.lengths + sequence))
               : 0;
  }
  // Where a block keeps later whether it merges an item.
  __device__ __forceinline__ u32 changed_flag() const {
    return memory + S::kPlacesOffset + 4 * Config::value.warps;
  }
  __device__ __forceinline__ int within_capacity(int length) const {
    return length < 0 ? 0 : length > arguments.capacity ? arguments.capacity : length;
  }
  // A share of items of equally many tiles: whole items or equal parts of one, if a warp has hardly
  // more tiles then. Teams have fewer segments to finish, and fewer or no parts to merge.
  static __device__ __forceinline__ int aligned(int share, int item) {
    if (item == 0) return share;
    int next = (share + item - 1) / item * item;
    if (share < item) {
      const int parts = item / share;
      next = item / parts;
      if (next * parts != item) return share;
    }
    const int whole = (share + warps() - 1) / warps() * warps();
    return next <= whole + share / 16 ? next : share;
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
    if constexpr (Config::value.logits.window == 0) return 0;
    const int first = length - Config::value.query_len - Config::value.logits.window + 1;
    const int hidden =
        (first > 0 ? first : 0) / S::kTile - tiles_of(Config::value.logits.sink_tokens);
    return hidden > 0 ? hidden : 0;
  }
  static __device__ __forceinline__ int sink_tiles(int) {
    return tiles_of(Config::value.logits.sink_tokens);
  }
  static __device__ __forceinline__ int seen_tiles(int length) {
    return tiles_of(length) - hidden_tiles(length);
  }
  // Tiles of all sequences before this one, times kTile, plus what the last of them has room for.
  __device__ __forceinline__ u32 ends(int sequence) const {
    return load_shared_4(memory + 4 * sequence);
  }
  __device__ __forceinline__ int begin_of(int sequence) const {
    return static_cast<int>(ends(sequence) / S::kTile);
  }
  __device__ __forceinline__ void bound(Segment& segment) const {
    const int before = segment.head * tiles();
    segment.item = before + begin_of(segment.sequence);
    segment.item_end = before + begin_of(segment.sequence + 1);
    segment.end = segment.item_end < end ? segment.item_end : end;
  }
};

}  // namespace heddle
