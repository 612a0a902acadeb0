/* Builds: the kernels of a list of specs for a target, compiled or found in the cache. Needs no
 * GPU; NVRTC only for what the cache lacks. */
#ifndef HEDDLE_C_BUILD_H_
#define HEDDLE_C_BUILD_H_

#include <stddef.h>
#include <stdint.h>

#include "heddle/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns 0 to cancel. One call at a time, from any thread; the name lives for the call. */
typedef int32_t (*heddle_progress_callback)(void* user, const char* kernel_name, size_t done,
                                            size_t total);

/* Plans the specs with the runtime's tuned tables, compiles in parallel what its cache lacks, and
 * stores it there. Specs that are alike share their kernels. `progress` may be null; once it
 * returns 0 nothing more is begun, and the call is HEDDLE_ERROR_CANCELLED: what was compiled until
 * then is in the cache. Specs that are not well formed, or else specs that cannot be served, fail
 * the whole call before anything is compiled, with the problems of all of them, which name their
 * spec as "specs[2]". In strict mode kernels that the cache lacks are HEDDLE_ERROR_MISSING. */
HEDDLE_EXPORT heddle_status heddle_build_create(heddle_runtime* runtime,
                                                const heddle_target* target,
                                                const heddle_text* specs, size_t spec_count,
                                                heddle_progress_callback progress, void* user,
                                                heddle_build** build);
/* The same for plans that were made before: with other tables, for several targets, or without the
 * specs that cannot be served. Where a build counts specs, it counts these plans. */
HEDDLE_EXPORT heddle_status heddle_build_create_from_plans(heddle_runtime* runtime,
                                                           const heddle_plan* const* plans,
                                                           size_t plan_count,
                                                           heddle_progress_callback progress,
                                                           void* user, heddle_build** build);
HEDDLE_EXPORT void heddle_build_destroy(heddle_build* build);

/* Kernels, each once. */
HEDDLE_EXPORT heddle_status heddle_build_count(const heddle_build* build, size_t* count);
typedef struct heddle_build_kernel_info {
  size_t struct_size;
  heddle_text kernel_name; /* the entry point in the cubin, not mangled */
  heddle_text key;         /* hex digest of source, target and compiler: its name in the cache */
  heddle_text arch;        /* "sm_90a" */
  heddle_text compiler;    /* what made it: NVRTC's version and build-ids */
  heddle_text ptx;         /* empty if it is of a bundle without texts or cannot be read */
  const void* cubin;       /* belongs to the build */
  size_t cubin_bytes;
  double ms;           /* wall time of this call for this kernel */
  double compile_ms;   /* of the compilation that made these bytes, also on a hit */
  int32_t hit;         /* 1: it was in the cache */
  int32_t stored;      /* 1: the next process will find it there */
  int32_t threads;     /* of a thread block */
  int32_t registers;   /* of a thread */
  int32_t spill_bytes; /* stores and loads of registers to local memory, of a thread */
  int32_t local_bytes; /* stack frame of a thread */
  int32_t static_shared_bytes;
  int32_t dynamic_shared_bytes; /* to be set as the function's attribute before it is launched */
} heddle_build_kernel_info;
HEDDLE_EXPORT heddle_status heddle_build_kernel(const heddle_build* build, size_t index,
                                                heddle_build_kernel_info* info);

/* The plan of spec number `spec`, and which kernel of the build is its plan's kernel number
 * `kernel`. */
HEDDLE_EXPORT heddle_status heddle_plan_of_build(const heddle_build* build, size_t spec,
                                                 heddle_plan** plan);
HEDDLE_EXPORT heddle_status heddle_build_index(const heddle_build* build, size_t spec,
                                               size_t kernel, size_t* index);

/* The compiler at hand as JSON: {"identity": NVRTC's version and build-ids, which the cache's keys
 * hold, "archs": [75, 80 ...] that it compiles for}. HEDDLE_ERROR_DRIVER, "nvrtc.missing", without
 * one. The text belongs to the runtime. */
HEDDLE_EXPORT heddle_status heddle_runtime_compiler(heddle_runtime* runtime, heddle_text* json);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_C_BUILD_H_ */
