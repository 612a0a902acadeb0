/* Plans, and the CUDA text of their kernels. No function needs a GPU, CUDA or the disk. */
#ifndef HEDDLE_C_PLAN_H_
#define HEDDLE_C_PLAN_H_

#include <stddef.h>
#include <stdint.h>

#include "heddle/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every decision for a spec on a target. `tables` may be null: those that come with Heddle. A spec
 * that the target cannot serve is HEDDLE_ERROR_UNSUPPORTED, with every reason. */
HEDDLE_EXPORT heddle_status heddle_plan_create(const heddle_target* target,
                                               const heddle_tuned_tables* tables, const char* spec,
                                               size_t spec_length, heddle_plan** plan);
HEDDLE_EXPORT void heddle_plan_destroy(heddle_plan* plan);
/* What a loaded kernel was made by. */
HEDDLE_EXPORT heddle_status heddle_plan_of_kernel(const heddle_kernel* kernel, heddle_plan** plan);

typedef struct heddle_plan_info {
  size_t struct_size;
  heddle_text spec;           /* canonical JSON */
  heddle_text target;         /* its name */
  size_t kernel_count;        /* those of all sizes, and those that run before each of them */
  size_t max_workspace_bytes; /* the most of any launch */
  size_t packed_bytes;        /* of packed weights; 0 for an operation without */
} heddle_plan_info;
HEDDLE_EXPORT heddle_status heddle_plan_get(const heddle_plan* plan, heddle_plan_info* info);

/* The plan as one JSON object, a stable format: "spec", the "target" with all its facts, the
 * "kernels", the "reasons" of decisions and, for operations that have them, "layout" (where
 * everything lies in packed weights, docs/layouts.md), "decode" (decode plans: heddle/c/decode.h)
 * and "cache" (heddle/c/kv.h). And in words, for people. */
HEDDLE_EXPORT heddle_status heddle_plan_json(const heddle_plan* plan, heddle_text* json);
HEDDLE_EXPORT heddle_status heddle_plan_description(const heddle_plan* plan, heddle_text* text);

typedef struct heddle_plan_kernel_info {
  size_t struct_size;
  heddle_text name;   /* of its entry point */
  heddle_text family; /* "stream" */
  /* The sizes that it serves, both inclusive: of a gemm M; of decode_attention the tokens that a
   * sequence may have. */
  int64_t size_min;
  int64_t size_max;
  int32_t threads;       /* of a thread block */
  int32_t shared_bytes;  /* dynamic */
  int32_t runs_before;   /* 1: runs before the kernel of every size, to prepare its input */
  int32_t starts_early;  /* 1: uses programmatic dependent launch */
  int32_t blocks_per_sm; /* what the register budget is set for */
  int32_t reserved;      /* 0 */
} heddle_plan_kernel_info;
HEDDLE_EXPORT heddle_status heddle_plan_kernel(const heddle_plan* plan, size_t index,
                                               heddle_plan_kernel_info* info);
/* The kernel that serves a size. */
HEDDLE_EXPORT heddle_status heddle_plan_kernel_of_size(const heddle_plan* plan, int64_t size,
                                                       size_t* index);
/* Of a gemm, for a launch with this m. */
HEDDLE_EXPORT heddle_status heddle_plan_workspace_bytes(const heddle_plan* plan, int64_t m,
                                                        size_t* bytes);

/* heddle_decode_plan_prove() for every decode plan of the plan; *codes_checked is 0 for an
 * operation that does not decode. */
HEDDLE_EXPORT heddle_status heddle_plan_prove(const heddle_plan* plan, uint64_t* codes_checked);

/* The CUDA text of one kernel, byte for byte what the compiler gets. Texts belong to the plan. */
typedef struct heddle_plan_source_info {
  size_t struct_size;
  heddle_text kernel_name; /* the extern "C" entry point */
  heddle_text file_name;   /* names the content */
  heddle_text text;        /* includes nothing */
  heddle_text arch;        /* what NVRTC is given: "sm_90a" */
} heddle_plan_source_info;
HEDDLE_EXPORT heddle_status heddle_plan_source(const heddle_plan* plan, size_t kernel,
                                               heddle_plan_source_info* info);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_C_PLAN_H_ */
