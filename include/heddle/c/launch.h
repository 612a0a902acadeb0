/* What a plan says of a launch, for an engine that loads and launches a kernel's cubin itself.
 * No function needs a GPU, CUDA or the disk; pointers in arguments are not followed.
 *
 * A launch of an operation is one of each kernel of the plan with runs_before, then one of the
 * kernel of the size (heddle_plan_kernel_of_size()), all on one stream. For each kernel:
 *   Load the cubin (heddle_build_kernel()), take the function `kernel_name`, and set its attributes
 *     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES to max_dynamic_shared_bytes and
 *     CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT to 100. Without the second an SM must be
 *     empty before it divides its memory anew, and kernels that start early do not overlap.
 *   For each phase, from 0 to phases - 1, ask heddle_plan_launch() and call cuLaunchKernelEx with
 *     that phase's grid, `threads` by 1 by 1 threads, its dynamic_shared_bytes, and the arguments
 *     that heddle_plan_argument() lists, of which "schedule" and "tokens" differ between phases.
 * Where cluster is more than 1 the launch has CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION {cluster, 1,
 * 1}; with starts_early it may have CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION 1.
 * Memory, its alignment and the workspace are as heddle_launch_gemm() and its neighbours take them,
 * which check what nobody checks here. */
#pragma once

#include "heddle/c/base.h"

HEDDLE_C_BEGIN

/* What a launch's grid depends on. Set what the operation has; the others are 0. */
typedef struct heddle_launch_size {
  size_t struct_size;
  /* For a gemm and a row_transform: M. For a moe: tokens. For a kv_append: new tokens. For a
   * decode_attention: the tokens that a sequence may have, of a paged cache table_stride *
   * page_size, or 2^30 where that is more. Of the operations on weights: 0. */
  int64_t size;
  int64_t sequences;   /* of a kv_append and a decode_attention */
  int32_t has_offsets; /* of a kv_append: 1: a sequence may have several new tokens */
  int32_t phase;       /* of a moe: below heddle_plan_launch_info's phases; else 0 */
} heddle_launch_size;

typedef struct heddle_plan_launch_info {
  size_t struct_size;
  heddle_text kernel_name; /* of its entry point */
  uint32_t grid_x;
  uint32_t grid_y;
  uint32_t grid_z;
  uint32_t cluster;             /* thread blocks of a cluster, along x; 1: there are none */
  int32_t threads;              /* of a thread block */
  int32_t dynamic_shared_bytes; /* of a thread block, in this phase */
  int32_t schedule;             /* the argument "schedule" */
  int32_t starts_early;         /* 1: waits itself for the kernel before it in the stream */
  int32_t box_tokens;           /* of the argument "tokens"; 0 without one */
  int32_t box_columns;
  size_t argument_count;
  size_t workspace_bytes;   /* of this launch, all of its kernels together; 0 if none needs any */
  size_t gathered_offset;   /* of a gemm with act_order: where the gathered X begins in it; of a
                               moe with the argument "tokens": what that maps */
  int64_t scale_box_tokens; /* of the argument "token_scales"; 0 without one */
  int32_t phases;           /* launches of the kernel, one after the other: a moe has several */
  int32_t max_dynamic_shared_bytes; /* the most of any phase */
} heddle_plan_launch_info;

/* A launch of the plan's kernel number `kernel`. A size that the kernel does not serve is refused:
 * "launch.m", "launch.size" or, where a kernel of another range serves it, "api.size"; a phase that
 * it does not have: "api.phase". */
HEDDLE_CALL heddle_plan_launch(const heddle_plan* plan, size_t kernel,
                               const heddle_launch_size* size, heddle_plan_launch_info* info);

/* An argument of the entry point, in their order.
 *   x, y, weights, bias ...  a device pointer, which the launch's struct has by this name; of the
 *                operations on weights "w" is what is not quantised, "packed" what is written and
 *                "order" the group_index or, where there is none, the permutation
 *   gathered     a device pointer: the workspace and gathered_offset bytes. The gather of X writes
 *                it, and the kernels after it read it as "x", or through "tokens"
 *   shape        a struct by value, which heddle_gemm_shape() fills
 *   m, schedule  an int32_t
 *   tokens       a CUtensorMap of X by value, at a multiple of 64 bytes: cuTensorMapEncodeTiled
 *                with FLOAT16 or BFLOAT16, two sides {K, M}, a stride of 2 * K bytes, boxes
 *                {box_columns, box_tokens}, element strides {1, 1}, no interleave, SWIZZLE_128B,
 *                L2_256B, no fill. Activations of 8 bits are taken in pairs: FLOAT16, two sides
 *                {K / 2, M}, a stride of K bytes, the same boxes
 *                Of a moe it maps the workspace from gathered_offset on: two sides
 *                {hidden, tokens * top_k}, of the launch whose schedule is 3
 *                {intermediate, tokens * top_k}; with routing.scores and fewer local experts
 *                than top_k, tokens times those
 *   token_scales a CUtensorMap of x_scales by value, the same but UINT32, two sides {M, G}, where a
 *                row has G groups of 128 columns or, of e8m0, G words of four, a stride of
 *                4 * x_scale_stride bytes (0: M rounded up to a multiple of 4), boxes
 *                {scale_box_tokens, 1}, no SWIZZLE
 *   parameters   a struct by value, which the functions below fill */
typedef struct heddle_plan_argument_info {
  size_t struct_size;
  heddle_text name;
  size_t bytes; /* of the value */
} heddle_plan_argument_info;
HEDDLE_CALL heddle_plan_argument(const heddle_plan* plan, size_t kernel, size_t argument,
                                 heddle_plan_argument_info* info);

/* The argument "shape" of the kernels of a gemm's plan, the same for all launches: a kernel that
 * has it serves every N and K. *bytes is the struct's size; a smaller `capacity` is
 * "api.too_small", and nothing else is written. */
HEDDLE_CALL heddle_gemm_shape(const heddle_plan* plan, void* shape, size_t capacity, size_t* bytes);

/* The argument "parameters" of a plan's kernels for the arguments of a launch, which are refused as
 * the launch would refuse them. *bytes is the struct's size; a smaller `capacity` is
 * "api.too_small", and nothing else is written. A launch without tokens, rows or sequences has
 * none: "launch.size". */
struct heddle_kv_append_args;
struct heddle_decode_attention_args;
struct heddle_row_transform_args;
struct heddle_moe_args;
HEDDLE_CALL heddle_kv_append_parameters(const heddle_plan* plan,
                                        const struct heddle_kv_append_args* args, void* parameters,
                                        size_t capacity, size_t* bytes);
HEDDLE_CALL heddle_decode_attention_parameters(const heddle_plan* plan,
                                               const struct heddle_decode_attention_args* args,
                                               void* parameters, size_t capacity, size_t* bytes);
HEDDLE_CALL heddle_row_transform_parameters(const heddle_plan* plan,
                                            const struct heddle_row_transform_args* args,
                                            void* parameters, size_t capacity, size_t* bytes);
HEDDLE_CALL heddle_moe_parameters(const heddle_plan* plan, const struct heddle_moe_args* args,
                                  void* parameters, size_t capacity, size_t* bytes);

HEDDLE_C_END
