/* Launches and their refusals, and packing. */
#include <stdint.h>

#include "check.h"

static const char kQuantize[] =
    "{\"heddle\":1,\"op\":\"quantize_weight\",\"shape\":{\"n\":64,\"k\":256},"
    "\"weight\":{\"bits\":4},\"input\":{\"dtype\":\"fp16\"}}";

static const char kAppend[] =
    "{\"heddle\":1,\"op\":\"kv_append\",\"shape\":{\"kv_heads\":4,\"head_dim\":64},"
    "\"activation\":{\"dtype\":\"fp16\"},\"kv\":{\"dtype\":\"int4\",\"page_size\":16}}";

static const char kContiguousAppend[] =
    "{\"heddle\":1,\"op\":\"kv_append\",\"shape\":{\"kv_heads\":4,\"head_dim\":64},"
    "\"activation\":{\"dtype\":\"fp16\"},\"kv\":{\"dtype\":\"int4\",\"layout\":\"contiguous\"}}";

/* Groups that do not divide a head. */
static const char kUnevenAppend[] =
    "{\"heddle\":1,\"op\":\"kv_append\",\"shape\":{\"kv_heads\":4,\"head_dim\":64},"
    "\"activation\":{\"dtype\":\"fp16\"},\"kv\":{\"dtype\":\"int4\",\"granularity\":\"group\","
    "\"group_size\":48}}";

static const char kChannelAppend[] =
    "{\"heddle\":1,\"op\":\"kv_append\",\"shape\":{\"kv_heads\":4,\"head_dim\":64},"
    "\"activation\":{\"dtype\":\"fp16\"},\"kv\":{\"k\":{\"granularity\":\"channel\"},"
    "\"dtype\":\"int4\",\"page_size\":64}}";

static const char kQueryAppend[] =
    "{\"heddle\":1,\"op\":\"kv_append\",\"shape\":{\"kv_heads\":4,\"head_dim\":64},"
    "\"activation\":{\"dtype\":\"fp16\"},\"kv\":{\"dtype\":\"int4\",\"page_size\":16},"
    "\"query\":{\"heads\":8},\"norm\":{\"epsilon\":1e-6}}";

static const char kAttention[] =
    "{\"heddle\":1,\"op\":\"decode_attention\",\"shape\":{\"heads\":8,\"kv_heads\":4,"
    "\"head_dim\":64},\"activation\":{\"dtype\":\"fp16\"},\"kv\":{\"dtype\":\"int4\","
    "\"page_size\":16},\"alibi\":\"given\",\"log_sum_exp\":true}";

void test_gemm(heddle_kernel* kernel, void* stream) {
  heddle_gemm_args args;
  size_t most = 0, bytes = 1;
  CHECK(heddle_kernel_max_workspace_bytes(kernel, &most) == HEDDLE_OK);
  CHECK(heddle_kernel_workspace_bytes(kernel, 8, &bytes) == HEDDLE_OK && bytes <= most);
  CHECK_CODE(heddle_kernel_workspace_bytes(kernel, 9, &bytes), HEDDLE_ERROR_USAGE, "launch.m");
  CHECK_CODE(heddle_kernel_workspace_bytes(kernel, -1, &bytes), HEDDLE_ERROR_USAGE, "launch.m");

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
  REFUSED(x_scales = input(0x50000, 32), "launch.unexpected");
  REFUSED(x_zero_points = input(0x50000, 32), "launch.unexpected");
  REFUSED(y_scales = output(0x50000, 4), "launch.unexpected");
#undef REFUSED
}

/* A cache of 10 pages, for 3 sequences of up to 4 pages. */
static heddle_kv_cache cache_of(const heddle_kv_bytes* bytes) {
  heddle_kv_cache cache;
  memset(&cache, 0, sizeof cache);
  cache.k.codes = output(0x40000, bytes->k_codes);
  cache.k.scales = output(0x50000, bytes->k_scales);
  cache.v.codes = output(0x60000, bytes->v_codes);
  cache.v.scales = output(0x70000, bytes->v_scales);
  cache.pages = 10;
  cache.block_table = input(0x80000, 3 * 4 * 4);
  cache.table_stride = 4;
  return cache;
}

