// Constants that follow from the Config of decode_attention.
//
// A warp takes kTile tokens of one sequence and head at a time: their K, V and scales are a stage
// of its ring in shared memory. Rows are the queries that share a head of K and V: row r is query
// r / kGroup of head r % kGroup of these.
#pragma once

#include "attention/kv_codes.cuh"
#include "kv/granularity.cuh"
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
// Multiplies codes as they are decoded: see KvTensorShape::kScaledCodes.
struct ScaleE4m3 {
  static constexpr int kBytes = 1;
};

// K or V: how a tile of it lies in memory and in shared memory.
// kPieceBytes: what a lane reads of a row at once, 16 for V, where ldmatrix does.
template <class Config, KvCode kCode, KvGranularity kScaledBy, int kGroupSize, bool kZeroPoints,
          class ScaleT, class Value, bool kIsKey>
struct KvTensorShape {
  using Codes = KvCodes<kCode, Value>;
  using Scale = ScaleT;
  static constexpr KvGranularity kGranularity = kScaledBy;
  static constexpr bool kZeros = kZeroPoints;
  static constexpr int kTile = 32;
  // Scales of e2m1 multiply the codes, exactly, and their factor is the tensor's scale. Others
  // multiply sums or P, of which there is one for each group.
  static constexpr bool kScaledCodes = kCode == KvCode::kE2m1;
  static constexpr bool kGivenScale = kScaledCodes || kGranularity == KvGranularity::kTensor;

  static constexpr int kRowBytes = Config::kHeadDim * Codes::kBits / 8;
  static constexpr int kScales =
      kGranularity == KvGranularity::kGroup ? Config::kHeadDim / kGroupSize : 1;
  static constexpr int kGroups = kScaledCodes ? 1 : kScales;
  static_assert(kRowBytes % 16 == 0, "rows are copied in 16-byte chunks");

  // The largest piece that the four lanes of a row can share, inside of a group. Large heads have
  // no registers for large pieces.
  static __device__ constexpr bool piece_fits(int bytes) {
    return kRowBytes / kGroups % (4 * bytes) == 0 && (Config::kHeadDim <= 192 || bytes < 16);
  }
  static constexpr int kPieceBytes = !kIsKey || piece_fits(16) ? 16 : piece_fits(8) ? 8 : 4;
  static_assert(!kIsKey || piece_fits(kPieceBytes), "four lanes read a group of a row");

  // Chunks of 16 bytes are permuted by the token, or rows padded, against bank conflicts. The
  // permutation is an exclusive or, so those of disjoint bits of a token add up.
  static constexpr int kChunks = kRowBytes / 16;
  static constexpr bool kSwizzled = (kChunks & (kChunks - 1)) == 0;
  static constexpr int kStride = kSwizzled ? kChunks : kChunks | 1;
  static constexpr int kCodeBytes = kTile * kStride * 16;
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
  static constexpr bool kStoredScales =
      kGranularity != KvGranularity::kNone && kGranularity != KvGranularity::kTensor;
  static constexpr int kScaleBytes = Scale::kBytes * (kZeros ? 2 : 1);
  // With scales per channel the entry is that of a block of tokens, and so of a tile.
  static constexpr bool kPerChannel = kGranularity == KvGranularity::kChannel;
  static constexpr bool kGroupFactors = kStoredScales && !kScaledCodes && !kPerChannel;
  static constexpr int kBlockTokens = kPerChannel ? kGroupSize : 1;
  static_assert(!kPerChannel || (kIsKey && kBlockTokens % kTile == 0 &&
                                 (!Config::kPaged || Config::kPageSize % kBlockTokens == 0)),
                "a tile lies in one block, and that in one page");
  static constexpr int kEntryBytes =
      kStoredScales ? (kPerChannel ? Config::kHeadDim : kScales) * kScaleBytes : 0;
  // Tokens from here on are in the residual window.
  static __device__ __forceinline__ int window_begin(int length) {
    return kPerChannel ? length / kBlockTokens * kBlockTokens : length;
  }
  // Entries of two bytes come in words of two entries: of neighbouring tokens (kPairs), or of
  // neighbouring heads.
  static constexpr bool kByToken =
      kGranularity == KvGranularity::kToken || !Config::kNhd || Config::kKvHeads == 1;
  static constexpr bool kPairs = kEntryBytes == 2 && kByToken;
  static constexpr int kEntryStride = kPairs ? 2 : kEntryBytes == 2 ? 4 : kEntryBytes;
  static_assert(kEntryBytes != 2 || !Config::kPaged ||
                    (kByToken ? Config::kPageSize % 2 == 0 : Config::kKvHeads % 2 == 0),
                "an entry's place in its word is known");
  // Four scales of a token are loaded at once.
  static constexpr bool kFourScales =
      kGroupFactors && !kZeros && Scale::kBytes == 2 && kScales == 4;
  static constexpr int kEntriesBytes = kPerChannel ? kEntryBytes : kTile * kEntryStride;

