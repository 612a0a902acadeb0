/* Specs: whether one is valid, and its canonical text. No function needs a GPU, CUDA or the disk.
 */
#ifndef HEDDLE_C_SPEC_H_
#define HEDDLE_C_SPEC_H_

#include <stddef.h>
#include <stdint.h>

#include "heddle/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The JSON Schema (draft 2020-12) of a spec. The text belongs to the library and is always valid.
 */
HEDDLE_EXPORT heddle_status heddle_spec_schema(heddle_text* schema);

/* Reads a spec and keeps what it means. All that is wrong with it is HEDDLE_ERROR_SPEC at once,
 * with a problem for each. */
HEDDLE_EXPORT heddle_status heddle_spec_create(const char* text, size_t length, heddle_spec** spec);
HEDDLE_EXPORT void heddle_spec_destroy(heddle_spec* spec);

typedef struct heddle_spec_info {
  size_t struct_size;
  heddle_text name; /* the optional label; may be empty */
  heddle_text op;   /* "gemm" */
  /* One line of JSON with every default written out and without the label: equal for two specs
   * exactly if they mean the same. */
  heddle_text canonical;
  heddle_text output_dtype;   /* of Y, of W that is written, or of attention's output; empty for an
                                 operation that writes packed weights or a cache */
  heddle_text multiply_dtype; /* of a gemm: what the matrix instruction multiplies; else empty */
  int64_t n;                  /* of W; n and k are 0 without weights */
  int64_t k;
  int64_t m_min; /* rows that a launch may have, both inclusive; 0 where it has none */
  int64_t m_max;
  int64_t output_columns; /* of Y, or of a row_transform's; else 0 */
  int32_t gated;          /* 1: packed weights have the row order of a gated epilogue */
  int32_t kv_heads;       /* of a cache; 0 without one */
  int32_t head_dim;
  int32_t reserved; /* 0 */
} heddle_spec_info;
HEDDLE_EXPORT heddle_status heddle_spec_get(const heddle_spec* spec, heddle_spec_info* info);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_C_SPEC_H_ */
