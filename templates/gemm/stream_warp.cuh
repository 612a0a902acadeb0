// One warp: its columns of K of one row block after the other.
#pragma once

#include "gemm/chunk.cuh"
#include "gemm/stream_sums.cuh"
#include "primitives/bulk_copy.cuh"
#include "primitives/cluster.cuh"
#include "primitives/mma.cuh"
#include "primitives/sync.cuh"

namespace heddle {

template <class Config, class Decode>
struct StreamWarp : ChunkLane<Config> {
  using S = StreamShape<Config>;
  using Lane = ChunkLane<Config>;
  using Value = typename Config::Value;
  using Lane::g;
  using Lane::t;
  static constexpr bool kPartial = Config::kScaleMode == ScaleMode::kAccumulator;
  static constexpr bool kChannel = Config::kScaleMode == ScaleMode::kChannel;
  static constexpr bool kIntZeros = Config::kZeroPoint == ZeroPoint::kInt;
  static constexpr bool kFold = Config::kFoldBias;
  static constexpr int kUnit = S::kUnit;  // columns between two looks at scales
  // Sums that take turns, so that one matrix instruction need not wait for the one before.
  static constexpr int kTurns = S::kTokenTiles == 1 ? 2 : 1;

  // Where the next stage comes from: the chunks of a piece first, then row blocks, then pieces.
  struct Cursor {
    int block;
    int piece;  // its first chunk
    int chunk;
    const u8* source;
  };

  StreamMemory<Config> memory;
  const u8* x;
  const u8* weights;
  const u8* pre_scale;
  int m;
  int warp;
  int blocks;  // row blocks of the block: every gridDim.x-th
  Range chunks;
  Cursor next;
  int stage = 0;
  u32 parity = 0;
  u64 policy;

  float sum[S::kTokenTiles][4];
  // Of the current group, before its scale; without groups of the stage.
  float part[S::kTokenTiles][kTurns][4];
  u32 zeros[Decode::kZeroRegisters];
  u32 scales;                   // ScaleMode::kWeight only
  float low_start, high_start;  // kFold with integer zero points only

  __device__ __forceinline__ StreamWarp(StreamMemory<Config> memory, const u8* x, const u8* weights,
                                        const u8* pre_scale, int m, int warp, int lane)
      : Lane(lane),
        memory(memory),
        x(x),
        weights(weights),
        pre_scale(pre_scale),
        m(m),
        warp(warp),
        blocks((Config::kRowBlocks - blockIdx.x + gridDim.x - 1) / gridDim.x),
        chunks(part_of(split_chunks(), warp, Config::kWarpsK)),
        policy(policy_read_once()) {
    next.piece = chunks.begin;
    point_to(next, 0, chunks.begin);
  }

  // The first weights on their way.
  __device__ __forceinline__ void fill_ring() {
    if (elect_one()) {
#pragma unroll
      for (int i = 0; i < Config::kStages; ++i) mbarrier_init(memory.stage_barrier(warp, i), 1);
      mbarrier_init(memory.token_barrier(warp), 1);
      mbarrier_init_fence();
    }
    warp_barrier();
#pragma unroll
    for (int i = 0; i < Config::kFirstStages; ++i) fill(i);
  }

  __device__ __forceinline__ void run(const StreamSums<Config>& sums) {
    int count = 0;
#pragma unroll 1
    for (int i = 0; i < S::kPieces; ++i) {
      // Of warps with fewer chunks than others the last piece may be empty.
      const int piece = chunks.begin + i * Config::kPieceChunks;
      // Other blocks write here, too: all must have read the piece before.
      if (Config::kCluster > 1 && i > 0) cluster_barrier();
      copy_tokens(piece);
      if (i == 0) {
        // Behind the tokens, which would have to wait for them.
#pragma unroll
        for (int j = Config::kFirstStages; j < Config::kStages; ++j) fill(j);
      }
      if (piece < chunks.end) mbarrier_wait(memory.token_barrier(warp), i & 1);
      warp_barrier();
      if constexpr (kFold) put_starts();
#pragma unroll 1
      for (int block = 0; block < blocks; ++block) {
        multiply_block(block, piece, end_of_piece(piece));
        if constexpr (kFold) scale_rows();
        sums.put(count++, row_block(block), block, i == 0, i == S::kPieces - 1, sum);
      }
    }
  }

 private:
  static __device__ __forceinline__ Range split_chunks() {
    return part_of({0, Config::kChunks}, blockIdx.y, Config::kSplitK);
  }
  __device__ __forceinline__ int row_block(int block) const {
    return static_cast<int>(blockIdx.x) + block * static_cast<int>(gridDim.x);
  }
  __device__ __forceinline__ int end_of_piece(int piece) const {
    const int end = piece + Config::kPieceChunks;
    return S::kEven || end < chunks.end ? end : chunks.end;
  }

