// Quantising K and V on the host, with the bits that "op": "kv_append" writes, and back.
//
// docs/kv-caches-and-attention.md defines the arithmetic, all of it FP32. Pure functions, from any
// thread.
#ifndef HEDDLE_INSPECT_KV_CODEC_H_
#define HEDDLE_INSPECT_KV_CODEC_H_

#include <cstdint>
#include <vector>

#include "heddle/export.h"
#include "heddle/kv_spec.h"

namespace heddle {

// What the caller gives for all of K, or of V: with the granularity tensor the scale and, where it
// is not symmetric, the zero point in units of codes; with NVFP4 the factor of the groups' scales.
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

// `values`: [kv_block_tokens()][heads][head_dim]. Precondition of both: `tensor` is complete, as
// Spec::kv() has it. A 16-bit type rounds to nearest even. With scales per channel kv_append rounds
// K to the activation's type before; this does not.
HEDDLE_EXPORT KvToken quantize_kv(const KvTensor& tensor, int heads, int head_dim,
                                  const float* values, const KvGivenScale& given = {});
// What the codes stand for; a product with the scale is rounded once, to FP32.
HEDDLE_EXPORT std::vector<float> dequantize_kv(const KvTensor& tensor, int heads, int head_dim,
                                               const KvToken& token,
                                               const KvGivenScale& given = {});

}  // namespace heddle

#endif  // HEDDLE_INSPECT_KV_CODEC_H_
