/* Every function of heddle/heddle.h, from C99, on the fake driver. */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/heddle.h"

/* Of the driver, as an engine declares or loads them. */
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxPushCurrent(void* context);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamBeginCapture(void* stream, int mode);
int cuStreamEndCapture(void* stream, void** graph);

static int failures = 0;

#define CHECK(condition)                                                                   \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      printf("%s:%d: %s\n  %s: %s\n", __FILE__, __LINE__, #condition, heddle_error_code(), \
             heddle_error_message());                                                      \
      ++failures;                                                                          \
    }                                                                                      \
  } while (0)
#define CHECK_CODE(call, status, code) \
  CHECK((call) == (status) && strcmp(heddle_error_code(), (code)) == 0)
#define SPEC(text) text, strlen(text)

static const char kGemm[] =
    "{\"heddle\":1,\"op\":\"gemm\",\"shape\":{\"n\":256,\"k\":512,\"m\":[1,8]},"
    "\"weight\":{\"bits\":4},\"activation\":{\"dtype\":\"fp16\"}}";
static const char kWide[] =
    "{\"heddle\":1,\"op\":\"gemm\",\"shape\":{\"n\":256,\"k\":512,\"m\":[1,16]},"
    "\"weight\":{\"bits\":4},\"activation\":{\"dtype\":\"fp16\"}}";
static const char kDequantize[] =
    "{\"heddle\":1,\"op\":\"dequantize\",\"shape\":{\"n\":64,\"k\":256},"
    "\"weight\":{\"bits\":4},\"source\":{\"format\":\"gptq\"},\"output\":{\"dtype\":\"fp16\"}}";
static const char kRepack[] =
    "{\"heddle\":1,\"op\":\"repack\",\"shape\":{\"n\":64,\"k\":256},"
    "\"weight\":{\"bits\":4},\"source\":{\"format\":\"gptq\"}}";
static const char kQuantize[] =
    "{\"heddle\":1,\"op\":\"quantize_weight\",\"shape\":{\"n\":64,\"k\":256},"
    "\"weight\":{\"bits\":4},\"input\":{\"dtype\":\"fp16\"}}";

static const char kAppend[] =
    "{\"heddle\":1,\"op\":\"kv_append\",\"shape\":{\"kv_heads\":4,\"head_dim\":64},"
    "\"activation\":{\"dtype\":\"fp16\"},\"kv\":{\"dtype\":\"int4\",\"page_size\":16}}";

static char folder[] = "/tmp/heddle-c-api-XXXXXX";

static void* address(size_t value) { return (char*)0 + value; }

static heddle_input input(size_t at, size_t bytes) {
  heddle_input result;
  result.data = address(at);
  result.bytes = bytes;
  return result;
}
static heddle_output output(size_t at, size_t bytes) {
  heddle_output result;
  result.data = address(at);
  result.bytes = bytes;
  return result;
}

static void count_lines(void* user, int32_t level, const char* text, size_t length) {
  CHECK(level >= 0 && level <= 3 && text != NULL && length > 0);
  ++*(int*)user;
}

