/* How a key-value cache is quantised and where everything lies in it: what an engine needs to fill,
 * copy, move or check a cache on the host. docs/kv-caches-and-attention.md describes the bytes. No
 * function needs a GPU, CUDA or the disk. */
#ifndef HEDDLE_C_KV_H_
#define HEDDLE_C_KV_H_

#include <stddef.h>
#include <stdint.h>

#include "heddle/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct heddle_kv_format heddle_kv_format; /* the kv block of a spec; immutable */

/* `spec`: a kv_append or a decode_attention. */
HEDDLE_EXPORT heddle_status heddle_kv_format_create(const char* spec, size_t spec_length,
                                                    heddle_kv_format** format);
HEDDLE_EXPORT void heddle_kv_format_destroy(heddle_kv_format* format);

/* Which of the two tensors a function is asked about; another number is "api.kv". */
enum { HEDDLE_KV_K = 0, HEDDLE_KV_V = 1 };

/* A row is what one head of one token has of codes, or of scales. heddle_kv_cache_bytes() has the
 * sizes of whole tensors. */
typedef struct heddle_kv_tensor_info {
  size_t struct_size;
  heddle_text dtype;       /* of the codes: "int8" */
  heddle_text granularity; /* "head" */
  heddle_text scale_dtype; /* of the stored scales; empty where none are stored */
  heddle_text order;       /* inside a page: "hnd" or "nhd" */
  int32_t bits;            /* of a code; 16 for 16-bit values */
  int32_t group_size;      /* values, or with scales per channel tokens, that share a scale; or 0 */
  int32_t symmetric;       /* 0: a zero point stands beside each scale */
  int32_t kv_heads;
  int32_t head_dim;
  int32_t row_bytes;       /* of codes */
  int32_t scale_heads;     /* heads that have a row of scales: all, or 1 with scales per token */
  int32_t scale_row_bytes; /* 0: no scales are stored */
  int32_t scales_of_row;
  int32_t scale_tokens;       /* neighbouring tokens that share a row of scales */
  int32_t residual_row_bytes; /* of the residual window; 0: there is none */
  int32_t reserved;           /* 0 */
  /* Of one block, as heddle_kv_quantize() takes it and heddle_kv_dequantize() gives it. */
  size_t block_tokens; /* group_size with scales per channel, else 1 */
  size_t block_values; /* block_tokens * kv_heads * head_dim */
  size_t block_code_bytes;
  size_t block_scale_bytes; /* 0 where no scales are stored */
} heddle_kv_tensor_info;
HEDDLE_EXPORT heddle_status heddle_kv_format_get(const heddle_kv_format* format, int32_t tensor,
                                                 heddle_kv_tensor_info* info);

/* Bytes that one token takes in K and V together; of scales that a block of tokens shares its part,
 * rounded up. */
HEDDLE_EXPORT heddle_status heddle_kv_token_bytes(const heddle_kv_format* format, size_t* codes,
                                                  size_t* scales);

/* Where the row of a token and a head begins, in bytes from the start of the tensor. `token` is its
 * place in the page, below page_tokens; of a contiguous cache a page is a sequence. `page_tokens`
 * is what a launch takes, of a paged cache 0 or the spec's page_size, else "launch.size". Other
 * numbers that no such tensor has are "api.kv", as is a tensor of scales, or a window, that the
 * spec does not have. */
HEDDLE_EXPORT heddle_status heddle_kv_code_offset(const heddle_kv_format* format, int32_t tensor,
                                                  int64_t page, int64_t page_tokens, int64_t token,
                                                  int32_t head, size_t* offset);
HEDDLE_EXPORT heddle_status heddle_kv_scale_offset(const heddle_kv_format* format, int32_t tensor,
                                                   int64_t page, int64_t page_tokens, int64_t token,
                                                   int32_t head, size_t* offset);
/* The same of the residual window: a token lies at its position in the sequence modulo the window's
 * tokens. */
HEDDLE_EXPORT heddle_status heddle_kv_residual_offset(const heddle_kv_format* format,
                                                      int32_t tensor, int64_t slot,
                                                      int64_t position, int32_t head,
                                                      size_t* offset);

/* What the caller gives for all of K, or of V: with the granularity tensor the scale and, where it
 * is not symmetric, the zero point in units of codes; with nvfp4 the factor of the groups' scales.
 * This struct does not grow. */
typedef struct heddle_kv_given_scale {
  float scale;
  float zero;
} heddle_kv_given_scale;

/* One block to codes and scales, with the bits that a kv_append kernel writes. `values`:
 * [block_tokens][kv_heads][head_dim], block_values of them. Writes block_code_bytes of
 * codes, rows [kv_heads] or, with scales per channel, [block_tokens][kv_heads], and
 * block_scale_bytes of scales in the order of the groups. `given` may be null: {1, 0}. `scales` may
 * be null where none are stored. With scales per channel a kernel rounds K to the activation's type
 * before; this does not. Sizes that differ are "api.kv", before anything is written. */
HEDDLE_EXPORT heddle_status heddle_kv_quantize(const heddle_kv_format* format, int32_t tensor,
                                               const float* values, size_t value_count,
                                               const heddle_kv_given_scale* given, void* codes,
                                               size_t code_bytes, void* scales, size_t scale_bytes);
/* What the codes stand for; a product with the scale is rounded once, to FP32. */
HEDDLE_EXPORT heddle_status heddle_kv_dequantize(const heddle_kv_format* format, int32_t tensor,
                                                 const void* codes, size_t code_bytes,
                                                 const void* scales, size_t scale_bytes,
                                                 const heddle_kv_given_scale* given, float* values,
                                                 size_t value_count);

/* The kv block of a spec, JSON, from the words in which users name a cache: "int8:head",
 * "int4:group:64", "int8:head,int4" for K, then V. What the words mean is for
 * heddle_model_create_cache() or heddle_spec_create() to judge; "kv.words" for what is not one to
 * three words, or two times as many. Writes at most `capacity` bytes and no zero behind them;
 * *length is that of the whole text, so a capacity of 0 asks for it. */
HEDDLE_EXPORT heddle_status heddle_kv_block_from_words(const char* words, size_t words_length,
                                                       char* text, size_t capacity, size_t* length);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_C_KV_H_ */
