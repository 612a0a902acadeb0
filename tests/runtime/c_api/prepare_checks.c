/* Urgent kernels first, the others in the background. */
#include "check.h"

static const char kManyM[] =
    "{\"heddle\":1,\"op\":\"gemm\",\"shape\":{\"n\":128,\"k\":512,\"m\":[1,300]},"
    "\"weight\":{\"bits\":4},\"activation\":{\"dtype\":\"fp16\"}}";

static int32_t go_on(void* user, const char* kernel_name, size_t done, size_t total) {
  CHECK(kernel_name != NULL && done >= 1 && done <= total);
  ++*(size_t*)user;
  return 1;
}
static int32_t stop(void* user, const char* kernel_name, size_t done, size_t total) {
  (void)user, (void)kernel_name, (void)done, (void)total;
  return 0;
}

static heddle_m_range range(int64_t first, int64_t last) {
  heddle_m_range result;
  result.first = first;
  result.last = last;
  return result;
}

static void test_refused_preparations(heddle_runtime* runtime, const heddle_text* specs) {
  heddle_preparation* made = (heddle_preparation*)address(16);
  heddle_m_range urgent[3];
  heddle_text wrong = text("{\"heddle\":1}");
  size_t i = 0;
  urgent[0] = urgent[1] = urgent[2] = range(1, 8);
  CHECK_CODE(heddle_preparation_create(runtime, specs, 2, urgent, (size_t)-1, NULL, NULL, &made),
             HEDDLE_ERROR_USAGE, "api.count");
  CHECK(made == NULL);
  CHECK_CODE(heddle_preparation_create(runtime, specs, 2, urgent, 3, NULL, NULL, &made),
             HEDDLE_ERROR_USAGE, "runtime.urgent");
  CHECK_CODE(heddle_preparation_create(runtime, specs, 2, NULL, 0, NULL, NULL, &made),
             HEDDLE_ERROR_USAGE, "runtime.urgent");
  for (i = 0; i < 3; ++i) {
    static const int64_t firsts[] = {0, 9, -1};
    urgent[1] = range(firsts[i], 8 - (int64_t)i);
    if (urgent[1].first == -1) urgent[1].last = -1;
    CHECK_CODE(heddle_preparation_create(runtime, specs, 2, urgent, 2, NULL, NULL, &made),
               HEDDLE_ERROR_USAGE, "runtime.urgent");
  }
  CHECK(heddle_preparation_create(runtime, &wrong, 1, urgent, 1, NULL, NULL, &made) ==
        HEDDLE_ERROR_SPEC);
  CHECK(made == NULL && strstr(heddle_error_message(), "specs[0]") != NULL);
  CHECK_CODE(heddle_preparation_create(runtime, specs, 2, urgent, 1, stop, NULL, &made),
             HEDDLE_ERROR_CANCELLED, "runtime.cancelled");
  CHECK(made == NULL);
}

static void test_refused_questions(heddle_preparation* preparation) {
  heddle_preparation_info info;
  heddle_request* request = NULL;
  memset(&info, 0, sizeof info);
  CHECK_CODE(heddle_preparation_get(preparation, &info), HEDDLE_ERROR_USAGE, "api.struct_size");
  CHECK_CODE(heddle_preparation_get(preparation, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_request_of_preparation(preparation, 2, &request), HEDDLE_ERROR_USAGE,
             "api.index");
}

void test_urgent_first(void* stream) {
  heddle_runtime* runtime = make_runtime(NULL, 0);
  heddle_preparation* preparation = NULL;
  heddle_preparation_info info;
  heddle_request* request = NULL;
  heddle_kernel *kernel = NULL, *best = NULL;
  heddle_m_range urgent = range(1, 8);
  heddle_text specs[2];
  size_t told = 0, meanwhile = 0, then = 0;
  int32_t ready = 0;
  specs[0] = text(kDequantize);
  specs[1] = text(kManyM);
  info.struct_size = sizeof info;
  test_refused_preparations(runtime, specs);
  MUST(heddle_preparation_create(runtime, specs, 2, &urgent, 1, go_on, &told, &preparation) ==
       HEDDLE_OK);
  CHECK(told >= 2);
  test_refused_questions(preparation);
  CHECK(heddle_preparation_get(preparation, &info) == HEDDLE_OK);
  CHECK(info.total > 0 && info.done <= info.total && info.reserved == 0);
  CHECK(heddle_request_of_preparation(preparation, 0, &request) == HEDDLE_OK);
  CHECK(heddle_request_ready(request, &ready) == HEDDLE_OK && ready == 1);
  heddle_request_destroy(request);
  MUST(heddle_request_of_preparation(preparation, 1, &request) == HEDDLE_OK);
  MUST(heddle_request_kernel(request, stream, &kernel) == HEDDLE_OK);
  CHECK(heddle_kernel_max_workspace_bytes(kernel, &meanwhile) == HEDDLE_OK);
  heddle_kernel_destroy(kernel);
  CHECK(heddle_preparation_wait(preparation) == HEDDLE_OK);
  CHECK(heddle_preparation_cancel(preparation) == HEDDLE_OK); /* too late */
  CHECK(heddle_preparation_get(preparation, &info) == HEDDLE_OK);
  CHECK(info.ended == 1 && info.done == info.total);
  heddle_preparation_destroy(preparation);
  MUST(heddle_request_wait(request, &best) == HEDDLE_OK);
  CHECK(heddle_kernel_max_workspace_bytes(best, &then) == HEDDLE_OK && then == meanwhile);
  heddle_kernel_destroy(best);
  heddle_request_destroy(request);
  MUST(heddle_kernel_create(runtime, SPEC(kManyM), stream, &kernel) == HEDDLE_OK);
  heddle_kernel_destroy(kernel);
  heddle_runtime_destroy(runtime);

  /* What is in the cache is there at once, also where nothing may be compiled. */
  runtime = make_runtime(NULL, 1);
  MUST(heddle_preparation_create(runtime, specs, 2, &urgent, 1, NULL, NULL, &preparation) ==
       HEDDLE_OK);
  CHECK(heddle_preparation_get(preparation, &info) == HEDDLE_OK);
  CHECK(info.ended == 1 && info.total == 0);
  heddle_preparation_destroy(preparation);
  heddle_runtime_destroy(runtime);
}
