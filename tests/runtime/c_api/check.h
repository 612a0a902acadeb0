/* What the C99 tests of heddle/heddle.h share. */
#ifndef HEDDLE_TESTS_RUNTIME_C_API_CHECK_H_
#define HEDDLE_TESTS_RUNTIME_C_API_CHECK_H_

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/heddle.h"

extern int failures;

#define CHECK(condition)                                                                   \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      printf("%s:%d: %s\n  %s: %s\n", __FILE__, __LINE__, #condition, heddle_error_code(), \
             heddle_error_message());                                                      \
      ++failures;                                                                          \
    }                                                                                      \
  } while (0)
/* For what the rest of the test cannot do without. */
#define MUST(condition)              \
  do {                               \
    const int before = failures;     \
    CHECK(condition);                \
    if (failures != before) exit(1); \
  } while (0)
#define CHECK_CODE(call, status, code) \
  CHECK((call) == (status) && strcmp(heddle_error_code(), (code)) == 0)
#define SPEC(text) text, strlen(text)

static const char kGemm[] =
    "{\"heddle\":1,\"op\":\"gemm\",\"shape\":{\"n\":256,\"k\":512,\"m\":[1,8]},"
    "\"weight\":{\"bits\":4},\"activation\":{\"dtype\":\"fp16\"}}";
static const char kDequantize[] =
    "{\"heddle\":1,\"op\":\"dequantize\",\"shape\":{\"n\":64,\"k\":256},"
    "\"weight\":{\"bits\":4},\"source\":{\"format\":\"gptq\"},\"output\":{\"dtype\":\"fp16\"}}";
static const char kRepack[] =
    "{\"heddle\":1,\"op\":\"repack\",\"shape\":{\"n\":64,\"k\":256},"
    "\"weight\":{\"bits\":4},\"source\":{\"format\":\"gptq\"}}";

static inline void* address(size_t value) { return (char*)0 + value; }

static inline heddle_input input(size_t at, size_t bytes) {
  heddle_input result;
  result.data = address(at);
  result.bytes = bytes;
  return result;
}
static inline heddle_output output(size_t at, size_t bytes) {
  heddle_output result;
  result.data = address(at);
  result.bytes = bytes;
  return result;
}

static inline heddle_text text(const char* zero_ended) {
  heddle_text result;
  result.data = zero_ended;
  result.length = strlen(zero_ended);
  return result;
}
/* Whether a text that Heddle gave ends in a zero, and is the other, or has it in it. */
static inline int equals(heddle_text given, const char* other) {
  return strlen(given.data) == given.length && strcmp(given.data, other) == 0;
}
static inline int is_text(heddle_text given, const char* part) {
  return strlen(given.data) == given.length && strstr(given.data, part) != NULL;
}

/* Functions of the driver, as an engine declares or loads them. */
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxPushCurrent(void* context);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamBeginCapture(void* stream, int mode);
int cuStreamEndCapture(void* stream, void** graph);

/* On a cache in a folder that main() has made. `lines`: counts those of the log, or NULL. */
heddle_runtime* make_runtime(int* lines, int32_t strict);

/* launch_checks.c */
void test_gemm(heddle_kernel* kernel, void* stream);
void test_kv_append(heddle_runtime* runtime, heddle_kernel* gemm);
void test_kv_append_query(heddle_runtime* runtime);
void test_kv_append_by_channel(heddle_runtime* runtime);
void test_decode_attention(heddle_runtime* runtime, heddle_kernel* gemm);
void test_weight_operations(heddle_runtime* runtime, heddle_kernel* gemm);
void test_packing(void);
void test_absurd_lengths(heddle_runtime* runtime);

/* row_checks.c */
void test_row_transform(heddle_runtime* runtime, heddle_kernel* gemm);

/* moe_checks.c */
void test_moe(heddle_runtime* runtime, heddle_kernel* gemm);

/* build_checks.c */
void test_prepare_and_request(void* stream);
void test_strict(void);
void test_tuned_tables(void);

/* prepare_checks.c */
void test_urgent_first(void* stream);

/* compile_checks.c */
void test_builds(void);
void test_plan_to_kernel(void);

/* plan_launch_checks.c */
void test_plan_launches(void);

static inline heddle_plan* plan_for(const char* spec, const char* target_name) {
  heddle_target* target = NULL;
  heddle_plan* plan = NULL;
  MUST(heddle_target_create(SPEC(target_name), &target) == HEDDLE_OK);
  CHECK(heddle_plan_create(target, NULL, SPEC(spec), &plan) == HEDDLE_OK);
  heddle_target_destroy(target); /* the plan holds what it needs */
  if (plan == NULL) exit(1);
  return plan;
}

#endif /* HEDDLE_TESTS_RUNTIME_C_API_CHECK_H_ */
