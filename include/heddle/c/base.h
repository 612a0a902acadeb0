/* What all of the C API shares: texts, structs that grow, handles, statuses and errors. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "heddle/export.h"

#ifdef __cplusplus
#define HEDDLE_C_BEGIN extern "C" {
#define HEDDLE_C_END }
#else
#define HEDDLE_C_BEGIN
#define HEDDLE_C_END
#endif

/* A function that can fail. */
#define HEDDLE_CALL HEDDLE_EXPORT heddle_status

HEDDLE_C_BEGIN

/* UTF-8. A text that the caller gives needs no zero behind it. A text that Heddle gives has one,
 * which `length` does not count, is never null, and belongs to the handle that it was asked of: it
 * stays as it is until that handle is destroyed. */
typedef struct heddle_text {
  const char* data;
  size_t length;
} heddle_text;

/* A struct that starts with struct_size, its sizeof, may get new fields at its end. Set all of it
 * to zero before its fields are set. What a smaller one lacks has its default. The bytes that a
 * larger one has more must be zero where it is read, and are set to zero where it is written; else,
 * and for a size below that of the first version or above HEDDLE_MAX_STRUCT_SIZE, the call is
 * refused ("api.struct_size"). */
#define HEDDLE_MAX_STRUCT_SIZE 4096

/* A function that makes a handle gives it through its last parameter, which is null after a
 * failure; heddle_..._destroy() ends it, once. A handle holds what it needs: those that it was made
 * of may be destroyed before it. All may be used from any thread and by several threads at the same
 * time, until one of them destroys it, but an uploader, which is of one thread at a time; all but
 * uploaders, runtimes, requests and preparations are immutable. */
typedef struct heddle_runtime heddle_runtime; /* compiles, caches, loads */
typedef struct heddle_kernel heddle_kernel;   /* one loaded operation */
typedef struct heddle_request heddle_request; /* a kernel that is being made in the background */
typedef struct heddle_preparation heddle_preparation; /* kernels of which the urgent are there */
typedef struct heddle_spec heddle_spec;               /* a spec that was read and found valid */
typedef struct heddle_target heddle_target;           /* an architecture and facts of a GPU */
typedef struct heddle_plan heddle_plan;               /* what was decided for a spec and a target */
typedef struct heddle_build heddle_build;             /* compiled kernels of a list of specs */
typedef struct heddle_model heddle_model; /* the layers of a config.json and their specs */
typedef struct heddle_tuned_tables heddle_tuned_tables;   /* measured kernels, by GPU */
typedef struct heddle_plain_weights heddle_plain_weights; /* quantised weights in host memory */

typedef int32_t heddle_status;
enum {
  HEDDLE_OK = 0,
  HEDDLE_ERROR_SPEC = 1,        /* a JSON text, such as a spec or a config, is not well formed */
  HEDDLE_ERROR_UNSUPPORTED = 2, /* this spec cannot be served on this device */
  HEDDLE_ERROR_USAGE = 3,       /* arguments that break the contract */
  HEDDLE_ERROR_FILE = 4,        /* a named file cannot be read or written */
  HEDDLE_ERROR_COMPILE = 5,     /* the compiler refused the source; see heddle_error_log() */
  HEDDLE_ERROR_DRIVER = 6,      /* a CUDA driver call failed, or libcuda or libnvrtc is missing */
  HEDDLE_ERROR_INTERNAL = 7,    /* a bug in Heddle */
  HEDDLE_ERROR_MISSING = 8,     /* not at hand, and may not be made: strict mode, stream capture */
  HEDDLE_ERROR_CANCELLED = 9,   /* the caller's callback asked to stop */
  HEDDLE_ERROR_OUT_OF_MEMORY = 10
};

/* "driver" for HEDDLE_ERROR_DRIVER; "unknown" for what is no status. Never null. */
HEDDLE_EXPORT const char* heddle_status_name(heddle_status status);
/* "0.1.0" */
HEDDLE_EXPORT const char* heddle_version(void);

/* The error of the last call of this thread that failed, or that had no device to tell of
 * (heddle_runtime_has_device()); "" if none has. Valid until the thread's next call that fails,
 * never null. A stable identifier such as "launch.misaligned"; a sentence for people, or a line for
 * each problem; for compile errors the compiler's log with numbered source lines. */
HEDDLE_EXPORT const char* heddle_error_code(void);
HEDDLE_EXPORT const char* heddle_error_message(void);
HEDDLE_EXPORT const char* heddle_error_log(void);
/* All of it as JSON: {"status", "code", "message", "log", "problems"}. A problem has a "message"
 * without its place and, each where it is known, the "pointer" (RFC 6901) into the text that was
 * refused, the offending "value" as JSON text, what is "allowed", and a "hint". */
HEDDLE_EXPORT const char* heddle_error_json(void);

/* Device memory, aligned to 16 bytes, 32-bit numbers to 4. Null and 0 for what the spec does not
 * ask for. */
typedef struct heddle_input {
  const void* data;
  size_t bytes;
} heddle_input;
typedef struct heddle_output {
  void* data;
  size_t bytes;
} heddle_output;

HEDDLE_C_END
