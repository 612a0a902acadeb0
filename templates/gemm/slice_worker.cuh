// A warp that multiplies: its slice of K of one row block after the other.
#pragma once

#include "gemm/chunk.cuh"
#include "gemm/slice_shape.cuh"
#include "primitives/bulk_copy.cuh"
#include "primitives/dependent_launch.cuh"
#include "primitives/mma.cuh"
#include "primitives/sync.cuh"

namespace heddle {

template <class Config, class Decode>
struct SliceWorker : ChunkLane<Config> {
  using S = SliceShape<Config>;
  using Lane = ChunkLane<Config>;
  using Value = typename Config::Value;
  using Lane::g;
  using Lane::t;
  static constexpr bool kPartial = Config::kScaleMode == ScaleMode::kAccumulator;
  static constexpr bool kChannel = Config::kScaleMode == ScaleMode::kChannel;
  static constexpr bool kIntZeros = Config::kZeroPoint == ZeroPoint::kInt;
  static constexpr int kUnit = Config::kMetaGroup;  // columns between two looks at scales

  SliceMemory<Config> memory;
  const u8* x;
  const u8* weights;
  const u8* pre_scale;
  int m;
  int warp, warp_n;
  int first_chunk;  // of the slice
  int chunks;       // of the slice, fewer at the end of K

  u32 tokens[S::kSliceTiles][S::kTokenTiles][2];  // B fragments of the slice
  float sum[S::kTokenTiles][4];
  float part[kPartial ? S::kTokenTiles : 1][4];  // of the current group, before its scale
  u32 zeros[Decode::kZeroRegisters];
  u32 scales;  // ScaleMode::kWeight only

  __device__ __forceinline__ SliceWorker(SliceMemory<Config> memory, const u8* x, const u8* weights,
                                         const u8* pre_scale, int m, int warp, int lane)
      : Lane(lane),
        memory(memory),
        x(x),
        weights(weights),
        pre_scale(pre_scale),
        m(m),
        warp(warp),
        warp_n(warp / Config::kWarpsK) {
    const int begin = static_cast<int>(blockIdx.y) * S::kSplitChunks;
    const int end =
        begin + S::kSplitChunks < Config::kChunks ? begin + S::kSplitChunks : Config::kChunks;
    first_chunk = begin + warp % Config::kWarpsK * Config::kSliceChunks;
    const int left = end - first_chunk;
    chunks = left < 0 ? 0 : left < Config::kSliceChunks ? left : Config::kSliceChunks;
  }

  __device__ __forceinline__ void run() {
    const int runs = slice_runs<Config>();
    wait_for_predecessor();
    start_tokens();
#pragma unroll
    for (int i = 0; i < Config::kFirstStages; ++i) fill(i, i, runs);
    take_tokens();
#pragma unroll
    for (int i = Config::kFirstStages; i < Config::kStages; ++i) fill(i, i, runs);

    int stage = 0;
    u32 parity = 0;
#pragma unroll 1
    for (int i = 0; i < runs; ++i) {
      begin_run(i, runs);
      if (has_work(i, runs)) {
        mbarrier_wait(memory.stage_barrier(warp, stage), parity);
        multiply(memory.ring(warp) + stage * S::kStageBytes);
        warp_barrier();
      }
      fill(i + Config::kStages, stage, runs);
      if (++stage == Config::kStages) {
        stage = 0;
        parity ^= 1;
      }
      hand_over(i);
    }
  }

 private:
  // Whether run i's row block exists and holds anything of this slice.
  __device__ __forceinline__ bool has_work(int i, int runs) const {
    return i < runs && chunks > 0 && slice_row_block<Config>(i, warp_n) < Config::kRowBlocks;
  }

  // Starts the copy of run i's slice.
  __device__ __forceinline__ void fill(int i, int stage, int runs) const {
    if (4 * g + t != 0 || !has_work(i, runs)) return;
    const u32 bytes = chunks * Config::kChunkBytes;
    const i64 chunk =
        static_cast<i64>(slice_row_block<Config>(i, warp_n)) * Config::kChunks + first_chunk;
    const u32 barrier = memory.stage_barrier(warp, stage);
    mbarrier_arrive_expect(barrier, bytes);
    bulk_copy_once(memory.ring(warp) + stage * S::kStageBytes,
                   weights + chunk * Config::kChunkBytes, bytes, barrier);
  }

  // Rows of X on their way to shared memory, past the bulk copies, which would keep them waiting.
  // Tokens and columns that do not exist are zero.
  __device__ __forceinline__ void start_tokens() const {
    constexpr int kUnits = Config::kSliceChunks * S::kChunkK / 8;  // of 16 bytes in a row
    const int lane = 4 * g + t;
    const u32 area = memory.ring(warp) + S::kTokenOffset;
    const int column = first_chunk * S::kChunkK;
#pragma unroll 4
    for (int i = lane; i < Config::kTokens * kUnits; i += 32) {
      const int token = i / kUnits;
      const int unit = i % kUnits;
      const bool valid = token < m && column + 8 * unit < Config::kK;
      const i64 offset = 2 * (static_cast<i64>(token) * Config::kK + column) + 16 * unit;
      copy_async_16(area + token * S::kTokenRowBytes + 16 * unit, x + (valid ? offset : 0), valid);
    }
    copy_async_commit();
  }

