/* Targets: the architecture that code is made for, and the facts of a GPU that plans depend on. */
#ifndef HEDDLE_C_TARGET_H_
#define HEDDLE_C_TARGET_H_

#include <stddef.h>
#include <stdint.h>

#include "heddle/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of the known targets the one with this name, "h200" or "sm_90"; of another name
 * HEDDLE_ERROR_USAGE, "target.unknown", which lists them. */
HEDDLE_EXPORT heddle_status heddle_target_create(const char* name, size_t length,
                                                 heddle_target** target);
HEDDLE_EXPORT void heddle_target_destroy(heddle_target* target);

/* The known targets, by number: devices first, then architectures with the facts of their usual
 * device. */
HEDDLE_EXPORT heddle_status heddle_target_count(size_t* count);
HEDDLE_EXPORT heddle_status heddle_target_known(size_t index, heddle_target** target);

/* The current context's device or, without a context, device `ordinal`. Needs a GPU. */
HEDDLE_EXPORT heddle_status heddle_target_of_device(heddle_runtime* runtime, int32_t ordinal,
                                                    heddle_target** target);

typedef struct heddle_target_info {
  size_t struct_size;
  heddle_text name;
  heddle_text compiler_arch; /* what NVRTC is given: "sm_80", "sm_90a" */
  heddle_text tuned_gpu;     /* the name that tuned tables have for it */
  int32_t major;             /* compute capability */
  int32_t minor;
  int32_t sm_count;
  int32_t shared_per_block; /* bytes, the opt-in limit of one block */
  int32_t shared_per_sm;    /* bytes */
  int32_t registers_per_sm; /* 32-bit registers */
  int32_t threads_per_sm;
  int32_t reserved; /* 0 */
  int64_t l2_bytes;
  double memory_gb_per_s; /* data sheet */
  double sm_mhz;          /* boost clock */
  double tensor_tflops;   /* the best that was measured of a dense 16-bit GEMM; 0: not known */
  double launch_us;       /* of a launch in a graph, beside the time of its bytes; 0: not known */
} heddle_target_info;
HEDDLE_EXPORT heddle_status heddle_target_get(const heddle_target* target,
                                              heddle_target_info* info);

/* A GPU that has no name here. Reads all fields but compiler_arch and tuned_gpu, which follow from
 * the others. Facts that no GPU has are HEDDLE_ERROR_USAGE, "target.invalid". */
HEDDLE_EXPORT heddle_status heddle_target_create_from_info(const heddle_target_info* info,
                                                           heddle_target** target);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_C_TARGET_H_ */
