/* Plans, and the CUDA text of their kernels. Pure functions of their arguments: no GPU, no CUDA and
 * no disk is needed. */
#ifndef HEDDLE_C_PLAN_H_
#define HEDDLE_C_PLAN_H_

#include <stddef.h>
#include <stdint.h>

#include "heddle/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Plans ----------------------------------------------------------------------------------- */

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
  size_t reason_count;        /* of heddle_plan_reason() */
} heddle_plan_info;
HEDDLE_EXPORT heddle_status heddle_plan_get(const heddle_plan* plan, heddle_plan_info* info);

/* The plan as one JSON object, a stable format, and in words for people. */
HEDDLE_EXPORT heddle_status heddle_plan_json(const heddle_plan* plan, heddle_text* json);
HEDDLE_EXPORT heddle_status heddle_plan_description(const heddle_plan* plan, heddle_text* text);

/* Why a decision was made, for people. */
HEDDLE_EXPORT heddle_status heddle_plan_reason(const heddle_plan* plan, size_t index,
                                               heddle_text* reason);
HEDDLE_EXPORT heddle_status heddle_target_of_plan(const heddle_plan* plan, heddle_target** target);

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

/* Executes the plan's decode plans on the host for every code, in every position, and compares with
 * exact arithmetic. *codes_checked may be 0: not all operations decode. A plan that is wrong is
 * HEDDLE_ERROR_INTERNAL, "decode.mismatch", and the message has the first wrong code. */
HEDDLE_EXPORT heddle_status heddle_plan_prove(const heddle_plan* plan, uint64_t* codes_checked);

/* ---- Sources --------------------------------------------------------------------------------- */

/* The CUDA text of one kernel of a plan, byte for byte what the compiler gets. */
HEDDLE_EXPORT heddle_status heddle_source_create(const heddle_plan* plan, size_t kernel,
                                                 heddle_source** source);
HEDDLE_EXPORT void heddle_source_destroy(heddle_source* source);

typedef struct heddle_source_info {
  size_t struct_size;
  heddle_text kernel_name; /* the extern "C" entry point */
  heddle_text file_name;   /* names the content */
  heddle_text text;        /* includes nothing */
  heddle_text arch;        /* what NVRTC is given: "sm_90a" */
  int32_t threads;         /* of a thread block */
  int32_t dynamic_shared_bytes;
} heddle_source_info;
HEDDLE_EXPORT heddle_status heddle_source_get(const heddle_source* source,
                                              heddle_source_info* info);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_C_PLAN_H_ */
