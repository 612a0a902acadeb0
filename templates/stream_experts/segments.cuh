// Which units a block has, and the rows that they multiply. The block's run of units crosses some
// tiles: what it has of one is a segment. Every block finds its segments for itself: it counts what
// each expert of this device is chosen, which tells how many tiles the experts ahead have, and
// looks for the assignments of its own tiles. One warp copies the rows of a segment to shared
// memory, as soon as all warps are done with those that were in their place.
#pragma once

#include "experts/assignments.cuh"
#include "primitives/bulk_copy.cuh"
#include "primitives/sync.cuh"
#include "stream_experts/product.cuh"

namespace heddle {

template <class Product>
struct SegmentChoices {
  static constexpr ExpertLayer kLayer = Product::kLayer;
  static constexpr int kThreads = Product::kThreads;
  static constexpr int kPlaces = Product::kStream.shape.row_blocks;
  static constexpr int kRows = Product::kTokens;                 // of a tile
  static constexpr int kExperts = (kLayer.experts() + 31) / 32;  // of a lane
  static constexpr int kNone = -1;
  using All = Assignments<typename Product::Config>;

  SegmentMemory<Product> memory;
  const MoeParameters& layer;
  int lane = static_cast<int>(threadIdx.x) % 32;
  int warp = static_cast<int>(threadIdx.x) / 32;

  // Ahead of find() and of a barrier of the block.
  __device__ __forceinline__ void clear() const {
    for (int i = static_cast<int>(threadIdx.x); i < 32 * kExperts; i += kThreads) {
      store_shared_4(memory.rows_of(i), 0);
    }
  }

  // By all threads of the block, for which ids must be visible: of gate_up behind its wait, of down
  // from the start (experts/phases.cuh). Behind it segments are known, but for their rows.
  __device__ __forceinline__ void find() const {
    const All all{layer};
    const int assignments = all.count();
    for (int i = static_cast<int>(threadIdx.x); i < (assignments + 31) / 32 * 32; i += kThreads) {
      const int expert = i < assignments ? all.expert_of(i) : kNone;
      store_shared_4(memory.chosen(i), static_cast<u32>(expert));
      if (expert >= 0) shared_add(memory.rows_of(expert), 1);
    }
    block_barrier();
    if (warp == 0) share_out();
    block_barrier();
  }
  // By warp `first` of `warps`, ahead of a barrier of the block.
  __device__ __forceinline__ void find_rows(int first, int warps) const {
    const int segments = count();
    for (int segment = first; segment < segments; segment += warps) find_rows_of(segment);
  }

  __device__ __forceinline__ int count() const {
    return static_cast<int>(load_shared_4(memory.expert_count()));
  }

 private:
  static __device__ __forceinline__ int tiles_of(int rows) { return (rows + kRows - 1) / kRows; }

  // By one warp, whose lanes have neighbouring experts: the block's units and segments.
  __device__ __forceinline__ void share_out() const {
    int rows[kExperts];
    int tiles = 0;
#pragma unroll
    for (int i = 0; i < kExperts; ++i) {
      rows[i] = static_cast<int>(load_shared_4(memory.rows_of(lane * kExperts + i)));
      tiles += tiles_of(rows[i]);
    }
    int tile = tiles;  // those of all experts up to the lane's last one
#pragma unroll
    for (int lanes = 1; lanes < 32; lanes *= 2) {
      const int before = shuffle_up(tile, lanes);
      if (lane >= lanes) tile += before;
    }
    const i64 all = static_cast<i64>(broadcast(static_cast<u32>(tile), 31)) * kPlaces;
    const int blocks = static_cast<int>(gridDim.x);
    const int block = static_cast<int>(blockIdx.x);
    const int begin = static_cast<int>(all * block / blocks);
    const int end = static_cast<int>(all * (block + 1) / blocks);
    const int first_tile = begin / kPlaces;
    const int segments = end > begin ? (end - 1) / kPlaces - first_tile + 1 : 0;
    if (lane == 0) {
      store_shared_4(memory.expert_count(), segments);
      store_shared_4(memory.first_place(), begin - first_tile * kPlaces);
      store_shared_4(memory.unit_count(), end - begin);
    }
    int segment = tile - tiles - first_tile;
#pragma unroll
    for (int i = 0; i < kExperts; ++i) {
      for (int row = 0; row < rows[i]; row += kRows, ++segment) {
        if (segment < 0 || segment >= segments) continue;
        store_shared_4(memory.expert(segment), lane * kExperts + i);
        store_shared_4(memory.first_row(segment), row);
      }
    }
  }