/* One new token of each of three sequences. */
static heddle_kv_append_args three_tokens(const heddle_kv_bytes* bytes) {
  const size_t row = 4 * 64 * 2;
  heddle_kv_append_args args;
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.tokens = args.sequences = 3;
  args.k = input(0x10000, 3 * row);
  args.v = input(0x20000, 3 * row);
  args.lengths = input(0x30000, 12);
  args.cache = cache_of(bytes);
  return args;
}

void test_kv_append(heddle_runtime* runtime, heddle_kernel* gemm) {
  heddle_kernel* append = NULL;
  heddle_kv_append_args args;
  heddle_kv_bytes bytes;
  heddle_kv_bytes other;
  static const int64_t wrong[] = {-1, 17, (int64_t)1 << 31, INT64_MAX, INT64_MIN};
  size_t i = 0;
  CHECK(heddle_kv_cache_bytes(SPEC(kAppend), 10, 0, &bytes) == HEDDLE_OK);
  CHECK(bytes.k_codes == 10 * 16 * 4 * 32 && bytes.v_scales == 10 * 16 * 4 * 2);
  CHECK_CODE(heddle_kv_cache_bytes(SPEC(kGemm), 10, 0, &bytes), HEDDLE_ERROR_USAGE, "api.op");
  CHECK_CODE(heddle_kv_cache_bytes(SPEC(kAppend), -1, 0, &bytes), HEDDLE_ERROR_USAGE, "api.kv");
  CHECK_CODE(heddle_kv_cache_bytes(SPEC(kAppend), (int64_t)1 << 50, 0, &bytes), HEDDLE_ERROR_USAGE,
             "api.kv");
  CHECK(heddle_kv_cache_bytes(SPEC(kAppend), 10, 16, &other) == HEDDLE_OK);
  for (i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    CHECK_CODE(heddle_kv_cache_bytes(SPEC(kAppend), 10, wrong[i], &other), HEDDLE_ERROR_USAGE,
               "launch.size");
  }
  CHECK(heddle_kv_cache_bytes(SPEC(kContiguousAppend), 10, 100, &other) == HEDDLE_OK);
  CHECK(other.k_codes == 10 * 100 * 4 * 32);
  for (i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    if (wrong[i] == 17) continue;
    CHECK_CODE(heddle_kv_cache_bytes(SPEC(kContiguousAppend), 10, wrong[i], &other),
               HEDDLE_ERROR_USAGE, "launch.size");
  }
  CHECK_CODE(heddle_kv_cache_bytes(SPEC(kContiguousAppend), 10, 0, &other), HEDDLE_ERROR_USAGE,
             "launch.size");
  CHECK_CODE(heddle_kv_cache_bytes(SPEC(kContiguousAppend), 2147483647, (int64_t)1 << 28, &other),
             HEDDLE_ERROR_USAGE, "api.kv");
  CHECK_CODE(heddle_kv_cache_bytes(SPEC(kUnevenAppend), 10, 0, &bytes), HEDDLE_ERROR_UNSUPPORTED,
             "plan.unsupported");
  CHECK(heddle_kernel_create(runtime, SPEC(kAppend), NULL, &append) == HEDDLE_OK);
  memset(&args, 0, sizeof args);
  CHECK_CODE(heddle_launch_kv_append(append, &args, NULL), HEDDLE_ERROR_USAGE, "api.struct_size");
  args = three_tokens(&bytes);
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
  for (i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    args.cache.page_tokens = wrong[i];
    CHECK_CODE(heddle_launch_kv_append(append, &args, NULL), HEDDLE_ERROR_USAGE, "launch.size");
  }
  args.cache.page_tokens = 16;
  CHECK(heddle_launch_kv_append(append, &args, NULL) == HEDDLE_OK);
  args.tokens = 4;
  CHECK_CODE(heddle_launch_kv_append(append, &args, NULL), HEDDLE_ERROR_USAGE, "launch.size");
  heddle_kernel_destroy(append);
}

