/* Weights and key-value caches in host memory. No function needs a GPU, CUDA or the disk. */
#pragma once

#include "heddle/c/base.h"

HEDDLE_C_BEGIN

/* ---- Weights ---- */

/* Bytes of packed weights of a spec, of any operation on one W. The member "layout" of
 * heddle_plan_json() says where everything lies in them. */
HEDDLE_CALL heddle_packed_bytes(const char* spec, size_t spec_length, size_t* bytes);

/* The two gemms as whose weights those of each expert of a moe are packed. A launch takes the
 * packed weights of one local expert after the other, heddle_packed_bytes() apart. */
HEDDLE_CALL heddle_moe_gemms(const char* spec, size_t spec_length, heddle_spec** gate_up,
                             heddle_spec** down);

/* Bytes of one number of a type that specs name: "fp16", "bf16", "fp32", "e8m0", "e4m3", "int8",
 * "fp8_e4m3" or "fp8_e5m2"; another word is "api.dtype". */
HEDDLE_CALL heddle_dtype_bytes(const char* dtype, size_t dtype_length, int32_t* bytes);

/* Which version of the layout heddle_pack_weights() writes, for any spec: to be stored with packed
 * weights, and their spec with it. Files that `heddle repack` wrote have both in their metadata. */
HEDDLE_CALL heddle_layout_version(const char* spec, size_t spec_length, int32_t* version);
/* To be asked before stored weights are used: fails with weights.layout_version unless what
 * `version` of the layout packed is what kernels of this library read. */
HEDDLE_CALL heddle_check_layout_version(const char* spec, size_t spec_length, int32_t version);
/* As above: fails with weights.mismatch, and a problem for each field, unless a kernel of the first
 * spec (a gemm, or a dequantize of packed weights) reads weights packed for the second one. */
HEDDLE_CALL heddle_check_packed_weights(const char* kernel, size_t kernel_length,
                                        const char* packed, size_t packed_length);

/* Plain arrays, as heddle/weights.h has them. */
typedef struct heddle_quantized_weights {
  size_t struct_size;   /* sizeof(heddle_quantized_weights) */
  const uint8_t* codes; /* [N, K], a byte each; of types fp16 and bf16 two, the weights */
  size_t codes_bytes;
  const void* scales; /* [N, ceil((K + group_offset) / group_size)] of scale_dtype, of blocks
                         [ceil(N / 128), ceil(K / 128)]; null with fp16
                         and bf16 */
  size_t scales_bytes;
  const void* zeros; /* as many as scales: a byte each, or of scale_dtype; null without */
  size_t zeros_bytes;
  float tensor_scale;         /* counts with "tensor_scale" only */
  const void* channel_scales; /* [N] of "channel_scale"; null without */
  size_t channel_scales_bytes;
} heddle_quantized_weights;

/* Packs on the host, for a gemm. `packed_bytes` is at least heddle_packed_bytes(). Sizes that are
 * not those of the spec are refused before anything is read, codes and integer zero points that
 * have more bits than it says before anything is written. */
HEDDLE_CALL heddle_pack_weights(const char* spec, size_t spec_length,
                                const heddle_quantized_weights* weights, void* packed,
                                size_t packed_bytes);

/* The way back: plain arrays of packed weights. `spec`: a gemm. */
HEDDLE_CALL heddle_unpack_weights(const char* spec, size_t spec_length, const void* packed,
                                  size_t packed_bytes, heddle_plain_weights** weights);
/* W to the nearest codes, with the same bits as a quantize_weight spec has on the GPU. `spec`: a
 * quantize_weight; `w`: [N, K] row-major of its input dtype. */
HEDDLE_CALL heddle_quantize_weights(const char* spec, size_t spec_length, const void* w,
                                    size_t w_bytes, heddle_plain_weights** weights);
/* Arrays that belong to `weights`, in the form that heddle_pack_weights() takes. */
HEDDLE_CALL heddle_plain_weights_get(const heddle_plain_weights* weights,
                                     heddle_quantized_weights* arrays);
HEDDLE_EXPORT void heddle_plain_weights_destroy(heddle_plain_weights* weights);

/* ---- Key-value caches ---- */

/* docs/kv-caches-and-attention.md describes the bytes; the member "cache" of
 * heddle_plan_json() has the numbers for a spec:
 *   Of "k" and of "v": the row of codes of a token and a head begins at
 *     ((page * kv_heads + head) * page_tokens + token) * row_bytes       with "order" hnd
 *     ((page * page_tokens + token) * kv_heads + head) * row_bytes       with nhd
 *   of a paged cache; a contiguous one has a sequence for a page. The row of scales begins at the
 *   same place with scale_heads for kv_heads (1: head is 0), page_tokens / scale_tokens for
 *   page_tokens, token / scale_tokens for token and scale_row_bytes for row_bytes. In the residual
 *   window (with scales per channel) the row of a position in the sequence begins at
 *     ((slot * kv_heads + head) * scale_tokens + position % scale_tokens) * residual_row_bytes */

/* Bytes of the tensors of a cache, for a spec with a kv block; 0 for what is not stored. Takes the
 * pages and page_tokens of a launch and refuses what a launch refuses: of a paged cache page_tokens
 * is 0 or the spec's page_size, of a contiguous one it is 1 or more. */
typedef struct heddle_kv_bytes {
  size_t k_codes;
  size_t k_scales;
  size_t v_codes;
  size_t v_scales;
  size_t k_residual; /* of one slot */
} heddle_kv_bytes;
HEDDLE_CALL heddle_kv_cache_bytes(const char* spec, size_t spec_length, int64_t pages,
                                  int64_t page_tokens, heddle_kv_bytes* bytes);

/* Which of the two tensors; another number is "api.kv". */
enum { HEDDLE_KV_K = 0, HEDDLE_KV_V = 1 };

/* As KvGivenScale. */
typedef struct heddle_kv_given_scale {
  float scale;
  float zero;
} heddle_kv_given_scale;

/* quantize_kv(): one block to codes and scales, with the bits that a kv_append kernel writes.
 * `spec`: a kv_append or a decode_attention. The plan's "block" of the tensor has the sizes; codes
 * are rows [kv_heads] or, with scales per channel, [tokens][kv_heads]. `given` may be null: {1, 0}.
 * `scales` may be null where none are stored. Sizes that differ are "api.kv", before anything is
 * written. */
HEDDLE_CALL heddle_kv_quantize(const heddle_spec* spec, int32_t tensor, const float* values,
                               size_t value_count, const heddle_kv_given_scale* given, void* codes,
                               size_t code_bytes, void* scales, size_t scale_bytes);
/* What the codes stand for; a product with the scale is rounded once, to FP32. */
HEDDLE_CALL heddle_kv_dequantize(const heddle_spec* spec, int32_t tensor, const void* codes,
                                 size_t code_bytes, const void* scales, size_t scale_bytes,
                                 const heddle_kv_given_scale* given, float* values,
                                 size_t value_count);

/* kv_block_from_words(): the kv block of a spec from "int8:head,int4". Writes at most `capacity`
 * bytes and no zero behind them; *length is that of the whole text, also with a capacity of 0. */
HEDDLE_CALL heddle_kv_block_from_words(const char* words, size_t words_length, char* text,
                                       size_t capacity, size_t* length);

HEDDLE_C_END
