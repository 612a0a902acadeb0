// Constants that follow from the Config of an attention kernel.
//
// Rows are the queries that share a head of K and V: row r is query
// r / kGroup of head r % kGroup of these.
#pragma once

#include "attention/codes.cuh"
#include "attention/parameters.h"
#include "primitives/memory.cuh"

namespace heddle {

// Stored scales and zero points.
struct ScaleFloat {
  static constexpr int kBytes = 4;
  static __device__ __forceinline__ float load_shared(u32 address) {
    return float_from_bits(load_shared_4(address));
  }
};
template <class Value>
struct ScaleHalf {
  static constexpr int kBytes = 2;
  static __device__ __forceinline__ float load_shared(u32 address) {
    return Value::low_to_float(load_shared_2(address));
  }
  // The i-th of four that load_shared_8() has loaded at once.
  static __device__ __forceinline__ float of_four(u64 four, int i) {
    const u32 pair = static_cast<u32>(i < 2 ? four : four >> 32);
    return i % 2 == 0 ? Value::low_to_float(pair) : Value::high_to_float(pair);
  }
};
// Multiplies codes as they are decoded: see ScaleUse::kCodes.
struct ScaleE4m3 {
  static constexpr int kBytes = 1;
};

template <ScaleType kType>
struct StoredScale;
template <>
struct StoredScale<ScaleType::kFp32> {
  using Type = ScaleFloat;
};
template <>
struct StoredScale<ScaleType::kFp16> {
  using Type = ScaleHalf<Fp16>;
};
template <>
struct StoredScale<ScaleType::kBf16> {
  using Type = ScaleHalf<Bf16>;
};
template <>
struct StoredScale<ScaleType::kE4m3> {
  using Type = ScaleE4m3;
};

// K or V: how a tile of it lies in memory and in shared memory.
// kPieceBytes: what a lane reads of a row at once, 16 for V, where ldmatrix does.
template <class Config, bool kIsKey>
struct KvTensorShape {
  static constexpr AttentionTensorConfig kTensor = kIsKey ? Config::value.k : Config::value.v;
  using Codes = KvCodes<kTensor.code, typename Config::Value>;
  using Scale = typename StoredScale<kTensor.scale_type>::Type;
  static constexpr KvGranularity kGranularity = kTensor.granularity;
  static constexpr bool kZeros = kTensor.zeros;
  static constexpr int kTile = kAttentionTile;
  static constexpr ScaleUse kScaleUse = kTensor.scale_use();
  static constexpr bool kScalesCodes = kScaleUse == ScaleUse::kCodes;
  static constexpr bool kScalesSums = kScaleUse == ScaleUse::kSums;
  static constexpr bool kScalesQuery = kScaleUse == ScaleUse::kQuery;
  static constexpr bool kStoredScales = kScaleUse != ScaleUse::kNothing;
  static constexpr bool kGivenScale = kScalesCodes || kGranularity == KvGranularity::kTensor;

  static constexpr int kHeadDim = kTensor.head_dim;
  static constexpr int kRowBytes = kTensor.row_bytes;
  static constexpr int kScales = kTensor.scales;
  static constexpr int kGroups = kTensor.groups();
  static_assert(kRowBytes == kHeadDim * Codes::kBits / 8, "a row of codes");
  static_assert(kRowBytes % 16 == 0, "rows are copied in 16-byte chunks");

  // The largest piece that the four lanes of a row can share, inside of a group. Large heads have
  // no registers for large pieces.
  static __device__ constexpr bool piece_fits(int bytes) {
    return kRowBytes / kGroups % (4 * bytes) == 0 &&
           (!Config::value.has_large_heads() || bytes < 16);
  }
  static constexpr int kPieceBytes = !kIsKey || piece_fits(16) ? 16 : piece_fits(8) ? 8 : 4;
  static_assert(!kIsKey || piece_fits(kPieceBytes), "four lanes read a group of a row");