/* Q of 8 heads and norms. */
void test_kv_append_query(heddle_runtime* runtime) {
  const size_t q_row = 8 * 64 * 2;
  heddle_kernel* append = NULL;
  heddle_kv_append_args args;
  heddle_kv_bytes bytes;
  CHECK(heddle_kv_cache_bytes(SPEC(kQueryAppend), 10, 0, &bytes) == HEDDLE_OK);
  CHECK(heddle_kernel_create(runtime, SPEC(kQueryAppend), NULL, &append) == HEDDLE_OK);
  args = three_tokens(&bytes);
  CHECK_CODE(heddle_launch_kv_append(append, &args, NULL), HEDDLE_ERROR_USAGE, "launch.missing");
  args.q = input(0x90000, 3 * q_row);
  args.q_out = output(0xA0000, 3 * q_row);
  args.k_norm = input(0xB0000, 64 * 2);
  args.q_norm = input(0xC0000, 64 * 2);
  CHECK(heddle_launch_kv_append(append, &args, NULL) == HEDDLE_OK);
  args.q_out = output(0x90000, 3 * q_row);
  CHECK(heddle_launch_kv_append(append, &args, NULL) == HEDDLE_OK);
  args.q_stride = 1024;
  args.q.bytes = 2 * 1024 * 2 + q_row;
  CHECK_CODE(heddle_launch_kv_append(append, &args, NULL), HEDDLE_ERROR_USAGE, "launch.overlap");
  args.q_out = output(0xA0000, 3 * q_row);
  CHECK(heddle_launch_kv_append(append, &args, NULL) == HEDDLE_OK);
  args.q.bytes -= 1;
  CHECK_CODE(heddle_launch_kv_append(append, &args, NULL), HEDDLE_ERROR_USAGE, "launch.too_small");
  args.q.bytes += 1;
  heddle_kernel_destroy(append);
  CHECK(heddle_kernel_create(runtime, SPEC(kAppend), NULL, &append) == HEDDLE_OK);
  CHECK_CODE(heddle_launch_kv_append(append, &args, NULL), HEDDLE_ERROR_USAGE, "launch.unexpected");
  heddle_kernel_destroy(append);
}

/* 8 slots of a window of 32 tokens. */
void test_kv_append_by_channel(heddle_runtime* runtime) {
  heddle_kernel* append = NULL;
  heddle_kv_append_args args;
  heddle_kv_bytes bytes;
  CHECK(heddle_kv_cache_bytes(SPEC(kChannelAppend), 10, 0, &bytes) == HEDDLE_OK);
  CHECK(bytes.k_scales == 10 * 2 * 4 * 64 * 2 && bytes.k_residual == 4 * 32 * 64 * 2);
  CHECK(heddle_kernel_create(runtime, SPEC(kChannelAppend), NULL, &append) == HEDDLE_OK);
  args = three_tokens(&bytes);
  CHECK_CODE(heddle_launch_kv_append(append, &args, NULL), HEDDLE_ERROR_USAGE, "launch.missing");
  args.cache.k.residual = output(0xA0000, 8 * bytes.k_residual);
  args.cache.residual_slot_count = 8;
  CHECK(heddle_launch_kv_append(append, &args, NULL) == HEDDLE_OK);
  args.cache.residual_slots = input(0xB0000, 12);
  CHECK(heddle_launch_kv_append(append, &args, NULL) == HEDDLE_OK);
  args.cache.residual_slots.bytes -= 1;
  CHECK_CODE(heddle_launch_kv_append(append, &args, NULL), HEDDLE_ERROR_USAGE, "launch.too_small");
  args.cache.residual_slots.bytes += 1;
  args.cache.k.residual.bytes -= 1;
  CHECK_CODE(heddle_launch_kv_append(append, &args, NULL), HEDDLE_ERROR_USAGE, "launch.too_small");
  heddle_kernel_destroy(append);
}

