/* Where a cache's rows lie, and quantising K and V on the host. */
#include <math.h>
#include <stdint.h>

#include "check.h"

#define CACHE(kv)                                                                  \
  "{\"heddle\":1,\"op\":\"kv_append\",\"shape\":{\"kv_heads\":4,\"head_dim\":64}," \
  "\"activation\":{\"dtype\":\"fp16\"},\"kv\":{" kv "}}"

enum { kHeads = 4, kDim = 64 };

static const char kGroups[] =
    CACHE("\"dtype\":\"int4\",\"granularity\":\"group\",\"group_size\":16,\"page_size\":16");
static const char kNhd[] = CACHE(
    "\"dtype\":\"int4\",\"granularity\":\"group\",\"group_size\":16,\"page_size\":16,"
    "\"order\":\"nhd\"");
static const char kChannels[] = CACHE(
    "\"k\":{\"dtype\":\"int4\",\"granularity\":\"channel\",\"group_size\":32},"
    "\"v\":{\"dtype\":\"fp16\"},\"page_size\":64");
static const char kFp8[] = CACHE("\"dtype\":\"fp8_e4m3\"");

static heddle_kv_format* format_of(const char* spec) {
  heddle_kv_format* format = NULL;
  MUST(heddle_kv_format_create(SPEC(spec), &format) == HEDDLE_OK);
  return format;
}

static heddle_kv_tensor_info info_of(const heddle_kv_format* format, int32_t tensor) {
  heddle_kv_tensor_info info;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  MUST(heddle_kv_format_get(format, tensor, &info) == HEDDLE_OK);
  return info;
}

/* Page 2 of 16 tokens, token 5, head 3: rows of 32 bytes of codes and 8 of scales. */
static void test_offsets(void) {
  heddle_kv_format *hnd = format_of(kGroups), *nhd = format_of(kNhd);
  const heddle_kv_tensor_info info = info_of(hnd, HEDDLE_KV_V);
  size_t codes = 0, scales = 0, offset = 0;
  heddle_kv_bytes bytes;
  CHECK(equals(info.dtype, "int4") && equals(info.granularity, "group"));
  CHECK(equals(info.scale_dtype, "fp16") && equals(info.order, "hnd"));
  CHECK(info.bits == 4 && info.group_size == 16 && info.symmetric == 1);
  CHECK(info.kv_heads == kHeads && info.head_dim == kDim && info.row_bytes == 32);
  CHECK(info.scale_heads == 4 && info.scale_row_bytes == 8 && info.scales_of_row == 4);
  CHECK(info.scale_tokens == 1 && info.residual_row_bytes == 0 && info.block_tokens == 1);
  CHECK(info.block_values == 256 && info.block_code_bytes == 128 && info.block_scale_bytes == 32);
  CHECK(heddle_kv_token_bytes(hnd, &codes, &scales) == HEDDLE_OK);
  CHECK(codes == 2 * 128 && scales == 2 * 32);
  CHECK(equals(info_of(nhd, HEDDLE_KV_K).order, "nhd"));

  CHECK(heddle_kv_code_offset(hnd, HEDDLE_KV_K, 2, 0, 5, 3, &offset) == HEDDLE_OK);
  CHECK(offset == ((2 * 4 + 3) * 16 + 5) * 32);
  CHECK(heddle_kv_code_offset(nhd, HEDDLE_KV_K, 2, 16, 5, 3, &offset) == HEDDLE_OK);
  CHECK(offset == ((2 * 16 + 5) * 4 + 3) * 32);
  CHECK(heddle_kv_scale_offset(hnd, HEDDLE_KV_V, 2, 0, 5, 3, &offset) == HEDDLE_OK);
  CHECK(offset == ((2 * 4 + 3) * 16 + 5) * 8);
  /* The last row ends where the tensor does. */
  CHECK(heddle_kv_cache_bytes(SPEC(kGroups), 10, 0, &bytes) == HEDDLE_OK);
  CHECK(heddle_kv_code_offset(hnd, HEDDLE_KV_K, 9, 0, 15, 3, &offset) == HEDDLE_OK);
  CHECK(offset + 32 == bytes.k_codes);
  heddle_kv_format_destroy(hnd);
  heddle_kv_format_destroy(nhd);
}

