// Takes the sums of a tile in registers to Y: adds the warps along K, then the blocks of a split,
// both in a fixed order.
#pragma once

#include "primitives/sync.cuh"
#include "steps/output.cuh"
#include "steps/sums.cuh"

namespace heddle {

// What becomes of eight sums of neighbouring rows before Output has them: FP32 stays what it is.
struct PlainValues {
  using Sums = FloatSums;
  struct OfRows {};
  __device__ __forceinline__ OfRows of_rows(int) const { return {}; }
  // `token`: of the tile; `half`: of the rows of an output, see Output::store().
  __device__ __forceinline__ Sums8 outputs(const Sums8& sum, const OfRows& /*of_rows*/,
                                           int /*token*/, int /*half*/) const {
    return sum;
  }
};

// The sums of a tile in shared memory, of all of its warps. Config::value has the tile (tile_m,
// tile_n, row_tiles(), token_tiles()), warps_k, and where sums lie in shared memory (sum_stride()).
// Values: see PlainValues.
template <class Config, class Values = PlainValues>
struct TileSums {
  using Sums = typename Values::Sums;
  static constexpr int kSumStride = Config::value.sum_stride();
  using Eight = EightSums<typename Sums::Sum>;

  u32 shared;

  // Writes one warp's tile. (row, token) is the warp's first in the block's tile.
  template <class WarpTile>
  __device__ __forceinline__ void put(const WarpTile& warp, int warp_k) const {
    const u32 plane = shared + 4 * warp_k * Config::value.tile_m * kSumStride;
#pragma unroll
    for (int r = 0; r < Config::value.row_tiles(); ++r) {
#pragma unroll
      for (int j = 0; j < Config::value.token_tiles(); ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int token = warp.token_row + 8 * j + 2 * warp.t + (i & 1);
          const int row = 16 * (warp.row_block + r) + warp.g + 8 * (i >> 1);
          store_shared_float(plane + 4 * (token * kSumStride + row),
                             Sums::as_float(warp.sum[r][j][i]));
        }
      }
    }
  }

  // The sums of the warps at `warp_k` along K, from that row on, after put() and a barrier.
  __device__ __forceinline__ u32 sums_at(int warp_k, int token, int row) const {
    return shared + 4 * ((warp_k * Config::value.tile_m + token) * kSumStride + row);
  }
  // The sums of all warps, added in their order.
  __device__ __forceinline__ Eight sum_of_warps(int token, int row) const {
    Eight sum = {};
#pragma unroll
    for (int k = 0; k < Config::value.warps_k; ++k) {
      const u32 at = sums_at(k, token, row);
      add(sum, load_shared_floats(at), load_shared_floats(at + 16));
    }
    return sum;
  }

 protected:
  static __device__ __forceinline__ void add(Eight& sum, f32x4 low, f32x4 high) {
    Sums::add(sum.v, low);
    Sums::add(sum.v + 4, high);
  }
};

// What TileSums needs, and split_k, how many vectors() and outputs() there are, the shape of W and
// the epilogue. All kThreads threads of the block finish; not all of them need have sums.
template <class Config, int kThreads = Config::value.threads(), class Values = PlainValues>
struct Epilogue : TileSums<Config, Values> {
  using Base = TileSums<Config, Values>;
  using Schedule = typename Config::Schedule;
  using typename Base::Eight;
  using typename Base::Sums;
  static constexpr int kVectors = Config::value.vectors();
  // Rows whose sums a thread stores at a time, and such stores for a token of the tile.
  static constexpr int kRows = Config::value.epilogue.rows();
  static constexpr int kTokenOutputs = Config::value.tile_n / kRows;
  // Whether a thread stores outputs of the same rows, of one token after the other.
  static constexpr bool kSameRows = kThreads % kTokenOutputs == 0;
  // Neighbouring lanes have the outputs of a group (Output::store_group()).
  static constexpr bool kFindsScales = Config::value.epilogue.finds_scales;
  static_assert(!kFindsScales || (Config::value.epilogue.holds_groups(Config::value.tile_n) &&
                                  kThreads % 32 == 0 && Config::value.outputs() % 32 == 0),
                "the lanes of a group are of one warp and one tile, and all of them finish");
  // The workspace opens with one counter per output tile, all zero between launches; the partial
  // sums of the blocks follow.
  static constexpr int kCounterBytes = device::Workspace::kCounterBytes;
  static constexpr i64 kTileFloats = static_cast<i64>(Config::value.tile_m) * Config::value.tile_n;

