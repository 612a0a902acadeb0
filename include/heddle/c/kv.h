/* Quantising K and V on the host, and the sizes of a key-value cache. No function needs a GPU, CUDA
 * or the disk. docs/kv-caches-and-attention.md describes the bytes; the member "cache" of
 * heddle_plan_json() has the numbers for a spec:
 *   Of "k" and of "v": the row of codes of a token and a head begins at
 *     ((page * kv_heads + head) * page_tokens + token) * row_bytes       with "order" hnd
 *     ((page * page_tokens + token) * kv_heads + head) * row_bytes       with nhd
 *   of a paged cache; a contiguous one has a sequence for a page. The row of scales begins at the
 *   same place with scale_heads for kv_heads (1: head is 0), page_tokens / scale_tokens for
 *   page_tokens, token / scale_tokens for token and scale_row_bytes for row_bytes. In the residual
 *   window (with scales per channel) the row of a position in the sequence begins at
 *     ((slot * kv_heads + head) * scale_tokens + position % scale_tokens) * residual_row_bytes */
#ifndef HEDDLE_C_KV_H_
#define HEDDLE_C_KV_H_

#include <stddef.h>
#include <stdint.h>

#include "heddle/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

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
HEDDLE_EXPORT heddle_status heddle_kv_cache_bytes(const char* spec, size_t spec_length,
                                                  int64_t pages, int64_t page_tokens,
                                                  heddle_kv_bytes* bytes);

/* Which of the two tensors; another number is "api.kv". */
enum { HEDDLE_KV_K = 0, HEDDLE_KV_V = 1 };

/* What the caller gives for all of K, or of V: with the granularity tensor the scale and, where it
 * is not symmetric, the zero point in units of codes; with nvfp4 the factor of the groups' scales.
 */
typedef struct heddle_kv_given_scale {
  float scale;
  float zero;
} heddle_kv_given_scale;

/* One block to codes and scales, with the bits that a kv_append kernel writes. `spec`: a kv_append
 * or a decode_attention. The plan's "block" of the tensor has the sizes: `values` are
 * [tokens][kv_heads][head_dim]; codes are rows [kv_heads] or, with scales per channel,
 * [tokens][kv_heads]; scales are in the order of the groups. `given` may be null: {1, 0}. `scales`
 * may be null where none are stored. With scales per channel a kernel rounds K to the activation's
 * type before; this does not. Sizes that differ are "api.kv", before anything is written. */
HEDDLE_EXPORT heddle_status heddle_kv_quantize(const heddle_spec* spec, int32_t tensor,
                                               const float* values, size_t value_count,
                                               const heddle_kv_given_scale* given, void* codes,
                                               size_t code_bytes, void* scales, size_t scale_bytes);
/* What the codes stand for; a product with the scale is rounded once, to FP32. */
HEDDLE_EXPORT heddle_status heddle_kv_dequantize(const heddle_spec* spec, int32_t tensor,
                                                 const void* codes, size_t code_bytes,
                                                 const void* scales, size_t scale_bytes,
                                                 const heddle_kv_given_scale* given, float* values,
                                                 size_t value_count);

/* The kv block of a spec, JSON, from the words in which users name a cache: "int8:head",
 * "int4:group:64", "int8:head,int4" for K, then V. Parsing the spec judges the words; "kv.words"
 * for what is not one to three words, or two times as many. Writes at most `capacity` bytes and no
 * zero behind them; *length is that of the whole text, so a capacity of 0 asks for it. */
HEDDLE_EXPORT heddle_status heddle_kv_block_from_words(const char* words, size_t words_length,
                                                       char* text, size_t capacity, size_t* length);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_C_KV_H_ */