  // Places in memory: tokens of a page, heads of a page, pages. `tokens`: of a page.
  static __device__ __forceinline__ i64 code_offset(u32 page, int head, int row, int tokens) {
    const i64 rows = static_cast<i64>(page) * (tokens * Config::kKvHeads);
    return (rows + (Config::kNhd ? row * Config::kKvHeads + head : head * tokens + row)) *
           kRowBytes;
  }
  static constexpr int kTokenStep = Config::kNhd ? Config::kKvHeads : 1;  // in rows
  static __device__ __forceinline__ i64 entry_offset(u32 page, int head, int row, int tokens) {
    if constexpr (kGranularity == KvGranularity::kToken)
      return (static_cast<i64>(page) * tokens + row) * kEntryBytes;
    row /= kBlockTokens, tokens /= kBlockTokens;
    const i64 rows = static_cast<i64>(page) * (tokens * Config::kKvHeads);
    return (rows + (Config::kNhd ? row * Config::kKvHeads + head : head * tokens + row)) *
           kEntryBytes;
  }
};

template <class Config>
struct AttentionShape {
  static constexpr int kTile = 32;
  using Key =
      KvTensorShape<Config, Config::kKeyCode, Config::kKeyGranularity, Config::kKeyGroup,
                    Config::kKeyZeros, typename Config::KeyScaleType, typename Config::Value, true>;
  using Val = KvTensorShape<Config, Config::kValueCode, Config::kValueGranularity,
                            Config::kValueGroup, Config::kValueZeros,
                            typename Config::ValueScaleType, typename Config::Value, false>;

  static constexpr int kThreads = 32 * Config::kWarps;
  // Whether a tile lies in one page.
  static constexpr bool kOnePage = !Config::kPaged || Config::kPageSize % kTile == 0;
  static constexpr int kGroup = Config::kHeads / Config::kKvHeads;
  static constexpr int kRows = kGroup * Config::kQueryLen;
  static constexpr int kRowTiles = Config::kRowTiles;  // of 8 rows, per block
  static constexpr int kBlockRows = 8 * kRowTiles;
  static constexpr int kRowParts = (kRows + kBlockRows - 1) / kBlockRows;
  // Heads of work: each head of K and V once for every part of its rows.
  static constexpr int kWorkHeads = Config::kKvHeads * kRowParts;

  // Where a row of the first head of K and V is among a sequence's queries, [query_len][heads]. In
  // 32 bits on purpose, and so is what callers multiply it with: NVRTC 13.0 takes row % kGroup for
  // 32 bits without a sign in 64-bit arithmetic after it has subtracted a constant from it.
  static constexpr int kQueries = Config::kQueryLen * Config::kHeads;
  static __device__ __forceinline__ int query_of_row(int row) {
    return row / kGroup * Config::kHeads + row % kGroup;
  }

  static constexpr int kResidualRowBytes = 2 * Config::kHeadDim;
  static constexpr int kSteps = Config::kHeadDim / 16;  // of Q K^T
  static constexpr int kDimTiles = Config::kHeadDim / 16;
  static_assert(Config::kHeadDim % 16 == 0, "whole tiles of the tensor core");