  // Makes good for the powers of two that decoding leaves in the rows.
  __device__ __forceinline__ void scale_rows() {
#pragma unroll
    for (int j = 0; j < S::kTokenTiles; ++j) {
      sum[j][0] = power_of_two<-Config::kLowExponent>(sum[j][0]);
      sum[j][1] = power_of_two<-Config::kLowExponent>(sum[j][1]);
      sum[j][2] = power_of_two<-Config::kHighExponent>(sum[j][2]);
      sum[j][3] = power_of_two<-Config::kHighExponent>(sum[j][3]);
    }
  }

  // A piece of a row block.
  __device__ __forceinline__ void multiply_block(int block, int piece, int piece_end) {
    begin_block(block);
    u32 tokens = memory.tokens(warp);
#pragma unroll 1
    for (int chunk = piece; chunk < piece_end; chunk += Config::kStageChunks) {
      mbarrier_wait(memory.stage_barrier(warp, stage), parity);
      multiply(memory.ring(warp) + stage * S::kStageBytes, tokens, piece_end - chunk);
      warp_barrier();
      fill(stage);
      if (++stage == Config::kStages) {
        stage = 0;
        parity ^= 1;
      }
      tokens += Config::kStageChunks * S::kChunkK * 2;
    }
  }

  // Starts the copy of the next stage, if there is one.
  __device__ __forceinline__ void fill(int stage) {
    if (next.block == blocks) return;
    const u32 bytes = stage_bytes(next);
    if (elect_one()) {
      const u32 barrier = memory.stage_barrier(warp, stage);
      mbarrier_arrive_expect(barrier, bytes);
      bulk_copy_once(memory.ring(warp) + stage * S::kStageBytes, next.source, bytes, barrier,
                     policy);
    }
    advance(next);
  }
  __device__ __forceinline__ u32 stage_bytes(const Cursor& cursor) const {
    const int left = end_of_piece(cursor.piece) - cursor.chunk;
    const bool whole = S::kEven || left > Config::kStageChunks;
    return (whole ? Config::kStageChunks : left) * Config::kChunkBytes;
  }
  __device__ __forceinline__ void advance(Cursor& cursor) const {
    cursor.source += S::kStageBytes;
    cursor.chunk += Config::kStageChunks;
    if (cursor.chunk < end_of_piece(cursor.piece)) return;
    if (++cursor.block == blocks) {
      if (cursor.piece + Config::kPieceChunks >= chunks.end) return;
      cursor.piece += Config::kPieceChunks;
      cursor.block = 0;
    }
    point_to(cursor, cursor.block, cursor.piece);
  }
  __device__ __forceinline__ void point_to(Cursor& cursor, int block, int chunk) const {
    cursor.block = block;
    cursor.chunk = chunk;
    cursor.source = weights + (static_cast<i64>(row_block(block)) * Config::kChunks + chunk) *
                                  Config::kChunkBytes;
  }

  // A piece of every token on its way to shared memory, each part of it fetched by one block of the
  // cluster for all of them. Columns that do not exist are zero.
  __device__ __forceinline__ void copy_tokens(int piece) const {
    const int columns = S::kChunkK * (end_of_piece(piece) - piece);
    const int first = S::kChunkK * piece;
    if (columns <= 0) return;
    const int valid = first + columns <= Config::kK ? columns : Config::kK - first;
    const int lane = 4 * g + t;
    const int rows = m + (Config::kPreScale ? 1 : 0);
    const u32 barrier = memory.token_barrier(warp);
    if (lane == 0) mbarrier_arrive_expect(barrier, 2 * rows * valid);
    if (valid < columns) clear_columns(valid, columns);
    warp_barrier();
    // A row is cut into parts where there are fewer rows than blocks.
    constexpr int kParts = S::kTokenRows >= Config::kCluster ? 1 : Config::kCluster;
    for (int i = lane; i < rows * kParts; i += 32) {
      if (Config::kCluster > 1 && i % Config::kCluster != static_cast<int>(cluster_rank()))
        continue;
      const int row = i / kParts;
      const Range part = part_of({0, valid / 8}, i % kParts, kParts);
      const u32 bytes = 16 * (part.end - part.begin);
      if (bytes == 0) continue;
      const bool factors = Config::kPreScale && row == m;
      const u8* source = factors ? pre_scale : x + 2 * static_cast<i64>(row) * Config::kK;
      const u32 to = memory.tokens(warp) + (factors ? Config::kTokens : row) * S::kTokenRowBytes +
                     16 * part.begin;
      source += 2 * first + 16 * part.begin;
      if constexpr (Config::kCluster > 1) {
        bulk_copy_to_all(to, source, bytes, barrier, (1u << Config::kCluster) - 1);
      } else {
        bulk_copy(to, source, bytes, barrier);
      }
    }
  }
  __device__ __forceinline__ void clear_columns(int begin, int end) const {
    const int units = (end - begin) / 8;
    for (int i = 4 * g + t; i < S::kTokenRows * units; i += 32) {
      store_shared_16(
          memory.tokens(warp) + i / units * S::kTokenRowBytes + 2 * (begin + 8 * (i % units)),
          {0, 0, 0, 0});
    }
  }

