/* The first token first: the kernels that decoding needs are made at once, the rest in the
 * background, which general kernels stand in for. */
#ifndef HEDDLE_C_PREPARE_H_
#define HEDDLE_C_PREPARE_H_

#include <stddef.h>
#include <stdint.h>

#include "heddle/c/base.h"
#include "heddle/c/build.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers of tokens, both inclusive. */
typedef struct heddle_m_range {
  int64_t first;
  int64_t last;
} heddle_m_range;

/* As heddle_prepare(), but it returns when launches with an M of `urgent` have their final kernels:
 * one range for each spec, or one for all of them. Other M are served by a general kernel, where
 * nothing better is there, until the background has made all kernels of the spec; launches then
 * change over, so two runs may round sums differently. What to launch on a stream is told by
 * heddle_kernel_create() for the spec and the stream, and by heddle_request_kernel(); ask for each
 * launch, and for each capture, in which nothing changes over. Workspaces that these kernels ask
 * for do for both. In strict mode all must be in the cache. `progress` (may be null) tells of the
 * kernels that this call waits for, and heddle_preparation_get() counts the others. Ranges that are
 * empty, begin below 1, have no M of their spec or are of another number, and one for all specs
 * that has no M of any: HEDDLE_ERROR_USAGE, "runtime.urgent". The context must live until nothing
 * more is made. */
HEDDLE_EXPORT heddle_status heddle_preparation_create(heddle_runtime* runtime,
                                                      const heddle_text* specs, size_t spec_count,
                                                      const heddle_m_range* urgent,
                                                      size_t urgent_count,
                                                      heddle_progress_callback progress, void* user,
                                                      heddle_preparation** preparation);
/* The background goes on without it. */
HEDDLE_EXPORT void heddle_preparation_destroy(heddle_preparation* preparation);

typedef struct heddle_preparation_info {
  size_t struct_size;
  size_t done;      /* kernels that the background has compiled */
  size_t total;     /* that were left to it; 0: none */
  int32_t ended;    /* 1: nothing more is made, well or not */
  int32_t reserved; /* 0 */
} heddle_preparation_info;
HEDDLE_EXPORT heddle_status heddle_preparation_get(const heddle_preparation* preparation,
                                                   heddle_preparation_info* info);

/* Waits until nothing more is made; fails as making the first kernel that failed did. */
HEDDLE_EXPORT heddle_status heddle_preparation_wait(const heddle_preparation* preparation);
/* Compiles nothing more but what is being compiled. Specs that are not ready go on being served as
 * they are, and waiting for them is HEDDLE_ERROR_CANCELLED, "runtime.cancelled". */
HEDDLE_EXPORT heddle_status heddle_preparation_cancel(heddle_preparation* preparation);

/* The request of spec number `spec`: its kernels until it is ready, and then. */
HEDDLE_EXPORT heddle_status heddle_request_of_preparation(const heddle_preparation* preparation,
                                                          size_t spec, heddle_request** request);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_C_PREPARE_H_ */
