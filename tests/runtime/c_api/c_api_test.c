/* An engine in C99 on the fake driver: kernels, launches, packing and builds. */
#define _POSIX_C_SOURCE 200809L

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

int main(void) {
  heddle_runtime* runtime = NULL;
  heddle_kernel* kernel = NULL;
  void *context = NULL, *stream = NULL;
  int lines = 0;
  int32_t has_device = 0;
  heddle_status status = HEDDLE_OK;
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
  test_gemm(kernel, stream);
  test_weight_operations(runtime, kernel);
  test_kv_append(runtime, kernel);
  test_kv_append_query(runtime);
  test_kv_append_by_channel(runtime);
  test_decode_attention(runtime, kernel);
  test_row_transform(runtime, kernel);
  test_moe(runtime, kernel);
  test_packing();
  test_absurd_lengths(runtime);
  test_prepare_and_request(stream);
  test_urgent_first(stream);
  test_strict();
  test_tuned_tables();
  test_builds();
  test_plan_to_kernel();
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