static heddle_runtime* make_runtime(int* lines, int32_t strict) {
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
  CHECK(strcmp(heddle_error_message(), "") == 0);
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

static void test_gemm(heddle_kernel* kernel, void* stream) {
  heddle_gemm_args args;
  size_t most = 0, bytes = 1, length = 0;
  char text[8];
  CHECK(heddle_kernel_max_workspace_bytes(kernel, &most) == HEDDLE_OK);
  CHECK(heddle_kernel_workspace_bytes(kernel, 8, &bytes) == HEDDLE_OK && bytes <= most);
  CHECK(heddle_kernel_workspace_bytes(kernel, 9, &bytes) == HEDDLE_OK && bytes == 0);
  CHECK(heddle_kernel_plan(kernel, NULL, 0, &length) == HEDDLE_OK && length > 100);
  CHECK(heddle_kernel_plan(kernel, text, sizeof text, &length) == HEDDLE_OK);
  CHECK(text[0] == '{');

  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.m = 8;
  CHECK(heddle_packed_bytes(SPEC(kGemm), &bytes) == HEDDLE_OK);
  args.x = input(0x10000, 8 * 512 * 2);
  args.weights = input(0x20000, bytes);
  args.y = output(0x30000, 8 * 256 * 2);
  args.workspace = output(0x40000, most);
  CHECK(heddle_launch_gemm(kernel, &args, stream) == HEDDLE_OK);

#define REFUSED(change, code)                                                       \
  do {                                                                              \
    heddle_gemm_args bad = args;                                                    \
    bad.change;                                                                     \
    CHECK_CODE(heddle_launch_gemm(kernel, &bad, stream), HEDDLE_ERROR_USAGE, code); \
  } while (0)
  REFUSED(m = 9, "launch.m");
  REFUSED(m = -1, "launch.m");
  REFUSED(x.bytes -= 1, "launch.too_small");
  REFUSED(weights.bytes -= 1, "launch.too_small");
  REFUSED(y.bytes -= 1, "launch.too_small");
  REFUSED(x.data = NULL, "launch.missing");
  REFUSED(y.data = address(0x30002), "launch.misaligned");
  REFUSED(bias = input(0x50000, 512), "launch.unexpected");
#undef REFUSED
}

static void test_kv_append(heddle_runtime* runtime, heddle_kernel* gemm) {
  heddle_kernel* append = NULL;
  heddle_kv_append_args args;
  heddle_kv_bytes bytes;
  const size_t row = 4 * 64 * 2;
  CHECK(heddle_kv_cache_bytes(SPEC(kAppend), 10, 0, &bytes) == HEDDLE_OK);
  CHECK(bytes.k_codes == 10 * 16 * 4 * 32 && bytes.v_scales == 10 * 16 * 4 * 2);
  CHECK_CODE(heddle_kv_cache_bytes(SPEC(kGemm), 10, 0, &bytes), HEDDLE_ERROR_USAGE, "api.op");
  CHECK_CODE(heddle_kv_cache_bytes(SPEC(kAppend), -1, 0, &bytes), HEDDLE_ERROR_USAGE, "api.kv");
  CHECK_CODE(heddle_kv_cache_bytes(SPEC(kAppend), 10, 0, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK(heddle_kernel_create(runtime, SPEC(kAppend), NULL, &append) == HEDDLE_OK);
  memset(&args, 0, sizeof args);
  CHECK_CODE(heddle_launch_kv_append(append, &args, NULL), HEDDLE_ERROR_USAGE, "api.struct_size");
  CHECK_CODE(heddle_launch_kv_append(append, NULL, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_launch_kv_append(NULL, &args, NULL), HEDDLE_ERROR_USAGE, "api.null");
  args.struct_size = sizeof args;
  args.tokens = args.sequences = 3;
  args.k = input(0x10000, 3 * row);
  args.v = input(0x20000, 3 * row);
  args.lengths = input(0x30000, 12);
  args.cache.k.codes = output(0x40000, bytes.k_codes);
  args.cache.k.scales = output(0x50000, bytes.k_scales);
  args.cache.v.codes = output(0x60000, bytes.v_codes);
  args.cache.v.scales = output(0x70000, bytes.v_scales);
  args.cache.pages = 10;
  args.cache.block_table = input(0x80000, 3 * 4 * 4);
  args.cache.table_stride = 4;
  CHECK(heddle_launch_kv_append(append, &args, NULL) == HEDDLE_OK);
  CHECK_CODE(heddle_launch_kv_append(gemm, &args, NULL), HEDDLE_ERROR_USAGE, "launch.op");
  {
    size_t* const sizes[] = {&args.k.bytes, &args.lengths.bytes, &args.cache.k.codes.bytes,
                             &args.cache.v.scales.bytes, &args.cache.block_table.bytes};
    size_t i;
    for (i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
      *sizes[i] -= 1;
      CHECK_CODE(heddle_launch_kv_append(append, &args, NULL), HEDDLE_ERROR_USAGE,
                 "launch.too_small");
      *sizes[i] += 1;
    }
  }
  args.tokens = 4;
  CHECK_CODE(heddle_launch_kv_append(append, &args, NULL), HEDDLE_ERROR_USAGE, "launch.size");
  heddle_kernel_destroy(append);
}

static void test_weight_operations(heddle_runtime* runtime, heddle_kernel* gemm) {
  heddle_kernel *dequantize = NULL, *repack = NULL, *quantize = NULL;
  heddle_weight_source source;
  size_t packed = 0, bytes = 0;
  const size_t matrix = 64 * 256 * 2;
  CHECK(heddle_kernel_create(runtime, SPEC(kDequantize), NULL, &dequantize) == HEDDLE_OK);
  CHECK(heddle_kernel_create(runtime, SPEC(kRepack), NULL, &repack) == HEDDLE_OK);
  CHECK(heddle_kernel_create(runtime, SPEC(kQuantize), NULL, &quantize) == HEDDLE_OK);
  CHECK(heddle_packed_bytes(SPEC(kRepack), &packed) == HEDDLE_OK && packed > 64 * 256 / 2);
  memset(&source, 0, sizeof source);
  source.weights = input(0x10000, 64 * 256 / 2);
  source.scales = input(0x20000, 2 * 64 * 2);
  CHECK(heddle_launch_dequantize(dequantize, &source, output(0x40000, matrix), NULL) == HEDDLE_OK);
  CHECK(heddle_launch_repack(repack, &source, output(0x40000, packed), NULL) == HEDDLE_OK);
  CHECK(heddle_launch_quantize_weight(quantize, input(0x10000, matrix), output(0x40000, packed),
                                      NULL) == HEDDLE_OK);
  CHECK_CODE(heddle_launch_dequantize(dequantize, &source, output(0x40000, matrix - 1), NULL),
             HEDDLE_ERROR_USAGE, "launch.too_small");
  CHECK_CODE(heddle_launch_repack(repack, &source, output(0x40000, packed - 1), NULL),
             HEDDLE_ERROR_USAGE, "launch.too_small");
  CHECK_CODE(heddle_launch_quantize_weight(quantize, input(0x10000, matrix - 1),
                                           output(0x40000, packed), NULL),
             HEDDLE_ERROR_USAGE, "launch.too_small");
  source.scales.bytes -= 1;
  CHECK_CODE(heddle_launch_repack(repack, &source, output(0x40000, packed), NULL),
             HEDDLE_ERROR_USAGE, "launch.too_small");
  CHECK_CODE(heddle_launch_dequantize(gemm, &source, output(0x40000, matrix), NULL),
             HEDDLE_ERROR_USAGE, "launch.op");
  CHECK_CODE(heddle_kernel_max_workspace_bytes(repack, &bytes), HEDDLE_ERROR_USAGE, "launch.op");
  heddle_kernel_destroy(dequantize);
  heddle_kernel_destroy(repack);
  heddle_kernel_destroy(quantize);
}

static void test_packing(void) {
  static uint8_t codes[256 * 512], packed[256 * 512];
  static uint16_t scales[256 * 4];
  heddle_quantized_weights weights;
  size_t bytes = 0, i = 0, written = 0;
  for (i = 0; i < sizeof codes; ++i) codes[i] = (uint8_t)(i % 16);
  for (i = 0; i < 256 * 4; ++i) scales[i] = 0x3c00;
  memset(&weights, 0, sizeof weights);
  weights.struct_size = sizeof weights;
  weights.codes = codes;
  weights.codes_bytes = sizeof codes;
  weights.scales = scales;
  weights.scales_bytes = sizeof scales;
  CHECK(heddle_packed_bytes(SPEC(kGemm), &bytes) == HEDDLE_OK && bytes < sizeof packed);
  CHECK(heddle_pack_weights(SPEC(kGemm), &weights, packed, bytes) == HEDDLE_OK);
  for (i = 0; i < bytes; ++i) written += packed[i] != 0;
  CHECK(written > bytes / 2);
  CHECK_CODE(heddle_pack_weights(SPEC(kGemm), &weights, packed, bytes - 1), HEDDLE_ERROR_USAGE,
             "api.too_small");
  CHECK_CODE(heddle_pack_weights(SPEC(kRepack), &weights, packed, bytes), HEDDLE_ERROR_USAGE,
             "api.op");
  weights.codes_bytes -= 1;
  CHECK(heddle_pack_weights(SPEC(kGemm), &weights, packed, bytes) == HEDDLE_ERROR_USAGE);
}

static int32_t go_on(void* user, const char* kernel_name, size_t done, size_t total) {
  CHECK(kernel_name != NULL && done >= 1 && done <= total);
  ++*(int*)user;
  return 1;
}
static int32_t stop(void* user, const char* kernel_name, size_t done, size_t total) {
  (void)user, (void)kernel_name, (void)done, (void)total;
  return 0;
}

static void test_prepare_and_request(void* stream) {
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

static void test_strict(void) {
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

int main(void) {
  heddle_runtime* runtime = NULL;
  heddle_kernel* kernel = NULL;
  void *context = NULL, *stream = NULL;
  int lines = 0;
  int32_t has_device = 0;
  heddle_status status = HEDDLE_OK;
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
  test_gemm(kernel, stream);
  test_weight_operations(runtime, kernel);
  test_kv_append(runtime, kernel);
  test_packing();
  test_prepare_and_request(stream);
  test_strict();
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