  // Shared memory: which tiles each sequence has among all, lengths if a window hides tiles, each
  // warp's references and sums and where its output is, how many tiles a team takes, rings.
  static constexpr int kEndsBytes = (4 * (Config::kMaxSequences + 1) + 15) / 16 * 16;
  // What blocks of a team send to each other of eight rows, where the table has no sequences, of
  // which a launch with teams has few: an mbarrier and how often it was used; of each row and block
  // its reference and sum; of each block its share of the outputs, in quads.
  static constexpr int kTeamOffset = (4 * (Config::kMostTeamSequences + 1) + 15) / 16 * 16;
  static constexpr int kTeamStatsOffset = kTeamOffset + 16;
  static constexpr int kTeamQuadsOffset = kTeamStatsOffset + 16 * 8 * Config::kMostTeam;
  static constexpr int kTeamEnd =
      kTeamQuadsOffset + 16 * (8 * Config::kHeadDim / 4 + 4 * (Config::kMostTeam - 1));
  static constexpr int kLengthsOffset =
      Config::kMostTeam > 1 && kTeamEnd > kEndsBytes ? kTeamEnd : kEndsBytes;
  static constexpr int kLengthsBytes = Config::kWindow > 0
                                           ? (4 * Config::kMaxSequences + 15) / 16 * 16
                                           : 0;
  static constexpr int kStatsOffset = kLengthsOffset + kLengthsBytes;
  static constexpr int kPlacesOffset = kStatsOffset + 8 * Config::kWarps * kBlockRows;
  static constexpr int kShareOffset = kPlacesOffset + 4 * (Config::kWarps + 1);
  static constexpr int kQueryOffset = (kShareOffset + 4 + 127) / 128 * 128;
  // Of large heads Q is there, too: registers hold the output.
  static constexpr bool kQueryInShared = Config::kHeadDim > 192;
  // With scales of K per channel there is its product with those beside it.
  static constexpr int kQueryBytes =
      kQueryInShared ? 16 * kRowTiles * Config::kHeadDim * (Key::kPerChannel ? 2 : 1) : 0;
  static constexpr int kRingOffset = kQueryOffset + Config::kWarps * kQueryBytes;
  // A warp's output goes where a stage was, eight rows at a time.
  static constexpr int kSumStride = Config::kHeadDim + 4;
  static constexpr int kSumBytes = 4 * 8 * kSumStride;
  static constexpr int kValueOffset = Key::kCodeBytes;
  static constexpr int kKeyEntriesOffset = kValueOffset + Val::kCodeBytes;
  static constexpr int kValueEntriesOffset = kKeyEntriesOffset + Key::kEntriesBytes;
  static constexpr int kTileBytes = kValueEntriesOffset + Val::kEntriesBytes;
  static constexpr int kStageBytes =
      ((kTileBytes > kSumBytes ? kTileBytes : kSumBytes) + 127) / 128 * 128;
  static constexpr int kRingBytes = Config::kStages * kStageBytes;
  static_assert(Config::kSharedBytes >= kRingOffset + Config::kWarps * kRingBytes,
                "the launch gives this much shared memory");
};

// What a launch is given; the runtime has the same struct.
struct AttentionArguments {
  const u8* q;  // [sequences][query_len][heads][head_dim]
  const u8* k;
  const u8* v;
  const u8* k_scales;
  const u8* v_scales;
  const float* k_given;  // scale of the tensor and, behind it, its zero point
  const float* v_given;
  const int* block_table;  // [sequences][table_width]
  const int* lengths;      // [sequences]
  const float* slopes;     // [heads]
  const float* sinks;      // [heads]
  u8* out;                 // as q
  float* log_sums;         // [sequences][query_len][heads]
  u8* workspace;
  const u8* k_residual;       // [slots][kv_heads][tokens of a block][head_dim] as q
  const int* residual_slots;  // [sequences]; null: each sequence's number
  int sequences;
  int table_width;  // pages of a sequence; without pages: 1
  int pages;        // of the cache; without pages: sequences
  int capacity;     // tokens of a sequence; without pages: of a page
  int residual_slot_count;
  int unused;
};

}  // namespace heddle