static void test_windows(void) {
  heddle_kv_format* format = format_of(kChannels);
  const heddle_kv_tensor_info k = info_of(format, HEDDLE_KV_K);
  const heddle_kv_tensor_info v = info_of(format, HEDDLE_KV_V);
  size_t offset = 0;
  CHECK(k.scale_tokens == 32 && k.block_tokens == 32 && k.block_values == 32 * 256);
  CHECK(k.residual_row_bytes == 128 && k.block_scale_bytes == 4 * 64 * 2);
  CHECK(v.residual_row_bytes == 0 && v.bits == 16 && v.scale_dtype.length == 0);
  /* Page 2, token 40 in its second block, head 3. */
  CHECK(heddle_kv_scale_offset(format, HEDDLE_KV_K, 2, 64, 40, 3, &offset) == HEDDLE_OK);
  CHECK(offset == ((2 * 4 + 3) * 2 + 1) * 128);
  CHECK(heddle_kv_residual_offset(format, HEDDLE_KV_K, 5, 70, 3, &offset) == HEDDLE_OK);
  CHECK(offset == ((5 * 4 + 3) * 32 + 70 % 32) * 128);
  CHECK_CODE(heddle_kv_residual_offset(format, HEDDLE_KV_V, 5, 70, 3, &offset), HEDDLE_ERROR_USAGE,
             "api.kv");
  CHECK_CODE(heddle_kv_scale_offset(format, HEDDLE_KV_V, 2, 0, 5, 3, &offset), HEDDLE_ERROR_USAGE,
             "api.kv");
  CHECK_CODE(heddle_kv_residual_offset(format, HEDDLE_KV_K, -1, 70, 3, &offset), HEDDLE_ERROR_USAGE,
             "api.kv");
  CHECK_CODE(heddle_kv_residual_offset(format, HEDDLE_KV_K, 0, -1, 3, &offset), HEDDLE_ERROR_USAGE,
             "api.kv");
  heddle_kv_format_destroy(format);
}

