/* Every function of heddle/heddle.h, from C99, on the fake driver. */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdlib.h>

#include "check.h"

int failures = 0;

static char folder[] = "/tmp/heddle-c-api-XXXXXX";

static void count_lines(void* user, int32_t level, const char* text, size_t length) {
  CHECK(level >= 0 && level <= 3 && text != NULL && length > 0);
  ++*(int*)user;
}

heddle_runtime* make_runtime(int* lines, int32_t strict) {
  heddle_runtime_options options;
  heddle_runtime* runtime = NULL;
  char cache[64];
  snprintf(cache, sizeof cache, "%s/cache", folder);
  CHECK(heddle_runtime_options_init(&options, sizeof options) == HEDDLE_OK);
  CHECK(options.cache_max_bytes > 0 && options.disk_cache == 1 && options.strict == 0);
  options.cache_dir.data = cache;
  options.cache_dir.length = strlen(cache);
  options.strict = strict;
  options.log = lines == NULL ? NULL : count_lines;
  options.log_user = lines;
  CHECK(heddle_runtime_create(&options, &runtime) == HEDDLE_OK);
  return runtime;
}

static void test_statuses(void) {
  CHECK(strcmp(heddle_status_name(HEDDLE_OK), "ok") == 0);
  CHECK(strcmp(heddle_status_name(HEDDLE_ERROR_DRIVER), "driver") == 0);
  CHECK(strcmp(heddle_status_name(HEDDLE_ERROR_OUT_OF_MEMORY), "out of memory") == 0);
  CHECK(strcmp(heddle_status_name(-1), "unknown") == 0);
  CHECK(strcmp(heddle_status_name(999), "unknown") == 0);
  CHECK(strlen(heddle_version()) > 0);
  CHECK(strcmp(heddle_error_message(), "") == 0 && strcmp(heddle_error_log(), "") == 0);
}