  // By one warp: the assignments that are a segment's columns, in their order.
  __device__ __forceinline__ void find_rows_of(int segment) const {
    const int assignments = All{layer}.count();
    const int expert = static_cast<int>(load_shared_4(memory.expert(segment)));
    const int first = static_cast<int>(load_shared_4(memory.first_row(segment)));
    warp_barrier();
    int row = -first;  // of the tile
#pragma unroll 4
    for (int from = 0; from < assignments; from += 32) {
      const bool is_own = static_cast<int>(load_shared_4(memory.chosen(from + lane))) == expert;
      const u32 owners = ballot(is_own);
      const int column = row + __popc(owners & ((1u << lane) - 1));
      if (is_own && column >= 0 && column < kRows) put(segment, column, from + lane);
      row += __popc(owners);
    }
    if (lane >= row && lane < kRows)
      store_shared_4(memory.choice(segment, lane), static_cast<u32>(kNone));
  }

  __device__ __forceinline__ void put(int segment, int column, int assignment) const {
    store_shared_4(memory.choice(segment, column), assignment);
    if constexpr (Product::kWeighs) {
      store_shared_4(memory.weight(segment, column), All{layer}.weight_of(assignment));
    }
  }
};

template <class Product>
struct SegmentRows {
  using All = Assignments<typename Product::Config>;
  static constexpr int kRowBytes = 2 * Product::kColumns;
  static_assert(kRowBytes % 16 == 0, "bulk copies are of 16 bytes");

  SegmentMemory<Product> memory;
  const MoeParameters& layer;
  int lane;

  // By one lane, ahead of a barrier of the block.
  __device__ __forceinline__ void init() const {
#pragma unroll
    for (int i = 0; i < Product::kBuffers; ++i) {
      mbarrier_init(memory.rows_barrier(i), 1);
      mbarrier_init(memory.read_barrier(i), Product::kWarps);
    }
  }

  // By the warp that copies: the rows of all segments.
  __device__ __forceinline__ void copy(int segments) const {
#pragma unroll 1
    for (int segment = 0; segment < segments; ++segment) {
      const int assignment = lane < Product::kTokens
                                 ? static_cast<int>(load_shared_4(memory.choice(segment, lane)))
                                 : -1;
      const int count = __popc(ballot(assignment >= 0));
      const int buffer = segment % Product::kBuffers;
      // A fresh barrier counts as one whose phase of parity 1 has ended.
      mbarrier_wait(memory.read_barrier(buffer), (segment / Product::kBuffers & 1) ^ 1);
      const u32 barrier = memory.rows_barrier(buffer);
      if (lane == 0) mbarrier_arrive_expect(barrier, count * kRowBytes);
      warp_barrier();
      if (assignment >= 0) {
        bulk_copy(memory.token_row(lane) + memory.buffer_bytes(buffer), source(assignment),
                  kRowBytes, barrier);
      }
    }
  }

 private:
  __device__ __forceinline__ const u8* source(int assignment) const {
    if constexpr (Product::kIsDown) {
      return Product::Middle::row(layer, assignment);
    } else {
      return layer.x + static_cast<i64>(All::token_of(assignment)) * kRowBytes;
    }
  }
};

// Of a warp that multiplies: the rows of the segment at hand. Every warp sees all segments, in
// their order, whether it has units of them or not, so that none of them takes a phase of a barrier
// for another.
template <class Product>
struct SegmentReader {
  SegmentMemory<Product> memory;
  int segment = 0;

  // Bytes to the buffer with a segment's rows, which are there. It is this one or a later one.
  __device__ __forceinline__ u32 wait_for(int wanted) {
    while (segment < wanted) pass();
    wait();
    return memory.buffer_bytes(segment % Product::kBuffers);
  }
  // Behind the warp's last unit: no copy comes when the block has gone.
  __device__ __forceinline__ void finish(int segments) {
    while (segment < segments) pass();
  }

 private:
  __device__ __forceinline__ void wait() const {
    mbarrier_wait(memory.rows_barrier(segment % Product::kBuffers),
                  segment / Product::kBuffers & 1);
  }
  __device__ __forceinline__ void pass() {
    wait();
    warp_barrier();
    if (elect_one()) mbarrier_arrive(memory.read_barrier(segment % Product::kBuffers));
    ++segment;
  }
};

}  // namespace heddle
