// The tensors of a key-value cache: how many bytes each has, and where everything lies in them.
//
// docs/kv-caches-and-attention.md describes the bytes. All functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/export.h"
#include "heddle/kv_spec.h"

namespace heddle {

// Bits of one code; 16 for 16-bit values.
HEDDLE_EXPORT int kv_bits(KvDtype dtype) noexcept;

// K or V: a tensor of codes and one of scales. A row is what one head of one token has of either.
// Codes are packed from the lowest bit on; scales are in the order of the groups, a zero point
// behind its scale.
//
// Both are [pages][heads][page tokens][row] in the order hnd, [pages][page tokens][heads][row] in
// nhd; a contiguous cache has a page for each sequence. With scales per token one row of scales is
// for all heads: [pages][page tokens]. With scales per channel a block of scale_tokens tokens has
// one: [pages][heads][page tokens / scale_tokens][row].
struct HEDDLE_EXPORT KvTensorLayout {
  KvOrder order = KvOrder::kHnd;
  int heads = 0;
  int row_bytes = 0;        // of codes
  int scale_heads = 0;      // heads that have a row of scales: all, or 1 with scales per token
  int scale_row_bytes = 0;  // 0: no scales are stored
  int scales_of_row = 0;    // scales in it: 1, the groups of a head, or its elements
  int scale_tokens = 1;     // neighbouring tokens that share a row of scales; a page has whole runs
  // Bytes of the residual window, where tokens wait until their block is full; 0: there is none.
  int residual_row_bytes = 0;

  // Bytes of a whole tensor; SIZE_MAX where so many have no number.
  std::size_t code_bytes(std::int64_t pages, std::int64_t page_tokens) const noexcept;
  std::size_t scale_bytes(std::int64_t pages, std::int64_t page_tokens) const noexcept;
  // Where the row of a token (its place in the page) and head begins.
  std::size_t code_offset(std::int64_t page, std::int64_t page_tokens, std::int64_t token,
                          int head) const noexcept;
  std::size_t scale_offset(std::int64_t page, std::int64_t page_tokens, std::int64_t token,
                           int head) const noexcept;
  // The residual window: [slots][heads][scale_tokens][head_dim] of the activation's type.
  std::size_t residual_bytes(std::int64_t slots) const noexcept;
  std::size_t residual_offset(std::int64_t slot, std::int64_t position, int head) const noexcept;
};

struct KvCacheLayout {
  KvTensorLayout k;
  KvTensorLayout v;
};

// Precondition: a complete block, as Spec::kv() has it.
HEDDLE_EXPORT KvCacheLayout kv_cache_layout(const KvSpec& kv, int kv_heads, int head_dim) noexcept;

// Bytes of one token in K and V; of scales that a block shares its part, rounded up.
struct KvTokenBytes {
  std::size_t codes = 0;
  std::size_t scales = 0;
};
HEDDLE_EXPORT KvTokenBytes kv_token_bytes(const KvCacheLayout& layout) noexcept;

// Given for all of K, or of V: with the granularity tensor the scale and, where it is not
// symmetric, the zero point in units of codes; with NVFP4 the factor of the groups' scales.
struct KvGivenScale {
  float scale = 1;
  float zero = 0;
};

// Rows of codes, and of scales, one after the other: what KvTensorLayout says of them. Of one
// token, or of a block of them where these share scales.
struct KvToken {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
};

// Tokens that are quantised together: group_size with scales per channel, else one.
HEDDLE_EXPORT int kv_block_tokens(const KvTensor& tensor) noexcept;

// K or V to the bits that kv_append writes, in FP32 arithmetic on the host, and back. `values`:
// [kv_block_tokens()][heads][head_dim]. Precondition: `tensor` is complete, as Spec::kv() has it.
// With scales per channel kv_append rounds K to the activation's type before; this does not.
HEDDLE_EXPORT KvToken quantize_kv(const KvTensor& tensor, int heads, int head_dim,
                                  const float* values, const KvGivenScale& given = {});
// What the codes stand for; a product with the scale is rounded once, to FP32.
HEDDLE_EXPORT std::vector<float> dequantize_kv(const KvTensor& tensor, int heads, int head_dim,
                                               const KvToken& token,
                                               const KvGivenScale& given = {});

}  // namespace heddle