  // From there into B fragments.
  __device__ __forceinline__ void take_tokens() {
    const int lane = 4 * g + t;
    const u32 area = memory.ring(warp) + S::kTokenOffset;
    copy_async_wait<0>();
    warp_barrier();
#pragma unroll
    for (int j = 0; j < S::kTokenTiles; ++j) {
      // Tokens beyond the last that the kernel serves have no place in shared memory.
      const int row = 8 * j + (lane & 7);
      const u32 at =
          area + (row < Config::kTokens ? row : 0) * S::kTokenRowBytes + 16 * (lane >> 3);
      const bool served = 8 * j + g < Config::kTokens;
#pragma unroll
      for (int tile = 0; tile < S::kSliceTiles; tile += 2) {
        u32 b[4];
        ldmatrix_x4(b, at + 32 * tile);
        tokens[tile][j][0] = served ? b[0] : 0;
        tokens[tile][j][1] = served ? b[1] : 0;
        tokens[tile + 1][j][0] = served ? b[2] : 0;
        tokens[tile + 1][j][1] = served ? b[3] : 0;
      }
    }
    // All lanes have read theirs; bulk copies may write here.
    async_proxy_fence();
    warp_barrier();
    if constexpr (Config::kPreScale) scale_tokens();
  }

  __device__ __forceinline__ void scale_tokens() {
#pragma unroll
    for (int tile = 0; tile < S::kSliceTiles; ++tile) {
      const int column = first_chunk * S::kChunkK + 16 * tile;
      if (column >= Config::kK) continue;
      const u32* factors = reinterpret_cast<const u32*>(pre_scale + 2 * column) + t;
#pragma unroll
      for (int j = 0; j < S::kTokenTiles; ++j) {
        tokens[tile][j][0] = Value::mul2(tokens[tile][j][0], factors[0]);
        tokens[tile][j][1] = Value::mul2(tokens[tile][j][1], factors[4]);
      }
    }
  }

  __device__ __forceinline__ void begin_run(int i, int runs) {
#pragma unroll
    for (int j = 0; j < S::kTokenTiles; ++j)
#pragma unroll
      for (int v = 0; v < 4; ++v) sum[j][v] = 0.0f;
    if constexpr (kIntZeros && kChannel) {
      if (!has_work(i, runs)) return;
      const u8* metadata = weights + Config::kChannelOffset + Config::kChannelZeroOffset;
      Decode::zeros(
          Lane::channel_int_zeros(metadata + static_cast<i64>(slice_row_block<Config>(i, warp_n)) *
                                                 Config::kChannelBytes),
          zeros);
    }
  }

  __device__ __forceinline__ void multiply(u32 stage) {
#pragma unroll
    for (int c = 0; c < Config::kSliceChunks; ++c) {
      if (c == 0 || c < chunks) multiply_chunk(stage + c * Config::kChunkBytes, c);
    }
  }

  __device__ __forceinline__ void multiply_chunk(u32 chunk, int c) {
    constexpr int kTiles = Decode::kTiles;
    u32 words[Config::kBits];  // of 64 columns
#pragma unroll
    for (int first = 0; first < 8; first += kTiles) {
      if (first % 4 == 0) Lane::load_words(chunk, first / 4, words);
      u32 a[kTiles][4];
#pragma unroll
      for (int i = 0; i < kTiles; ++i) {
        const int column = 16 * (first + i);
        const bool begins = column % kUnit == 0;
        if (begins) begin_unit(chunk, column);
        // Another group has other zero points: what follows is decoded with them.
        if (i == 0 || begins) {
          Decode::unit(words, first % 4 / kTiles, zeros, a);
        }
        if constexpr (Config::kScaleMode == ScaleMode::kWeight) Lane::scale_weights(scales, a[i]);
#pragma unroll
        for (int j = 0; j < S::kTokenTiles; ++j) {
          const u32(&b)[2] = tokens[8 * c + first + i][j];
          MmaAmpere::mma16816(Value{}, kPartial ? part[kPartial ? j : 0] : sum[j], a[i], b[0],
                              b[1]);
        }
        if (kPartial && (column + 16) % kUnit == 0) end_unit(chunk, column);
      }
    }
  }

  __device__ __forceinline__ void begin_unit(u32 chunk, int column) {
    if constexpr (kIntZeros && !kChannel) Decode::zeros(Lane::int_zeros(chunk, column), zeros);
    if constexpr (Config::kScaleMode == ScaleMode::kWeight) {
      scales = Lane::weight_scales(chunk, column);
    }
    if constexpr (kPartial) {
#pragma unroll
      for (int j = 0; j < S::kTokenTiles; ++j)
#pragma unroll
        for (int v = 0; v < 4; ++v) part[j][v] = 0.0f;
    }
  }

  __device__ __forceinline__ void end_unit(u32 chunk, int column) {
    const RowPair scale = Lane::scales(chunk, column);
    const float low = power_of_two<Config::kResultExponent>(scale.low);
    const float high = power_of_two<Config::kResultExponent>(scale.high);
#pragma unroll
    for (int j = 0; j < S::kTokenTiles; ++j) {
      sum[j][0] += low * part[kPartial ? j : 0][0];
      sum[j][1] += low * part[kPartial ? j : 0][1];
      sum[j][2] += high * part[kPartial ? j : 0][2];
      sum[j][3] += high * part[kPartial ? j : 0][3];
    }
  }

  // The sums of run i to the warp that adds.
  __device__ __forceinline__ void hand_over(int i) const {
    const int buffer = i & 1;
    // A fresh barrier counts as one whose phase of parity 1 has ended.
    mbarrier_wait(memory.free_barrier(buffer), (i >> 1 & 1) ^ 1);
    const u32 at = memory.sums(buffer, warp);
#pragma unroll
    for (int j = 0; j < S::kTokenTiles; ++j) {
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        const int token = 8 * j + 2 * t + (v & 1);
        store_shared_float(at + 4 * (token * S::kSumRow + g + 8 * (v >> 1)), sum[j][v]);
      }
    }
    mbarrier_arrive(memory.full_barrier(buffer));
  }
};

}  // namespace heddle