void test_decode_attention(heddle_runtime* runtime, heddle_kernel* gemm) {
  heddle_kernel* attention = NULL;
  heddle_decode_attention_args args;
  heddle_kv_bytes bytes;
  size_t workspace = 0;
  const size_t queries = 3 * 8;
  CHECK(heddle_kv_cache_bytes(SPEC(kAttention), 10, 0, &bytes) == HEDDLE_OK);
  CHECK(heddle_kernel_create(runtime, SPEC(kAttention), NULL, &attention) == HEDDLE_OK);
  CHECK(heddle_kernel_max_workspace_bytes(attention, &workspace) == HEDDLE_OK && workspace > 0);
  memset(&args, 0, sizeof args);
  CHECK_CODE(heddle_launch_decode_attention(attention, &args, NULL), HEDDLE_ERROR_USAGE,
             "api.struct_size");
  args.struct_size = sizeof args;
  args.sequences = 3;
  args.q = input(0x10000, queries * 64 * 2);
  args.out = output(0x20000, queries * 64 * 2);
  args.lengths = input(0x30000, 12);
  args.cache = cache_of(&bytes);
  args.slopes = input(0x90000, 8 * 4);
  args.log_sum_exp = output(0xA0000, queries * 4);
  args.workspace = output(0xB0000, workspace);
  CHECK(heddle_launch_decode_attention(attention, &args, NULL) == HEDDLE_OK);
  CHECK_CODE(heddle_launch_decode_attention(gemm, &args, NULL), HEDDLE_ERROR_USAGE, "launch.op");
  {
    size_t* const sizes[] = {&args.q.bytes,
                             &args.out.bytes,
                             &args.lengths.bytes,
                             &args.slopes.bytes,
                             &args.log_sum_exp.bytes,
                             &args.cache.k.scales.bytes,
                             &args.cache.v.codes.bytes,
                             &args.cache.block_table.bytes};
    size_t i;
    for (i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
      *sizes[i] -= 1;
      CHECK_CODE(heddle_launch_decode_attention(attention, &args, NULL), HEDDLE_ERROR_USAGE,
                 "launch.too_small");
      *sizes[i] += 1;
    }
  }
  args.workspace.bytes -= 1;
  CHECK_CODE(heddle_launch_decode_attention(attention, &args, NULL), HEDDLE_ERROR_USAGE,
             "launch.workspace");
  args.workspace.bytes += 1;
  args.slopes.data = NULL;
  CHECK_CODE(heddle_launch_decode_attention(attention, &args, NULL), HEDDLE_ERROR_USAGE,
             "launch.missing");
  args.slopes.data = address(0x90000);
  args.sequences = 1025;
  CHECK_CODE(heddle_launch_decode_attention(attention, &args, NULL), HEDDLE_ERROR_USAGE,
             "launch.size");
  heddle_kernel_destroy(attention);
}

void test_weight_operations(heddle_runtime* runtime, heddle_kernel* gemm) {
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
  CHECK(heddle_kernel_max_workspace_bytes(repack, &bytes) == HEDDLE_OK && bytes == 0);
  CHECK_CODE(heddle_kernel_workspace_bytes(repack, 1, &bytes), HEDDLE_ERROR_USAGE, "launch.op");
  heddle_kernel_destroy(dequantize);
  heddle_kernel_destroy(repack);
  heddle_kernel_destroy(quantize);
}

/* A shard that begins at column 96 of a group: three chunks, each with the scales of two groups. */
static const char kShard[] =
    "{\"heddle\":1,\"op\":\"gemm\",\"shape\":{\"n\":256,\"k\":352},"
    "\"weight\":{\"bits\":4,\"group_offset\":96},\"activation\":{\"dtype\":\"fp16\"}}";