  // B fragments of 32 columns, each column times its factor, if there are any. `tokens`: of their
  // first column.
  __device__ __forceinline__ void load_tokens(u32 tokens, u32 (&b)[S::kTokenTiles][4]) const {
    const int lane = 4 * g + t;
#pragma unroll
    for (int j = 0; j < S::kTokenTiles; ++j) {
      // Rows beyond the last token only make outputs that no one writes.
      const int row = 8 * j + (lane & 7);
      ldmatrix_x4(
          b[j], tokens + (row < Config::kTokens ? row : 0) * S::kTokenRowBytes + 16 * (lane >> 3));
      if constexpr (Config::kPreScale) {
        const u32 factors = tokens + Config::kTokens * S::kTokenRowBytes + 4 * t;
#pragma unroll
        for (int i = 0; i < 4; ++i) b[j][i] = Value::mul2(b[j][i], load_shared_4(factors + 16 * i));
      }
    }
  }

  // The sums of each unit's tokens, by the matrix instruction with ones as its weights, times what
  // decoding leaves too much in each weight.
  __device__ __forceinline__ void put_starts() const {
    const u32 ones[4] = {Value::kOnes, Value::kOnes, Value::kOnes, Value::kOnes};
#pragma unroll 4
    for (int unit = 0; unit < S::kUnits; ++unit) {
      float start[S::kTokenTiles][4] = {};
#pragma unroll
      for (int column = 0; column < kUnit; column += 32) {
        u32 b[S::kTokenTiles][4];
        load_tokens(memory.tokens(warp) + 2 * (unit * kUnit + column), b);
#pragma unroll
        for (int j = 0; j < S::kTokenTiles; ++j) {
          MmaAmpere::mma16816(Value{}, start[j], ones, b[j][0], b[j][1]);
          MmaAmpere::mma16816(Value{}, start[j], ones, b[j][2], b[j][3]);
        }
      }
      if (g > 0) continue;
#pragma unroll
      for (int j = 0; j < S::kTokenTiles; ++j) {
        const float low = kIntZeros ? 1.0f : surplus_low(Config::kMiddleCode);
        const float high = kIntZeros ? 1.0f : surplus_high(Config::kMiddleCode);
        store_shared_16(start_of(unit, j), pack_floats(low * start[j][0], low * start[j][1],
                                                       high * start[j][0], high * start[j][1]));
      }
    }
    warp_barrier();
  }
  __device__ __forceinline__ u32 start_of(int unit, int j) const {
    return memory.tokens(warp) + S::kStartOffset + unit * S::kStartBytes + 64 * j + 16 * t;
  }
  // Less what decoding leaves too much in a weight with this zero point.
  static __device__ __forceinline__ float surplus_low(float zero) {
    return power_of_two<Config::kLowExponent>(-(zero + Config::kLowBias));
  }
  static __device__ __forceinline__ float surplus_high(float zero) {
    return power_of_two<Config::kHighExponent>(-(zero + Config::kHighBias));
  }

  __device__ __forceinline__ void begin_block(int block) {
#pragma unroll
    for (int j = 0; j < S::kTokenTiles; ++j)
#pragma unroll
      for (int v = 0; v < 4; ++v) sum[j][v] = 0.0f;
    if constexpr (kIntZeros && kChannel) {
      const u8* metadata = weights + Config::kChannelOffset + Config::kChannelZeroOffset;
      take_zeros(Lane::channel_int_zeros(metadata + static_cast<i64>(row_block(block)) *
                                                        Config::kChannelBytes));
    }
  }

  // A stage; `count` chunks of it or more exist.
  __device__ __forceinline__ void multiply(u32 stage, u32 tokens, int count) {
    if constexpr (!kPartial && !kFold) clear_parts();
#pragma unroll
    for (int c = 0; c < Config::kStageChunks; ++c) {
      if (!S::kEven && c > 0 && c >= count) break;
      multiply_chunk(stage + c * Config::kChunkBytes, tokens + c * S::kChunkK * 2);
    }
    if constexpr (!kPartial && !kFold) add_parts(1.0f, 1.0f);
  }