  // The permutation of chunks is an exclusive or, so those of disjoint bits of a token add up.
  static constexpr int kChunks = kTensor.chunks();
  static constexpr bool kSwizzled = kTensor.is_swizzled();
  static constexpr int kStride = kTensor.row_chunks();
  static __device__ __forceinline__ constexpr u32 swizzle(u32 token) {
    if (!kSwizzled) return 0;
    const u32 tokens_per_128 = kChunks < 8 ? 8 / kChunks : 1;
    const u32 mask = (kChunks < 8 ? kChunks : 8) - 1;
    const u32 step = kIsKey ? kPieceBytes / 4 : 1;
    return (token / tokens_per_128 * step) & mask;
  }
  static __device__ __forceinline__ u32 place(u32 token, u32 chunk) {
    return (token * kStride + (chunk ^ swizzle(token))) * 16;
  }
  // Chunk `chunk` of a row, from its chunk 0. Tiles begin at multiples of 128 bytes.
  static __device__ __forceinline__ u32 chunk_place(u32 first, u32 chunk) {
    return kSwizzled ? (first ^ (16 * (chunk & 7))) + 16 * (chunk & ~7u) : first + 16 * chunk;
  }
  // The first of the pieces that lane 4g + t reads of row g, and the others of that row. Those of
  // row g + 8 are 8 rows further, wherever that is.
  static __device__ __forceinline__ u32 first_piece(u32 g, u32 t) {
    return place(g, t * kPieceBytes / 16) + t * kPieceBytes % 16;
  }
  static __device__ __forceinline__ u32 piece_place(u32 first, u32 piece) {
    return kSwizzled ? first ^ (4 * piece * kPieceBytes) : first + 4 * piece * kPieceBytes;
  }

  // A token's scales, each with its zero point behind it.
  static constexpr int kScaleBytes = Scale::kBytes * (kZeros ? 2 : 1);
  // With scales per channel the entry is that of a block of tokens, and so of a tile.
  static constexpr int kBlockTokens = kScalesQuery ? kTensor.group_size : 1;
  static_assert(!kScalesQuery || (kIsKey && kBlockTokens % kTile == 0 &&
                                  (!Config::value.pages.paged ||
                                   Config::value.pages.page_size % kBlockTokens == 0)),
                "a tile lies in one block, and that in one page");
  static constexpr int kEntryBytes = kTensor.entry_bytes;
  static_assert(kEntryBytes ==
                    (kStoredScales ? (kScalesQuery ? kHeadDim : kScales) * kScaleBytes : 0),
                "a token's scales");
  // Tokens from here on are in the residual window.
  static __device__ __forceinline__ int window_begin(int length) {
    return kScalesQuery ? length / kBlockTokens * kBlockTokens : length;
  }
  static constexpr bool kPairs = kTensor.has_pairs();
  static constexpr int kEntryStride = kTensor.entry_stride();
  static_assert(kEntryBytes != 2 || !Config::value.pages.paged ||
                    (kTensor.by_token ? Config::value.pages.page_size % 2 == 0
                                      : Config::value.heads.kv % 2 == 0),
                "an entry's place in its word is known");
  // Four scales of a token are loaded at once.
  static constexpr bool kFourScales = kScalesSums && !kZeros && Scale::kBytes == 2 && kScales == 4;

  // Places in memory: tokens of a page, heads of a page, pages. `tokens`: of a page.
  static __device__ __forceinline__ i64 code_offset(u32 page, int head, int row, int tokens) {
    const i64 rows = static_cast<i64>(page) * (tokens * Config::value.heads.kv);
    return (rows +
            (Config::value.pages.nhd ? row * Config::value.heads.kv + head : head * tokens + row)) *
           kRowBytes;
  }
  static constexpr int kTokenStep =
      Config::value.pages.nhd ? Config::value.heads.kv : 1;  // in rows
  static __device__ __forceinline__ i64 entry_offset(u32 page, int head, int row, int tokens) {
    if constexpr (kGranularity == KvGranularity::kToken)
      return (static_cast<i64>(page) * tokens + row) * kEntryBytes;
    row /= kBlockTokens, tokens /= kBlockTokens;
    const i64 rows = static_cast<i64>(page) * (tokens * Config::value.heads.kv);
    return (rows +
            (Config::value.pages.nhd ? row * Config::value.heads.kv + head : head * tokens + row)) *
           kEntryBytes;
  }
};

template <class Config>
struct AttentionShape {
  static constexpr int kTile = kAttentionTile;
  using Key = KvTensorShape<Config, true>;
  using Val = KvTensorShape<Config, false>;

