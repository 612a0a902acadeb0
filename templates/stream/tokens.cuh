// The tokens of a warp's columns: copied to shared memory once, read as B fragments for every row
// block.
//
// Up to eight tokens of 16 bits, and up to 16 of eight bits, pass through registers: bulk copies
// would wait in line behind those of weights, this kernel's and the next one's, and asynchronous
// copies of 16 bytes start slowly. More tokens come by bulk copies, once for a cluster.
//
// Codes of FP8 can become FP16 on their way through registers, which saves a PRMT and two
// conversions in the loop for each eight tokens and 16 columns. It pays with one token; of more,
// lanes store 32 bytes each, which meet in their banks.
#pragma once

#include "primitives/bulk_copy.cuh"
#include "primitives/cluster.cuh"
#include "primitives/sync.cuh"
#include "stream/products.cuh"
#include "stream/shape.cuh"

namespace heddle {

template <class Config>
struct StreamTokens {
  using S = StreamShape<Config>;
  using Value = typename Config::Value;
  // Blocks of a cluster that have the same columns, each of which fetches a part for all.
  static constexpr int kSharers = Config::value.cluster / Config::value.split_k;

  StreamMemory<Config> memory;
  const u8* x;
  const u8* pre_scale;
  int m;
  int warp;
  int lane;

  // Starts it. Columns that do not exist are zero.
  __device__ __forceinline__ void copy(const Range& chunks) const {
    if constexpr (S::kBulkTokens) {
      copy_pieces(chunks);
    } else {
      copy_rows(chunks);
    }
  }

  // Waits for the tokens of a piece. Other lanes may read them after copy() and a warp_barrier().
  __device__ __forceinline__ void wait(int piece) const {
    if constexpr (S::kBulkTokens) mbarrier_wait(memory.token_barrier(warp, piece), 0);
  }
  // A warp that has no use for tokens waits for them, too: they must not come when the block has
  // gone.
  __device__ __forceinline__ void wait_for_all(const Range& chunks) const {
    for (int piece = 0; piece < S::kPieces; ++piece) {
      if (chunks.begin + piece * S::kPieceChunks < chunks.end) wait(piece);
    }
  }

  // Loads the fragments of 64 columns for each eight tokens, and multiplies each column by its
  // factor, if there are any. `tokens` is the address of the first column. A load has two tiles of
  // columns.
  static constexpr int kLoads = 32 / Config::Products::kTileColumns;
  using Fragments = u32[S::kTokenTiles][kLoads][4];
  __device__ __forceinline__ void load(u32 tokens, Fragments& b) const {
#pragma unroll
    for (int tile = 0; tile < S::kTokenTiles; ++tile) {
      if constexpr (Config::value.token_values == TokenValues::kFp8InLoop) {
        load_codes(tokens, tile, b[tile]);
      } else {
        load(tokens, tile, b[tile][0]);
        if constexpr (kLoads > 1) load(tokens + 64, tile, b[tile][1]);
      }
    }
  }

 private:
  // A row of tokens, or of the columns' factors: of a lane 16 bytes every 512.
  static constexpr int kXBytes = S::kXBytes;
  static constexpr int kVectors = kXBytes * S::kChunkK / 16;  // of a chunk
  static constexpr int kRowVectors = (kVectors * S::kMostChunks + 31) / 32;
  static constexpr int kAtOnce = 16;
  static constexpr int kRowsAtOnce = kRowVectors < kAtOnce ? kAtOnce / kRowVectors : 1;
  using RowVectors = u32x4[kRowVectors];

  __device__ __forceinline__ void copy_rows(const Range& chunks) const {
#pragma unroll
    for (int first = 0; first < S::kTokenRows; first += kRowsAtOnce) {
      RowVectors vectors[kRowsAtOnce];
#pragma unroll
      for (int i = 0; i < kRowsAtOnce; ++i) load_row(first + i, chunks, vectors[i]);
#pragma unroll
      for (int i = 0; i < kRowsAtOnce; ++i) store_row(first + i, chunks, vectors[i]);
    }
  }
  __device__ __forceinline__ void load_row(int row, const Range& chunks,
                                           RowVectors& vectors) const {
    const bool factors = Config::value.pre_scale && row == Config::value.tokens;
    const u8* from =
        factors ? pre_scale : x + kXBytes * static_cast<i64>(row) * Config::value.shape.k;
    const int end = S::kChunkK * chunks.end < Config::value.shape.k ? S::kChunkK * chunks.end
                                                                    : Config::value.shape.k;
#pragma unroll
    for (int i = 0; i < kRowVectors; ++i) {
      const int column = S::kChunkK * chunks.begin + 16 / kXBytes * (32 * i + lane);
      vectors[i] = {0, 0, 0, 0};
      if ((factors || row < m) && column < end) {
        vectors[i] = load_global_16_l2(from + kXBytes * column);
      }
    }
  }
  __device__ __forceinline__ void store_row(int row, const Range& chunks,
                                            const RowVectors& vectors) const {
    if (row >= S::kTokenRows) return;
    constexpr bool kWidens = Config::value.token_values == TokenValues::kFp8OnTheWay;
    constexpr int kBytes = kWidens ? 32 : 16;  // that a vector becomes
    const u32 to = memory.tokens(warp) + row * S::kTokenRowBytes + kBytes * lane;
#pragma unroll
    for (int i = 0; i < kRowVectors; ++i) {
      if (32 * i + lane < kVectors * (chunks.end - chunks.begin)) {
        if constexpr (kWidens) {
          store_codes(to + 32 * kBytes * i, vectors[i]);
        } else {
          store_shared_16(to + 32 * kBytes * i, vectors[i]);
        }
      }
    }
  }
  // 16 columns: ldmatrix gives a lane of the first eight values what meets a[0] and a[1].
  static __device__ __forceinline__ void store_codes(u32 to, const u32x4& codes) {
    u32x4 even, odd;
    Config::Products::widen(codes.x, even.x, odd.x);
    Config::Products::widen(codes.y, even.y, odd.y);
    Config::Products::widen(codes.z, even.z, odd.z);
    Config::Products::widen(codes.w, even.w, odd.w);
    store_shared_16(to, even);
    store_shared_16(to + 16, odd);
  }