static void test_refused_offsets(void) {
  heddle_kv_format* format = format_of(kGroups);
  size_t offset = 77;
#define REFUSED(tensor, page, page_tokens, token, head, code)                                \
  CHECK_CODE(heddle_kv_code_offset(format, tensor, page, page_tokens, token, head, &offset), \
             HEDDLE_ERROR_USAGE, code)
  REFUSED(2, 0, 0, 0, 0, "api.kv");
  REFUSED(-1, 0, 0, 0, 0, "api.kv");
  REFUSED(HEDDLE_KV_K, -1, 0, 0, 0, "api.kv");
  REFUSED(HEDDLE_KV_K, INT64_MAX, 0, 0, 0, "api.kv");
  REFUSED(HEDDLE_KV_K, 0, 17, 0, 0, "launch.size");
  REFUSED(HEDDLE_KV_K, 0, 0, 16, 0, "api.kv");
  REFUSED(HEDDLE_KV_K, 0, 0, -1, 0, "api.kv");
  REFUSED(HEDDLE_KV_K, 0, 0, 0, 4, "api.kv");
  REFUSED(HEDDLE_KV_K, 0, 0, 0, -1, "api.kv");
#undef REFUSED
  CHECK(offset == 77);
  CHECK_CODE(heddle_kv_code_offset(NULL, 0, 0, 0, 0, 0, &offset), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_kv_code_offset(format, 0, 0, 0, 0, 0, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_kv_scale_offset(format, 0, 0, 0, 0, 0, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_kv_residual_offset(format, 0, 0, 0, 0, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_kv_token_bytes(format, NULL, &offset), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_kv_token_bytes(NULL, &offset, &offset), HEDDLE_ERROR_USAGE, "api.null");
  heddle_kv_format_destroy(format);
  heddle_kv_format_destroy(NULL);
  format = (heddle_kv_format*)address(16);
  CHECK_CODE(heddle_kv_format_create(SPEC(kGemm), &format), HEDDLE_ERROR_USAGE, "api.op");
  CHECK(format == NULL);
  CHECK(heddle_kv_format_create(SPEC(CACHE("\"dtype\":\"int9\"")), &format) == HEDDLE_ERROR_SPEC);
  CHECK(heddle_kv_format_create(SPEC(CACHE("\"dtype\":\"int4\",\"granularity\":\"group\","
                                           "\"group_size\":48")),
                                &format) == HEDDLE_ERROR_UNSUPPORTED);
  CHECK_CODE(heddle_kv_format_create(SPEC(kGroups), NULL), HEDDLE_ERROR_USAGE, "api.null");
}

/* Codes are as near as half a step. */
static void test_groups(void) {
  heddle_kv_format* format = format_of(kGroups);
  static float values[kHeads * kDim], back[kHeads * kDim];
  static uint8_t codes[128 + 1], scales[32 + 1];
  size_t i = 0, group = 0, differing = 0;
  for (i = 0; i < kHeads * kDim; ++i) values[i] = (float)(i * 37 % 101) / 50 - 1;
  codes[128] = scales[32] = 0xA5;
  CHECK(heddle_kv_quantize(format, HEDDLE_KV_K, values, 256, NULL, codes, 128, scales, 32) ==
        HEDDLE_OK);
  CHECK(codes[128] == 0xA5 && scales[32] == 0xA5);
  CHECK(heddle_kv_dequantize(format, HEDDLE_KV_K, codes, 128, scales, 32, NULL, back, 256) ==
        HEDDLE_OK);
  for (group = 0; group < kHeads * kDim; group += 16) {
    float most = 0;
    for (i = group; i < group + 16; ++i) most = fmaxf(most, fabsf(values[i]));
    for (i = group; i < group + 16; ++i) CHECK(fabsf(values[i] - back[i]) <= most / 7 * 0.51f);
  }
  for (i = 1; i < 128; ++i) differing += codes[i] != codes[0];
  CHECK(differing > 64);
#define REFUSED(values, count, codes, code_bytes, scales, scale_bytes, code)                 \
  CHECK_CODE(heddle_kv_quantize(format, HEDDLE_KV_K, values, count, NULL, codes, code_bytes, \
                                scales, scale_bytes),                                        \
             HEDDLE_ERROR_USAGE, code)
  REFUSED(values, 255, codes, 128, scales, 32, "api.kv");
  REFUSED(values, 256, codes, 127, scales, 32, "api.kv");
  REFUSED(values, 256, codes, 128, scales, 33, "api.kv");
  REFUSED(NULL, 256, codes, 128, scales, 32, "api.null");
  REFUSED(values, 256, NULL, 128, scales, 32, "api.null");
  REFUSED(values, 256, codes, 128, NULL, 32, "api.null");
#undef REFUSED
  CHECK_CODE(heddle_kv_quantize(format, 2, values, 256, NULL, codes, 128, scales, 32),
             HEDDLE_ERROR_USAGE, "api.kv");
  CHECK_CODE(heddle_kv_quantize(NULL, 0, values, 256, NULL, codes, 128, scales, 32),
             HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_kv_dequantize(format, 0, codes, 128, scales, 31, NULL, back, 256),
             HEDDLE_ERROR_USAGE, "api.kv");
  CHECK_CODE(heddle_kv_dequantize(format, 0, codes, 128, scales, 32, NULL, NULL, 256),
             HEDDLE_ERROR_USAGE, "api.null");
  heddle_kv_format_destroy(format);
}

/* A scale that is given, and values that are 16-bit floats as they are. */
static void test_exact(void) {
  heddle_kv_format *fp8 = format_of(kFp8), *plain = format_of(kChannels);
  static const heddle_kv_given_scale given = {2, 0};
  static float values[kHeads * kDim], back[kHeads * kDim];
  static uint8_t codes[kHeads * kDim];
  static uint16_t halves[kHeads * kDim];
  size_t i = 0;
  for (i = 0; i < kHeads * kDim; ++i) values[i] = (i % 2 ? -2.0f : 2.0f) * (float)(i % 13);
  CHECK(heddle_kv_quantize(fp8, HEDDLE_KV_V, values, 256, &given, codes, 256, NULL, 0) ==
        HEDDLE_OK);
  CHECK(codes[2] == 0x40 && codes[3] == 0xC4); /* 2 and -3 */
  CHECK(heddle_kv_dequantize(fp8, HEDDLE_KV_V, codes, 256, NULL, 0, &given, back, 256) ==
        HEDDLE_OK);
  CHECK(memcmp(values, back, sizeof values) == 0);
  CHECK(heddle_kv_dequantize(fp8, HEDDLE_KV_V, codes, 256, NULL, 0, NULL, back, 256) == HEDDLE_OK);
  CHECK(back[2] == 2 && back[3] == -3);
  CHECK(heddle_kv_quantize(plain, HEDDLE_KV_V, values, 256, NULL, halves, 512, NULL, 0) ==
        HEDDLE_OK);
  CHECK(halves[2] == 0x4400 && halves[3] == 0xC600); /* 4 and -6 */
  heddle_kv_format_destroy(fp8);
  heddle_kv_format_destroy(plain);
}

static void test_words(void) {
  char text[64];
  size_t length = 0;
  static const char want[] = "{\"dtype\":\"int4\",\"granularity\":\"group\",\"group_size\":64}";
  memset(text, 0x7E, sizeof text);
  CHECK(heddle_kv_block_from_words(SPEC("int4:group:64"), NULL, 0, &length) == HEDDLE_OK);
  CHECK(length == strlen(want));
  CHECK(heddle_kv_block_from_words(SPEC("int4:group:64"), text, sizeof text, &length) == HEDDLE_OK);
  CHECK(memcmp(text, want, length) == 0 && text[length] == 0x7E);
  CHECK_CODE(heddle_kv_block_from_words(SPEC("a,b,c"), text, sizeof text, &length),
             HEDDLE_ERROR_USAGE, "kv.words");
  CHECK_CODE(heddle_kv_block_from_words(SPEC("int8"), NULL, 5, &length), HEDDLE_ERROR_USAGE,
             "api.null");
  CHECK_CODE(heddle_kv_block_from_words(SPEC("int8"), text, 5, NULL), HEDDLE_ERROR_USAGE,
             "api.null");
  CHECK_CODE(heddle_kv_block_from_words(NULL, 5, text, 5, &length), HEDDLE_ERROR_USAGE, "api.null");
}

void test_kv_formats(void) {
  test_offsets();
  test_windows();
  test_refused_offsets();
  test_groups();
  test_exact();
  test_words();
}
