/* Structs of callers whose header is older or newer than the library's. */
#include <stdlib.h>

#include "check.h"

/* A struct of a newer header: this library's, and fields behind it that it does not know. */
#define NEWER(Struct)        \
  struct {                   \
    Struct known;            \
    unsigned char added[24]; \
  }

static void test_options(void) {
  NEWER(heddle_runtime_options) options;
  heddle_runtime* runtime = NULL;
  size_t i = 0;
  const size_t size = sizeof options.known;
  memset(&options, 0xee, sizeof options);
  CHECK(heddle_runtime_options_init(&options.known, size) == HEDDLE_OK);
  CHECK(options.known.struct_size == size && options.added[0] == 0xee);
  CHECK(heddle_runtime_options_init(&options.known, sizeof options) == HEDDLE_OK);
  CHECK(options.known.struct_size == sizeof options && options.known.disk_cache == 1);
  for (i = 0; i < sizeof options.added; ++i) CHECK(options.added[i] == 0);
  options.known.disk_cache = 0;
  CHECK(heddle_runtime_create(&options.known, &runtime) == HEDDLE_OK && runtime != NULL);
  heddle_runtime_destroy(runtime);
  options.added[sizeof options.added - 1] = 1;
  CHECK_CODE(heddle_runtime_create(&options.known, &runtime), HEDDLE_ERROR_USAGE,
             "api.struct_size");
  CHECK(runtime == NULL && strstr(heddle_error_message(), "heddle_runtime_options") != NULL);
  {
    static const size_t absurd[] = {0, 1, 8, HEDDLE_MAX_STRUCT_SIZE + 1, SIZE_MAX / 2, SIZE_MAX};
    for (i = 0; i < sizeof absurd / sizeof *absurd; ++i) {
      CHECK_CODE(heddle_runtime_options_init(&options.known, absurd[i]), HEDDLE_ERROR_USAGE,
                 "api.struct_size");
      options.known.struct_size = absurd[i];
      CHECK_CODE(heddle_runtime_create(&options.known, &runtime), HEDDLE_ERROR_USAGE,
                 "api.struct_size");
    }
  }
}

/* Fields that came later: a caller whose header ends before them leaves what follows undefined. */
static void test_later_options(void) {
  heddle_runtime_options options;
  heddle_runtime* runtime = NULL;
  heddle_text root = {"/image\0layer", 12};
  memset(&options, 0xee, sizeof options);
  CHECK(heddle_runtime_options_init(&options, offsetof(heddle_runtime_options, read_only_roots)) ==
        HEDDLE_OK);
  CHECK(options.read_only_root_count != 0);
  options.disk_cache = 0;
  CHECK(heddle_runtime_create(&options, &runtime) == HEDDLE_OK);
  heddle_runtime_destroy(runtime);
  CHECK(heddle_runtime_options_init(&options, sizeof options) == HEDDLE_OK);
  CHECK(options.read_only_roots == NULL && options.read_only_root_count == 0);
  options.read_only_root_count = 1;
  CHECK_CODE(heddle_runtime_create(&options, &runtime), HEDDLE_ERROR_USAGE, "api.null");
  options.read_only_roots = &root;
  CHECK_CODE(heddle_runtime_create(&options, &runtime), HEDDLE_ERROR_USAGE, "api.path");
  CHECK(runtime == NULL && strstr(heddle_error_message(), "read_only_roots") != NULL);
  options.read_only_root_count = SIZE_MAX;
  CHECK_CODE(heddle_runtime_create(&options, &runtime), HEDDLE_ERROR_USAGE, "api.count");
}

/* The largest size is read to its last byte, and no further. */
static void test_largest(void) {
  unsigned char* bytes = calloc(1, HEDDLE_MAX_STRUCT_SIZE);
  heddle_runtime_options* options = (heddle_runtime_options*)(void*)bytes;
  heddle_runtime* runtime = NULL;
  if (bytes == NULL) exit(1);
  CHECK(heddle_runtime_options_init(options, HEDDLE_MAX_STRUCT_SIZE) == HEDDLE_OK);
  CHECK(heddle_runtime_create(options, &runtime) == HEDDLE_OK);
  heddle_runtime_destroy(runtime);
  bytes[HEDDLE_MAX_STRUCT_SIZE - 1] = 1;
  CHECK_CODE(heddle_runtime_create(options, &runtime), HEDDLE_ERROR_USAGE, "api.struct_size");
  free(bytes);
}

