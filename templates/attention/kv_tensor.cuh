// K and V: how their codes and scales lie in the cache and, as tiles of kAttentionTile tokens, in
// shared memory.
#pragma once

#include "attention/codes.cuh"
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

// K or V. Of the configuration it reads k or v, heads.kv, pages and has_large_heads().
template <class Config, bool kIsKey>
struct KvTensorShape {
  static constexpr AttentionTensorConfig kTensor = kIsKey ? Config::value.k : Config::value.v;
  static constexpr KvPages kPages = Config::value.pages;
  static constexpr int kKvHeads = Config::value.heads.kv;
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

  // A lane reads a row of K in vectors: the largest that the four lanes of a row can share inside
  // of a group of scales. Large heads have no registers for vectors of 16 bytes. ldmatrix reads V,
  // 16 bytes at a time.
  static __device__ constexpr bool vector_fits(int bytes) {
    return kRowBytes / kGroups % (4 * bytes) == 0 &&
           (!Config::value.has_large_heads() || bytes < 16);
  }
  static constexpr int kVectorBytes = !kIsKey || vector_fits(16) ? 16 : vector_fits(8) ? 8 : 4;
  static_assert(!kIsKey || vector_fits(kVectorBytes), "four lanes read a group of a row");

  // The permutation of chunks is an exclusive or, so those of disjoint bits of a token add up.
  static constexpr int kChunks = kTensor.chunks();
  static constexpr bool kSwizzled = kTensor.is_swizzled();
  static constexpr int kStride = kTensor.row_chunks();
  static __device__ __forceinline__ constexpr u32 swizzle(u32 token) {
    if (!kSwizzled) return 0;
    const u32 tokens_per_128 = kChunks < 8 ? 8 / kChunks : 1;
    const u32 mask = (kChunks < 8 ? kChunks : 8) - 1;
    const u32 step = kIsKey ? kVectorBytes / 4 : 1;
    return (token / tokens_per_128 * step) & mask;
  }
  // The byte in a tile of a token's chunk.
  static __device__ __forceinline__ u32 tile_offset(u32 token, u32 chunk) {
    return (token * kStride + (chunk ^ swizzle(token))) * 16;
  }
  // Chunk `chunk` of a row whose chunk 0 is at `first`. Tiles begin at multiples of 128 bytes.
  static __device__ __forceinline__ u32 chunk_offset(u32 first, u32 chunk) {
    return kSwizzled ? (first ^ (16 * (chunk & 7))) + 16 * (chunk & ~7u) : first + 16 * chunk;
  }
  // The first of the vectors that lane 4g + t reads of row g, and the i-th of that row. Those of
  // row g + 8 are 8 * kStride chunks further.
  static __device__ __forceinline__ u32 first_vector(u32 g, u32 t) {
    return tile_offset(g, t * kVectorBytes / 16) + t * kVectorBytes % 16;
  }
  static __device__ __forceinline__ u32 vector_offset(u32 first, u32 i) {
    return kSwizzled ? first ^ (4 * i * kVectorBytes) : first + 4 * i * kVectorBytes;
  }

  // An entry: the scales of a token and a head, each with its zero point behind it.
  static constexpr int kScaleBytes = Scale::kBytes * (kZeros ? 2 : 1);
  // With scales per channel an entry is that of a block of tokens, in which a tile lies.
  static constexpr int kBlockTokens = kScalesQuery ? kTensor.group_size : 1;
  static_assert(!kScalesQuery || (kIsKey && kBlockTokens % kTile == 0 &&
                                  (!kPages.paged || kPages.page_size % kBlockTokens == 0)),
                "a tile lies in one block, and that in one page");
  static constexpr int kEntryBytes = kTensor.entry_bytes;
  static_assert(kEntryBytes ==
                    (kStoredScales ? (kScalesQuery ? kHeadDim : kScales) * kScaleBytes : 0),
                "a token's scales");
  // The first token of the residual window, which holds K's last tokens in 16 bits.
  static __device__ __forceinline__ int residual_begin(int length) {
    return kScalesQuery ? length / kBlockTokens * kBlockTokens : length;
  }
  // Entries of two bytes are copied in words of two entries: kPairs, of neighbouring tokens; else
  // of neighbouring heads.
  static constexpr bool kPairs = kTensor.has_pairs();
  static constexpr int kEntryStride = kTensor.entry_stride();
  static_assert(kEntryBytes != 2 || !kPages.paged ||
                    (kTensor.by_token ? kPages.page_size % 2 == 0 : kKvHeads % 2 == 0),
                "an entry's place in its word is known");
  // Four scales of a token are loaded at once.
  static constexpr bool kFourScales = kScalesSums && !kZeros && Scale::kBytes == 2 && kScales == 4;

  // Bytes from the beginning of the cache to the codes, and to the entry, of a head's token `row`
  // of a page of `tokens` tokens.
  static __device__ __forceinline__ i64 code_offset(u32 page, int head, int row, int tokens) {
    return index(page, head, row, tokens) * kRowBytes;
  }
  static __device__ __forceinline__ i64 entry_offset(u32 page, int head, int row, int tokens) {
    if constexpr (kGranularity == KvGranularity::kToken)
      return (static_cast<i64>(page) * tokens + row) * kEntryBytes;
    return index(page, head, row / kBlockTokens, tokens / kBlockTokens) * kEntryBytes;
  }
  // Rows from a token of a head to its next one.
  static constexpr int kTokenStep = kPages.nhd ? kKvHeads : 1;

 private:
  static __device__ __forceinline__ i64 index(u32 page, int head, int row, int tokens) {
    return static_cast<i64>(page) * (tokens * kKvHeads) +
           (kPages.nhd ? row * kKvHeads + head : head * tokens + row);
  }
};

}  // namespace heddle