static void test_nulls(heddle_runtime* runtime, heddle_kernel* kernel) {
  heddle_kernel* made = NULL;
  heddle_request* request = NULL;
  heddle_gemm_args args;
  heddle_weight_source source;
  heddle_quantized_weights weights;
  int32_t flag = 0;
  size_t bytes = 0;
  memset(&args, 0, sizeof args);
  memset(&source, 0, sizeof source);
  memset(&weights, 0, sizeof weights);
  CHECK_CODE(heddle_runtime_options_init(NULL, 0), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_runtime_create(NULL, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_runtime_has_device(NULL, &flag), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_runtime_has_device(runtime, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_kernel_create(NULL, SPEC(kGemm), NULL, &made), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_kernel_create(runtime, NULL, 5, NULL, &made), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_kernel_create(runtime, SPEC(kGemm), NULL, NULL), HEDDLE_ERROR_USAGE,
             "api.null");
  CHECK_CODE(heddle_runtime_seal(NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_runtime_set_tuned_tables(NULL, SPEC("none")), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_prepare(runtime, NULL, 1, NULL, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_request_create(runtime, SPEC(kGemm), NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_request_create(NULL, SPEC(kGemm), &request), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_request_ready(NULL, &flag), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_request_wait(NULL, &made), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_request_kernel(NULL, NULL, &made), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_kernel_workspace_bytes(NULL, 1, &bytes), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_kernel_max_workspace_bytes(kernel, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_kernel_plan(kernel, NULL, 10, &bytes), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_launch_gemm(NULL, &args, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_launch_gemm(kernel, NULL, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_launch_gemm(kernel, &args, NULL), HEDDLE_ERROR_USAGE, "api.struct_size");
  CHECK_CODE(heddle_launch_dequantize(NULL, &source, output(0, 0), NULL), HEDDLE_ERROR_USAGE,
             "api.null");
  CHECK_CODE(heddle_launch_repack(kernel, NULL, output(0, 0), NULL), HEDDLE_ERROR_USAGE,
             "api.null");
  CHECK_CODE(heddle_launch_quantize_weight(NULL, input(0, 0), output(0, 0), NULL),
             HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_packed_bytes(SPEC(kGemm), NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_pack_weights(SPEC(kGemm), &weights, &bytes, 0), HEDDLE_ERROR_USAGE,
             "api.struct_size");
  heddle_runtime_destroy(NULL);
  heddle_kernel_destroy(NULL);
  heddle_request_destroy(NULL);
}

static void test_errors(heddle_runtime* runtime) {
  heddle_kernel* kernel = (heddle_kernel*)address(16);
  heddle_runtime_options options;
  heddle_runtime* other = NULL;
  CHECK(heddle_kernel_create(runtime, SPEC("{\"heddle\":1}"), NULL, &kernel) == HEDDLE_ERROR_SPEC);
  CHECK(kernel == NULL);
  CHECK(strstr(heddle_error_message(), "op") != NULL);
  CHECK(heddle_kernel_create(runtime, NULL, 0, NULL, &kernel) == HEDDLE_ERROR_SPEC);
  CHECK(heddle_runtime_options_init(&options, 8) == HEDDLE_ERROR_USAGE);
  CHECK(heddle_runtime_options_init(&options, sizeof options) == HEDDLE_OK);
  options.cache_dir.data = "rw:/a:rw:/b";
  options.cache_dir.length = strlen(options.cache_dir.data);
  CHECK_CODE(heddle_runtime_create(&options, &other), HEDDLE_ERROR_USAGE, "cache.roots");
  CHECK(other == NULL);
  options.struct_size = 0;
  CHECK_CODE(heddle_runtime_create(&options, &other), HEDDLE_ERROR_USAGE, "api.struct_size");
}

static void* other_thread(void* unused) {
  (void)unused;
  CHECK(strcmp(heddle_error_message(), "") == 0);
  CHECK(heddle_packed_bytes("{", 1, NULL) == HEDDLE_ERROR_USAGE);
  CHECK(strcmp(heddle_error_code(), "api.null") == 0);
  return NULL;
}

static void test_message_per_thread(heddle_runtime* runtime) {
  pthread_t thread;
  heddle_kernel* kernel = NULL;
  char before[256];
  CHECK(heddle_kernel_create(runtime, SPEC("{}"), NULL, &kernel) == HEDDLE_ERROR_SPEC);
  snprintf(before, sizeof before, "%s", heddle_error_message());
  CHECK(pthread_create(&thread, NULL, other_thread, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(strncmp(heddle_error_message(), before, sizeof before - 1) == 0);
}

/* Handles may be asked by several threads at the same time; texts are made once. */
static void* ask_plan(void* plan) {
  heddle_text json, description;
  CHECK(heddle_plan_json(plan, &json) == HEDDLE_OK && json.length > 0);
  CHECK(heddle_plan_description(plan, &description) == HEDDLE_OK && description.length > 0);
  return (void*)(uintptr_t)json.data;
}
static void test_threads(void) {
  pthread_t threads[4];
  heddle_plan* plan = plan_for(kGemm, "h200");
  heddle_text json;
  size_t i = 0;
  for (i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, ask_plan, plan) == 0);
  CHECK(heddle_plan_json(plan, &json) == HEDDLE_OK);
  for (i = 0; i < 4; ++i) {
    void* seen = NULL;
    CHECK(pthread_join(threads[i], &seen) == 0 && seen == json.data);
  }
  heddle_plan_destroy(plan);
}

int main(void) {
  heddle_runtime* runtime = NULL;
  heddle_kernel* kernel = NULL;
  void *context = NULL, *stream = NULL;
  int lines = 0;
  int32_t has_device = 0;
  heddle_status status = HEDDLE_OK;
  test_no_error();
  test_statuses();
  if (mkdtemp(folder) == NULL) return 1;
  runtime = make_runtime(&lines, 0);
  CHECK(heddle_runtime_has_device(runtime, &has_device) == HEDDLE_OK && has_device == 1);
  CHECK(cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxPushCurrent(context) == 0);
  CHECK(cuStreamCreate(&stream, 0) == 0);
  status = heddle_kernel_create(runtime, SPEC(kGemm), stream, &kernel);
  if (status == HEDDLE_ERROR_DRIVER && strcmp(heddle_error_code(), "nvrtc.missing") == 0) {
    printf("skipped: %s\n", heddle_error_message());
    return 77;
  }
  CHECK(status == HEDDLE_OK);
  CHECK(lines > 0);
  test_nulls(runtime, kernel);
  test_errors(runtime);
  test_error_objects();
  test_structs(kernel);
  test_gemm(kernel, stream);
  test_weight_operations(runtime, kernel);
  test_kv_append(runtime, kernel);
  test_kv_append_query(runtime);
  test_kv_append_by_channel(runtime);
  test_decode_attention(runtime, kernel);
  test_row_transform(runtime, kernel);
  test_packing();
  test_absurd_lengths(runtime);
  test_prepare_and_request(stream);
  test_urgent_first(stream);
  test_strict();
  test_tuned_tables();
  test_builds();
  test_plan_to_kernel();
  test_threads();
  test_message_per_thread(runtime);
  heddle_runtime_destroy(runtime);
  test_gemm(kernel, stream); /* a kernel outlives its runtime */
  heddle_kernel_destroy(kernel);
  {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
  }
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