static void test_weights(void) {
  static uint8_t codes[256 * 512], packed[256 * 512];
  static uint16_t scales[256 * 4];
  NEWER(heddle_quantized_weights) weights;
  size_t bytes = 0;
  memset(&weights, 0, sizeof weights);
  weights.known.codes = codes;
  weights.known.codes_bytes = sizeof codes;
  weights.known.scales = scales;
  weights.known.scales_bytes = sizeof scales;
  CHECK(heddle_packed_bytes(SPEC(kGemm), &bytes) == HEDDLE_OK);
  weights.known.struct_size = sizeof weights;
  CHECK(heddle_pack_weights(SPEC(kGemm), &weights.known, packed, bytes) == HEDDLE_OK);
  weights.added[0] = 1;
  CHECK_CODE(heddle_pack_weights(SPEC(kGemm), &weights.known, packed, bytes), HEDDLE_ERROR_USAGE,
             "api.struct_size");
  weights.known.struct_size = sizeof weights.known; /* bytes behind the struct are not its own */
  CHECK(heddle_pack_weights(SPEC(kGemm), &weights.known, packed, bytes) == HEDDLE_OK);
  /* That of the first version, without scales of channels, and less. */
  weights.known.struct_size = offsetof(heddle_quantized_weights, channel_scales);
  CHECK(heddle_pack_weights(SPEC(kGemm), &weights.known, packed, bytes) == HEDDLE_OK);
  weights.known.struct_size -= sizeof(void*);
  CHECK_CODE(heddle_pack_weights(SPEC(kGemm), &weights.known, packed, bytes), HEDDLE_ERROR_USAGE,
             "api.struct_size");
}

/* Launches of no kernel of the operation: the struct is looked at before that. */
static void test_launches(heddle_kernel* kernel) {
  NEWER(heddle_gemm_args) gemm;
  NEWER(heddle_kv_append_args) append;
  NEWER(heddle_decode_attention_args) attention;
  memset(&gemm, 0, sizeof gemm);
  memset(&append, 0, sizeof append);
  memset(&attention, 0, sizeof attention);
  gemm.known.struct_size = sizeof gemm;
  append.known.struct_size = sizeof append;
  attention.known.struct_size = sizeof attention;
  CHECK_CODE(heddle_launch_gemm(kernel, &gemm.known, NULL), HEDDLE_ERROR_USAGE, "launch.m");
  CHECK_CODE(heddle_launch_kv_append(kernel, &append.known, NULL), HEDDLE_ERROR_USAGE, "launch.op");
  CHECK_CODE(heddle_launch_decode_attention(kernel, &attention.known, NULL), HEDDLE_ERROR_USAGE,
             "launch.op");
  gemm.added[3] = append.added[3] = attention.added[3] = 1;
  CHECK_CODE(heddle_launch_gemm(kernel, &gemm.known, NULL), HEDDLE_ERROR_USAGE, "api.struct_size");
  CHECK_CODE(heddle_launch_kv_append(kernel, &append.known, NULL), HEDDLE_ERROR_USAGE,
             "api.struct_size");
  CHECK_CODE(heddle_launch_decode_attention(kernel, &attention.known, NULL), HEDDLE_ERROR_USAGE,
             "api.struct_size");
}

static void test_results(void) {
  NEWER(heddle_error_info) info;
  heddle_error* error = NULL;
  size_t i = 0;
  CHECK(heddle_packed_bytes("{", 1, &i) == HEDDLE_ERROR_SPEC);
  CHECK(heddle_error_create(&error) == HEDDLE_OK && error != NULL);
  memset(&info, 0xee, sizeof info);
  info.known.struct_size = sizeof info.known;
  MUST(heddle_error_get(error, &info.known) == HEDDLE_OK);
  CHECK(info.known.status == HEDDLE_ERROR_SPEC && info.added[0] == 0xee);
  info.known.struct_size = sizeof info;
  MUST(heddle_error_get(error, &info.known) == HEDDLE_OK);
  CHECK(info.known.struct_size == sizeof info);
  for (i = 0; i < sizeof info.added; ++i) CHECK(info.added[i] == 0);
  info.known.struct_size = 0;
  CHECK_CODE(heddle_error_get(error, &info.known), HEDDLE_ERROR_USAGE, "api.struct_size");
  info.known.struct_size = SIZE_MAX;
  CHECK_CODE(heddle_error_get(error, &info.known), HEDDLE_ERROR_USAGE, "api.struct_size");
  heddle_error_destroy(error);
}

void test_structs(heddle_kernel* kernel) {
  test_options();
  test_later_options();
  test_largest();
  test_weights();
  test_launches(kernel);
  test_results();
}
