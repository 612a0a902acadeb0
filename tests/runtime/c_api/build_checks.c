/* Kernels that are made ahead, in the background, or not at all. */
#include "check.h"

static const char kWide[] =
    "{\"heddle\":1,\"op\":\"gemm\",\"shape\":{\"n\":256,\"k\":512,\"m\":[1,16]},"
    "\"weight\":{\"bits\":4},\"activation\":{\"dtype\":\"fp16\"}}";

static int32_t go_on(void* user, const char* kernel_name, size_t done, size_t total) {
  CHECK(kernel_name != NULL && done >= 1 && done <= total);
  ++*(int*)user;
  return 1;
}
static int32_t stop(void* user, const char* kernel_name, size_t done, size_t total) {
  (void)user, (void)kernel_name, (void)done, (void)total;
  return 0;
}

void test_prepare_and_request(void* stream) {
  heddle_runtime* runtime = make_runtime(NULL, 0);
  heddle_request* request = NULL;
  heddle_kernel* kernel = NULL;
  heddle_text specs[2];
  void* graph = NULL;
  int told = 0;
  int32_t ready = 0;
  specs[0].data = kDequantize;
  specs[0].length = strlen(kDequantize);
  specs[1].data = kWide;
  specs[1].length = strlen(kWide);
  CHECK(heddle_prepare(runtime, specs, 2, stop, NULL) == HEDDLE_ERROR_CANCELLED);
  CHECK(heddle_prepare(runtime, specs, 2, go_on, &told) == HEDDLE_OK && told >= 2);
  CHECK(heddle_prepare(runtime, NULL, 0, NULL, NULL) == HEDDLE_OK);
  specs[1].length -= 1;
  CHECK(heddle_prepare(runtime, specs, 2, NULL, NULL) == HEDDLE_ERROR_SPEC);
  CHECK(strstr(heddle_error_message(), "specs[1]") != NULL);

  CHECK(cuStreamBeginCapture(stream, 0) == 0);
  CHECK(heddle_kernel_create(runtime, SPEC(kDequantize), stream, &kernel) == HEDDLE_OK);
  heddle_kernel_destroy(kernel);
  CHECK_CODE(heddle_kernel_create(runtime, SPEC(kGemm), stream, &kernel), HEDDLE_ERROR_MISSING,
             "runtime.capturing");
  CHECK(cuStreamEndCapture(stream, &graph) == 0);

  CHECK(heddle_request_create(runtime, SPEC(kGemm), &request) == HEDDLE_OK);
  CHECK(heddle_request_kernel(request, stream, &kernel) == HEDDLE_OK); /* the wide one, or not */
  heddle_kernel_destroy(kernel);
  CHECK(heddle_request_wait(request, &kernel) == HEDDLE_OK);
  heddle_kernel_destroy(kernel);
  CHECK(heddle_request_ready(request, &ready) == HEDDLE_OK && ready == 1);
  heddle_request_destroy(request);

  CHECK(heddle_runtime_seal(runtime) == HEDDLE_OK);
  CHECK(heddle_kernel_create(runtime, SPEC(kGemm), stream, &kernel) == HEDDLE_OK);
  heddle_kernel_destroy(kernel);
  CHECK_CODE(heddle_kernel_create(runtime, SPEC(kRepack), stream, &kernel), HEDDLE_ERROR_MISSING,
             "runtime.sealed");
  heddle_runtime_destroy(runtime);
}

void test_tuned_tables(void) {
  heddle_runtime* runtime = make_runtime(NULL, 0);
  heddle_kernel* kernel = NULL;
  CHECK_CODE(heddle_runtime_set_tuned_tables(runtime, SPEC("a::b")), HEDDLE_ERROR_USAGE,
             "tuned.list");
  CHECK_CODE(heddle_runtime_set_tuned_tables(runtime, NULL, 4), HEDDLE_ERROR_USAGE, "api.null");
  CHECK(heddle_runtime_set_tuned_tables(runtime, SPEC("/nowhere/table.json")) == HEDDLE_OK);
  CHECK_CODE(heddle_kernel_create(runtime, SPEC(kGemm), NULL, &kernel), HEDDLE_ERROR_FILE,
             "tuned.unreadable");
  CHECK(strstr(heddle_error_message(), "/nowhere/table.json") != NULL);
  CHECK(heddle_runtime_set_tuned_tables(runtime, NULL, 0) == HEDDLE_OK);
  CHECK(heddle_runtime_set_tuned_tables(runtime, SPEC("none")) == HEDDLE_OK);
  CHECK(heddle_kernel_create(runtime, SPEC(kGemm), NULL, &kernel) == HEDDLE_OK);
  CHECK_CODE(heddle_runtime_set_tuned_tables(runtime, NULL, 0), HEDDLE_ERROR_USAGE, "tuned.in_use");
  heddle_kernel_destroy(kernel);
  heddle_runtime_destroy(runtime);
}

void test_strict(void) {
  heddle_runtime* runtime = make_runtime(NULL, 1);
  heddle_kernel* kernel = NULL;
  CHECK(heddle_kernel_create(runtime, SPEC(kGemm), NULL, &kernel) == HEDDLE_OK);
  heddle_kernel_destroy(kernel);
  CHECK_CODE(heddle_kernel_create(runtime,
                                  SPEC("{\"heddle\":1,\"op\":\"dequantize\",\"shape\":{\"n\":128,"
                                       "\"k\":256},\"weight\":{\"bits\":4},\"source\":{\"format\":"
                                       "\"heddle\"},\"output\":{\"dtype\":\"fp16\"}}"),
                                  NULL, &kernel),
             HEDDLE_ERROR_MISSING, "runtime.not_in_cache");
  CHECK(strstr(heddle_error_message(), "\"n\":128") != NULL);
  heddle_runtime_destroy(runtime);
}