  int part;  // of the tile's K, where blocks share that
  Output<Config> output;
  u8* workspace;
  int m;
  Values values;

  // The row of W that is row `row` of the tile.
  __device__ __forceinline__ int global_row(int row) const {
    return Schedule::row_tile() * Config::value.tile_n + row;
  }

  // All threads finish the tile, after put() and a barrier.
  __device__ __forceinline__ void finish() const {
    if constexpr (Config::value.split_k > 1) {
      if (!add_to_split()) return;
    }
    typename Values::OfRows of_rows;
    if constexpr (kSameRows) of_rows = values.of_rows(global_row(first_row(threadIdx.x)));
    for (int i = threadIdx.x; i < Config::value.outputs(); i += kThreads) {
      const int token = i / kTokenOutputs;
      const int row = first_row(i);
      const bool is_inside = inside(token, row);
      if (!kFindsScales && !is_inside) continue;
      if constexpr (!kSameRows) of_rows = values.of_rows(global_row(row));
      const auto sums_of = [&](int half) {
        const Eight sum = Config::value.split_k > 1 ? sum_of_split(i * kRows / 8 + half)
                                                    : Base::sum_of_warps(token, row + 8 * half);
        return values.outputs(sum, of_rows, token, half);
      };
      if constexpr (kFindsScales) {
        output.store_group(is_inside, global_token(token), global_row(row), m, sums_of);
      } else {
        output.store(global_token(token), global_row(row), sums_of);
      }
    }
  }

 private:
  // The first of the rows that output i of the tile is made of.
  static __device__ __forceinline__ int first_row(int i) { return i % kTokenOutputs * kRows; }
  __device__ __forceinline__ int global_token(int token) const {
    return Schedule::first_token() + token;
  }
  __device__ __forceinline__ bool inside(int token, int row) const {
    return global_token(token) < m && (Config::value.shape.n % Config::value.tile_n == 0 ||
                                       global_row(row) < Config::value.shape.n);
  }

  __device__ __forceinline__ u8* partial_tile(int split) const {
    const i64 place = static_cast<i64>(Schedule::shared_tile()) * Config::value.split_k + split;
    return workspace + kCounterBytes + 4 * kTileFloats * place;
  }

  // Publishes this block's sums. True in the block that comes last, which sees all of them.
  __device__ __forceinline__ bool add_to_split() const {
    u8* mine = partial_tile(part);
    for (int i = threadIdx.x; i < kVectors; i += kThreads) {
      const int token = i / (Config::value.tile_n / 8);
      const int row = i % (Config::value.tile_n / 8) * 8;
      if (!inside(token, row)) continue;
      const Eight sum = Base::sum_of_warps(token, row);
      store_global_floats(mine + 32 * i, Sums::four(sum.v));
      store_global_floats(mine + 32 * i + 16, Sums::four(sum.v + 4));
    }
    device_fence();
    block_barrier();
    // The sums in shared memory have been read: its first word is free.
    if (threadIdx.x == 0) {
      u32* counter = reinterpret_cast<u32*>(workspace) + Schedule::shared_tile();
      const u32 before = atomic_add(counter, 1);
      // The last block leaves the counter as it was found.
      if (before == Config::value.split_k - 1) *counter = 0;
      device_fence();
      store_shared_4(Base::shared, before);
    }
    block_barrier();
    return load_shared_4(Base::shared) == Config::value.split_k - 1;
  }

  // The blocks' partial sums in the order of K, whichever block came last.
  __device__ __forceinline__ Eight sum_of_split(int vector) const {
    Eight sum = {};
#pragma unroll 4
    for (int split = 0; split < Config::value.split_k; ++split) {
      const u8* at = partial_tile(split) + 32 * vector;
      Base::add(sum, load_global_floats_l2(at), load_global_floats_l2(at + 16));
    }
    return sum;
  }
};

}  // namespace heddle