  // Copies tokens by bulk copies, piece by piece.
  __device__ __forceinline__ void copy_pieces(const Range& chunks) const {
    const int end = S::kChunkK * chunks.end;
    if (end > Config::value.shape.k) {
      const int first = S::kChunkK * chunks.begin;
      clear_columns(Config::value.shape.k - first, end - first);
    }
#pragma unroll
    for (int piece = 0; piece < S::kPieces; ++piece) {
      const int begin = chunks.begin + piece * S::kPieceChunks;
      if (begin >= chunks.end) break;
      const int count = chunks.end - begin;
      const int columns = S::kChunkK * (count < S::kPieceChunks ? count : S::kPieceChunks);
      const int left = Config::value.shape.k - S::kChunkK * begin;
      copy_piece(piece, S::kChunkK * begin, columns < left ? columns : left);
    }
  }

  // 64 bytes of eight tokens.
  __device__ __forceinline__ void load(u32 tokens, int tile, u32 (&b)[4]) const {
    // Rows beyond the last token only make outputs that no one writes.
    const int row = lane & 7;
    ldmatrix_x4(b, tokens +
                       (8 * tile + (row < Config::value.tokens ? row : 0)) * S::kTokenRowBytes +
                       16 * (lane >> 3));
    if constexpr (Config::value.pre_scale) {
      const u32 factors = tokens + Config::value.tokens * S::kTokenRowBytes + 4 * (lane & 3);
#pragma unroll
      for (int i = 0; i < 4; ++i) b[i] = Value::mul2(b[i], load_shared_4(factors + 16 * i));
    }
  }

  // 64 columns of eight tokens, of codes that become FP16.
  __device__ __forceinline__ void load_codes(u32 tokens, int tile, u32 (&b)[kLoads][4]) const {
    u32 codes[4];
    load(tokens, tile, codes);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      Config::Products::widen(codes[i], b[i / 2][i % 2 * 2], b[i / 2][i % 2 * 2 + 1]);
    }
  }

  // `columns` of X from `first` on.
  __device__ __forceinline__ void copy_piece(int piece, int first, int columns) const {
    const int rows = m + (Config::value.pre_scale ? 1 : 0);
    const u32 barrier = memory.token_barrier(warp, piece);
    if (lane == 0) mbarrier_arrive_expect(barrier, kXBytes * rows * columns);
    warp_barrier();
    const u32 shared = memory.tokens(warp) + piece * 2 * S::kPieceChunks * S::kHalfTokenBytes;
    // A row is cut into parts where there are fewer rows than blocks.
    constexpr int kParts = S::kTokenRows >= kSharers ? 1 : kSharers;
    for (int i = lane; i < rows * kParts; i += 32) {
      if (kSharers > 1 && i % kSharers != static_cast<int>(cluster_rank())) continue;
      const int row = i / kParts;
      const Range part = part_of({0, columns / (16 / kXBytes)}, i % kParts, kParts);
      const u32 bytes = 16 * (part.end - part.begin);
      if (bytes == 0) continue;
      const bool factors = Config::value.pre_scale && row == m;
      const u8* source =
          factors ? pre_scale : x + kXBytes * static_cast<i64>(row) * Config::value.shape.k;
      const u32 to =
          shared + (factors ? Config::value.tokens : row) * S::kTokenRowBytes + 16 * part.begin;
      source += kXBytes * first + 16 * part.begin;
      if constexpr (kSharers > 1) {
        bulk_copy_to_all(to, source, bytes, barrier, (1u << Config::value.cluster) - 1);
      } else {
        bulk_copy(to, source, bytes, barrier);
      }
    }
  }

  __device__ __forceinline__ void clear_columns(int begin, int end) const {
    constexpr int kColumns = 16 / kXBytes;  // of a store
    const int units = (end - begin) / kColumns;
    for (int i = lane; i < S::kTokenRows * units; i += 32) {
      store_shared_16(memory.tokens(warp) + i / units * S::kTokenRowBytes +
                          kXBytes * (begin + kColumns * (i % units)),
                      {0, 0, 0, 0});
    }
  }
};

}  // namespace heddle