  __device__ __forceinline__ void multiply_chunk(u32 chunk, u32 tokens) {
    constexpr int kTiles = Decode::kTiles;
    u32 words[Config::kBits];     // of 64 columns
    u32 b[2][S::kTokenTiles][4];  // of 64 columns
#pragma unroll
    for (int first = 0; first < 8; first += kTiles) {
      if (first % 4 == 0) {
        Lane::load_words(chunk, first / 4, words);
        load_tokens(tokens + 32 * first, b[0]);
        load_tokens(tokens + 32 * first + 64, b[1]);
      }
      u32 a[kTiles][4];
#pragma unroll
      for (int i = 0; i < kTiles; ++i) {
        const int tile = first + i;
        const int column = 16 * tile;
        const bool begins = column % kUnit == 0;
        if (begins) begin_unit(chunk, tokens, column);
        // Another group has other zero points: what follows is decoded with them.
        if (i == 0 || begins) {
          Decode::unit(words, first % 4 / kTiles, zeros, a);
        }
        if constexpr (Config::kScaleMode == ScaleMode::kWeight) Lane::scale_weights(scales, a[i]);
#pragma unroll
        for (int j = 0; j < S::kTokenTiles; ++j) {
          const u32(&pair)[4] = b[tile % 4 / 2][j];
          MmaAmpere::mma16816(Value{}, part[j][tile % kTurns], a[i], pair[tile % 2 * 2],
                              pair[tile % 2 * 2 + 1]);
        }
        if ((column + 16) % kUnit == 0) end_unit(chunk, column);
      }
    }
  }

  __device__ __forceinline__ void begin_unit(u32 chunk, u32 tokens, int column) {
    if constexpr (kIntZeros && !kChannel) take_zeros(Lane::int_zeros(chunk, column));
    if constexpr (Config::kScaleMode == ScaleMode::kWeight) {
      scales = Lane::weight_scales(chunk, column);
    }
    if constexpr (kFold) {
      start_parts((tokens - memory.tokens(warp)) / 256 * (S::kChunkK / kUnit) + column / kUnit);
    } else if constexpr (kPartial) {
      clear_parts();
    }
  }
  // Zero points of rows g and g + 8, next to each other in the low half.
  __device__ __forceinline__ void take_zeros(u32 fields) {
    if constexpr (kFold) {
      constexpr u32 kMask = (1u << Config::kBits) - 1;
      constexpr u32 kFlip = Config::kSigned ? Config::kMiddleCode : 0;
      low_start = surplus_low(small_to_float((fields & kMask) ^ kFlip));
      high_start = surplus_high(small_to_float((fields >> Config::kBits & kMask) ^ kFlip));
    } else {
      Decode::zeros(fields, zeros);
    }
  }

  // The parts begin with what makes good for the bias of each weight of the unit.
  __device__ __forceinline__ void start_parts(int unit) {
#pragma unroll
    for (int j = 0; j < S::kTokenTiles; ++j) {
      const u32x4 start = load_shared_16(start_of(unit, j));
      const float of[4] = {float_from_bits(start.x), float_from_bits(start.y),
                           float_from_bits(start.z), float_from_bits(start.w)};
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        part[j][0][v] = kIntZeros ? (v < 2 ? low_start : high_start) * of[v] : of[v];
        if (kTurns == 2) part[j][kTurns - 1][v] = 0.0f;
      }
    }
  }

  __device__ __forceinline__ void end_unit(u32 chunk, int column) {
    if constexpr (!kPartial) {
      if constexpr (kFold) add_parts(1.0f, 1.0f);
      return;
    }
    const RowPair scale = Lane::scales(chunk, column);
    add_parts(power_of_two<Config::kResultExponent>(scale.low),
              power_of_two<Config::kResultExponent>(scale.high));
  }

  __device__ __forceinline__ void clear_parts() {
#pragma unroll
    for (int j = 0; j < S::kTokenTiles; ++j)
#pragma unroll
      for (int turn = 0; turn < kTurns; ++turn)
#pragma unroll
        for (int v = 0; v < 4; ++v) part[j][turn][v] = 0.0f;
  }
  __device__ __forceinline__ void add_parts(float low, float high) {
#pragma unroll
    for (int j = 0; j < S::kTokenTiles; ++j) {
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        const float all = kTurns == 2 ? part[j][0][v] + part[j][kTurns - 1][v] : part[j][0][v];
        sum[j][v] += (v < 2 ? low : high) * all;
      }
    }
  }
};

}  // namespace heddle