static void test_shard_packing(heddle_quantized_weights weights, void* packed) {
  size_t bytes = 0;
  weights.codes_bytes = 256 * 352;
  CHECK(heddle_packed_bytes(SPEC(kShard), &bytes) == HEDDLE_OK && bytes == 16 * 3 * 1088);
  CHECK(heddle_pack_weights(SPEC(kShard), &weights, packed, bytes) == HEDDLE_OK);
  CHECK(heddle_check_layout_version(SPEC(kShard), 6) == HEDDLE_OK);
  CHECK_CODE(heddle_check_layout_version(SPEC(kShard), 5), HEDDLE_ERROR_USAGE,
             "weights.layout_version");
  weights.scales_bytes -= 256 * 2; /* K / group_size groups */
  CHECK_CODE(heddle_pack_weights(SPEC(kShard), &weights, packed, bytes), HEDDLE_ERROR_USAGE,
             "weights.size");
}

void test_packing(void) {
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
  CHECK(heddle_check_layout_version(SPEC(kGemm), 6) == HEDDLE_OK);
  CHECK_CODE(heddle_check_layout_version(SPEC(kGemm), 1000), HEDDLE_ERROR_USAGE,
             "weights.layout_version");
  CHECK(heddle_check_packed_weights(SPEC(kGemm), SPEC(kGemm)) == HEDDLE_OK);
  CHECK_CODE(heddle_check_packed_weights(SPEC(kGemm), SPEC(kShard)), HEDDLE_ERROR_USAGE,
             "weights.mismatch");
  CHECK_CODE(heddle_check_packed_weights(SPEC(kRepack), SPEC(kGemm)), HEDDLE_ERROR_USAGE,
             "weights.no_weight");
  test_shard_packing(weights, packed);
  weights.codes_bytes -= 1;
  CHECK(heddle_pack_weights(SPEC(kGemm), &weights, packed, bytes) == HEDDLE_ERROR_USAGE);
  weights.codes_bytes += 1;
  {
    /* Nothing is read before all sizes are right: these arrays are not there. */
    static const size_t wrong[] = {0, 1000000, (size_t)1 << 40, SIZE_MAX};
    size_t* const sizes[] = {&weights.codes_bytes, &weights.scales_bytes, &weights.zeros_bytes};
    size_t array = 0;
    weights.codes = address(0x10000);
    weights.scales = address(0x20000);
    weights.zeros = address(0x30000);
    for (array = 0; array < sizeof sizes / sizeof *sizes; ++array) {
      const size_t right = *sizes[array];
      for (i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        if (wrong[i] == right) continue;
        *sizes[array] = wrong[i];
        CHECK_CODE(heddle_pack_weights(SPEC(kGemm), &weights, packed, bytes), HEDDLE_ERROR_USAGE,
                   "weights.size");
      }
      *sizes[array] = right;
    }
    CHECK_CODE(heddle_pack_weights(SPEC(kGemm), &weights, address(0x40000), bytes - 1),
               HEDDLE_ERROR_USAGE, "api.too_small");
  }
}

/* Lengths that no text has are refused before the text is read. */
void test_absurd_lengths(heddle_runtime* runtime) {
  heddle_runtime_options options;
  heddle_runtime* made = NULL;
  heddle_kernel* kernel = NULL;
  heddle_text spec;
  size_t bytes = 0;
  CHECK_CODE(heddle_packed_bytes(kGemm, SIZE_MAX, &bytes), HEDDLE_ERROR_USAGE, "api.text_size");
  CHECK_CODE(heddle_kernel_create(runtime, kGemm, SIZE_MAX / 2, NULL, &kernel), HEDDLE_ERROR_USAGE,
             "api.text_size");
  CHECK(heddle_runtime_options_init(&options, sizeof options) == HEDDLE_OK);
  options.cache_dir.data = "cache";
  options.cache_dir.length = SIZE_MAX;
  CHECK_CODE(heddle_runtime_create(&options, &made), HEDDLE_ERROR_USAGE, "api.text_size");
  spec.data = kGemm;
  spec.length = sizeof kGemm - 1;
  CHECK_CODE(heddle_prepare(runtime, &spec, SIZE_MAX, NULL, NULL), HEDDLE_ERROR_USAGE, "api.count");
}
