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
} heddle_spec_info;
HEDDLE_EXPORT heddle_status heddle_spec_get(const heddle_spec* spec, heddle_spec_info* info);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_C_SPEC_H_ */