  static constexpr int kThreads = Config::value.threads();
  // Whether a tile lies in one page.
  static constexpr bool kOnePage =
      !Config::value.pages.paged || Config::value.pages.page_size % kTile == 0;
  static constexpr int kGroup = Config::value.heads.group();
  static constexpr int kRows = Config::value.rows();
  static constexpr int kRowTiles = Config::value.row_tiles;  // of kQueryTile rows, per block
  static constexpr int kBlockRows = Config::value.block_rows();
  static constexpr int kRowParts = Config::value.row_parts();
  // Heads of work: each head of K and V once for every part of its rows.
  static constexpr int kWorkHeads = Config::value.heads.kv * kRowParts;

  // Where a row of the first head of K and V is among a sequence's queries, [query_len][heads]. In
  // 32 bits on purpose, and so is what callers multiply it with: NVRTC 13.0 takes row % kGroup for
  // 32 bits without a sign in 64-bit arithmetic after it has subtracted a constant from it.
  static constexpr int kQueries = Config::value.query_len * Config::value.heads.query;
  static __device__ __forceinline__ int query_of_row(int row) {
    return row / kGroup * Config::value.heads.query + row % kGroup;
  }

  // Elements of a row of Q and K, and of a row of V and the output.
  static constexpr int kKeyDim = Key::kHeadDim;
  static constexpr int kValueDim = Val::kHeadDim;
  static constexpr int kResidualRowBytes = 2 * kKeyDim;
  static constexpr int kSteps = kKeyDim / 16;  // of Q K^T
  static constexpr int kDimTiles = kValueDim / 16;
  static_assert(kKeyDim % 16 == 0 && kValueDim % 16 == 0, "whole tiles of the tensor core");
  static_assert(Config::value.heads.value_rows == ValueRows::kOwn || kValueDim <= kKeyDim,
                "rows of V that are the first elements of K's lie in them");

  // What a lane has of a tile's logits, S^T in the accumulators of the tensor core: tokens g, g +
  // 8, g + 16 and g + 24, the octets, of the rows 2t and 2t + 1 of each tile of rows.
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

  // Places in shared memory.
  static constexpr int kTeamOffset = Config::value.team_offset();
  static constexpr int kTeamStatsOffset = Config::value.team_stats_offset();
  static constexpr int kTeamQuadsOffset = Config::value.team_quads_offset();
  static constexpr int kLengthsOffset = Config::value.lengths_offset();
  static constexpr int kStatsOffset = Config::value.stats_offset();
  static constexpr int kPlacesOffset = Config::value.places_offset();
  static constexpr int kShareOffset = Config::value.share_offset();
  static constexpr int kQueryOffset = Config::value.query_offset();
  static constexpr bool kQueryInShared = Config::value.has_large_heads();
  static constexpr int kQueryBytes = Config::value.query_bytes();
  static constexpr int kRingOffset = Config::value.ring_offset();
  // Places in a stage of a warp's ring.
  static constexpr int kSumStride = Config::value.sum_stride();
  static constexpr int kValueOffset = Config::value.values_offset();
  static constexpr int kKeyEntriesOffset = Config::value.key_entries_offset();
  static constexpr int kValueEntriesOffset = Config::value.value_entries_offset();
  static constexpr int kStageBytes = Config::value.stage_bytes();
  static constexpr int kRingBytes = Config::value.ring_bytes();
};

}  // namespace heddle
