/* Quantising on the host, packing, and the way back. */
#include <stdint.h>

#include "check.h"

static const char kQuantize[] =
    "{\"heddle\":1,\"op\":\"quantize_weight\",\"shape\":{\"n\":64,\"k\":256},"
    "\"weight\":{\"bits\":4,\"group_size\":128},\"input\":{\"dtype\":\"fp16\"}}";
static const char kSame[] =
    "{\"heddle\":1,\"op\":\"gemm\",\"shape\":{\"n\":64,\"k\":256},"
    "\"weight\":{\"bits\":4,\"group_size\":128},\"activation\":{\"dtype\":\"fp16\"}}";

static void test_refused(const uint16_t* w, size_t w_bytes, const void* packed, size_t bytes) {
  heddle_plain_weights* weights = (heddle_plain_weights*)address(16);
  int32_t version = 0;
  CHECK_CODE(heddle_quantize_weights(SPEC(kQuantize), w, w_bytes - 1, &weights), HEDDLE_ERROR_USAGE,
             "weights.size");
  CHECK(weights == NULL);
  CHECK_CODE(heddle_quantize_weights(SPEC(kQuantize), address(16), SIZE_MAX, &weights),
             HEDDLE_ERROR_USAGE, "weights.size");
  CHECK_CODE(heddle_quantize_weights(SPEC(kSame), w, w_bytes, &weights), HEDDLE_ERROR_USAGE,
             "api.op");
  CHECK_CODE(heddle_quantize_weights(SPEC(kQuantize), NULL, w_bytes, &weights), HEDDLE_ERROR_USAGE,
             "api.null");
  CHECK_CODE(heddle_quantize_weights(SPEC(kQuantize), w, w_bytes, NULL), HEDDLE_ERROR_USAGE,
             "api.null");
  CHECK_CODE(heddle_unpack_weights(SPEC(kSame), packed, bytes - 1, &weights), HEDDLE_ERROR_USAGE,
             "weights.size");
  CHECK_CODE(heddle_unpack_weights(SPEC(kQuantize), packed, bytes, &weights), HEDDLE_ERROR_USAGE,
             "api.op");
  CHECK_CODE(heddle_unpack_weights(SPEC(kSame), NULL, bytes, &weights), HEDDLE_ERROR_USAGE,
             "api.null");
  CHECK_CODE(heddle_unpack_weights(SPEC(kSame), packed, bytes, NULL), HEDDLE_ERROR_USAGE,
             "api.null");
  CHECK_CODE(heddle_layout_version(SPEC(kSame), NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK(heddle_layout_version(SPEC("{"), &version) == HEDDLE_ERROR_SPEC);
}

/* Scales lie where the layout says: in each chunk of 16 rows those of its group, of row g and then
 * of row g + 8. */
static void check_layout(const uint8_t* packed, size_t bytes,
                         const heddle_quantized_weights* arrays) {
  heddle_weight_layout_info layout;
  int32_t width = 0;
  int64_t n = 0, group = 0;
  layout.struct_size = sizeof layout;
  MUST(heddle_weight_layout(SPEC(kSame), &layout) == HEDDLE_OK);
  CHECK(layout.total_bytes == bytes && layout.channel_offset == bytes);
  CHECK(layout.row_block == 16 && layout.chunk_k == 128 && layout.meta_group == 128);
  CHECK(layout.row_blocks == 4 && layout.chunks_per_row_block == 2 && layout.groups_per_chunk == 1);
  CHECK(layout.scale_offset == 16 * 128 / 2 && layout.scale_bytes == 32);
  CHECK(layout.chunk_bytes == 1024 + 32 && layout.zero_offset == layout.chunk_bytes);
  CHECK(layout.zero_bytes == 0 && layout.entry_offset == 0 && layout.channel_bytes == 0);
  CHECK(layout.tensor_offset == bytes);
  for (n = 0; n < 64; ++n) {
    for (group = 0; group < 2; ++group) {
      const int64_t chunk = n / 16 * layout.chunks_per_row_block + group;
      const int64_t at =
          chunk * layout.chunk_bytes + layout.scale_offset + 2 * (n % 8 * 2 + n / 8 % 2);
      CHECK(memcmp(packed + at, (const uint8_t*)arrays->scales + 2 * (2 * n + group), 2) == 0);
    }
  }
  CHECK(heddle_dtype_bytes(SPEC("bf16"), &width) == HEDDLE_OK && width == 2);
  CHECK(heddle_dtype_bytes(SPEC("e8m0"), &width) == HEDDLE_OK && width == 1);
  CHECK(heddle_dtype_bytes(SPEC("fp8_e5m2"), &width) == HEDDLE_OK && width == 1);
  CHECK_CODE(heddle_dtype_bytes(SPEC("int9"), &width), HEDDLE_ERROR_USAGE, "api.dtype");
  CHECK_CODE(heddle_dtype_bytes(SPEC("bf16"), NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_weight_layout(SPEC(kSame), NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK(heddle_weight_layout(SPEC("{"), &layout) == HEDDLE_ERROR_SPEC);
  layout.struct_size = 8;
  CHECK_CODE(heddle_weight_layout(SPEC(kSame), &layout), HEDDLE_ERROR_USAGE, "api.struct_size");
}

/* Codes that a gemm multiplies as they are: their rows' sums follow the scales. */
static void test_rows_of_bytes(void) {
  static const char kWeight[] =
      "\"shape\":{\"n\":16,\"k\":128},\"weight\":{\"bits\":8,\"type\":\"int\",\"group_size\":-1,"
      "\"scale_dtype\":\"fp32\",\"interleave\":\"swizzle_128b\"}";
  static uint16_t w[16 * 128];
  uint8_t packed[16 * 128 + 16 * 4 + 16 * 4];
  char quantize[512], gemm[512], repack[512];
  heddle_plain_weights* quantized = NULL;
  heddle_quantized_weights arrays;
  size_t i = 0, bytes = 0;
  int32_t sum = 0, stored = 0;
  sprintf(quantize, "{\"heddle\":1,\"op\":\"quantize_weight\",%s,\"input\":{\"dtype\":\"bf16\"}}",
          kWeight);
  sprintf(gemm,
          "{\"heddle\":1,\"op\":\"gemm\",%s,\"activation\":{\"dtype\":\"int8\",\"granularity\":"
          "\"token\"},\"output\":{\"dtype\":\"bf16\"}}",
          kWeight);
  sprintf(repack, "{\"heddle\":1,\"op\":\"repack\",%s,\"source\":{\"format\":\"gptq\"}}", kWeight);
  for (i = 0; i < sizeof w / sizeof *w; ++i) w[i] = (uint16_t)(0x3c00 + i * 37 % 512);
  MUST(heddle_quantize_weights(SPEC(quantize), w, sizeof w, &quantized) == HEDDLE_OK);
  arrays.struct_size = sizeof arrays;
  CHECK(heddle_plain_weights_get(quantized, &arrays) == HEDDLE_OK);
  CHECK(heddle_packed_bytes(SPEC(quantize), &bytes) == HEDDLE_OK && bytes == sizeof packed);
  CHECK(heddle_check_packed_weights(SPEC(gemm), SPEC(quantize)) == HEDDLE_OK);
  MUST(heddle_pack_weights(SPEC(gemm), &arrays, packed, bytes) == HEDDLE_OK);
  for (i = 0; i < 128; ++i) sum += (int8_t)arrays.codes[i];
  memcpy(&stored, packed + 16 * 128 + 16 * 4, 4);
  CHECK(sum != 0 && stored == sum);
  CHECK(heddle_packed_bytes(SPEC(repack), &bytes) == HEDDLE_ERROR_UNSUPPORTED);
  CHECK(strstr(heddle_error_message(), "/weight/interleave") != NULL);
  heddle_plain_weights_destroy(quantized);
}

/* Scales of groups in bytes, those of channels in an array of their own, and behind the chunks. */
static void test_two_levels(void) {
  static const char kWeight[] =
      "\"shape\":{\"n\":16,\"k\":128},\"weight\":{\"bits\":4,\"group_size\":32,"
      "\"scale_dtype\":\"int8\",\"channel_scale\":\"fp16\",\"interleave\":\"byte_fragment\"}";
  static uint16_t w[16 * 128];
  uint8_t packed[16 * 128 / 2 + 4 * 16 + 16 * 2];
  char quantize[512], gemm[512];
  heddle_plain_weights* quantized = NULL;
  heddle_quantized_weights arrays;
  size_t i = 0, bytes = 0;
  sprintf(quantize, "{\"heddle\":1,\"op\":\"quantize_weight\",%s,\"input\":{\"dtype\":\"bf16\"}}",
          kWeight);
  sprintf(gemm,
          "{\"heddle\":1,\"op\":\"gemm\",%s,\"activation\":{\"dtype\":\"int8\",\"granularity\":"
          "\"token\"},\"output\":{\"dtype\":\"bf16\"}}",
          kWeight);
  for (i = 0; i < sizeof w / sizeof *w; ++i) w[i] = (uint16_t)(0x3c00 + i * 37 % 512);
  MUST(heddle_quantize_weights(SPEC(quantize), w, sizeof w, &quantized) == HEDDLE_OK);
  arrays.struct_size = sizeof arrays;
  CHECK(heddle_plain_weights_get(quantized, &arrays) == HEDDLE_OK);
  CHECK(arrays.scales_bytes == 16 * 4 && arrays.channel_scales_bytes == 16 * 2);
  MUST(heddle_packed_bytes(SPEC(gemm), &bytes) == HEDDLE_OK && bytes == sizeof packed);
  MUST(heddle_pack_weights(SPEC(gemm), &arrays, packed, bytes) == HEDDLE_OK);
  CHECK(memcmp(packed + bytes - 2, (const uint8_t*)arrays.channel_scales + 2 * 15, 2) == 0);
  arrays.channel_scales_bytes = 2;
  CHECK_CODE(heddle_pack_weights(SPEC(gemm), &arrays, packed, bytes), HEDDLE_ERROR_USAGE,
             "weights.size");
  heddle_plain_weights_destroy(quantized);
}

/* Bytes with more bits than the spec's codes have. */
void test_codes_beyond_their_bits(void) {
  static const char kUint[] =
      "{\"heddle\":1,\"op\":\"gemm\",\"shape\":{\"n\":8,\"k\":32},\"weight\":{\"bits\":4,"
      "\"group_size\":32,\"zero_point\":\"int\"},\"activation\":{\"dtype\":\"fp16\"}}";
  static const char kInt[] =
      "{\"heddle\":1,\"op\":\"gemm\",\"shape\":{\"n\":8,\"k\":32},\"weight\":{\"bits\":4,\"type\":"
      "\"int\",\"group_size\":32},\"activation\":{\"dtype\":\"fp16\"}}";
  static uint8_t packed[4096], codes[8 * 32], zeros[8];
  static uint16_t scales[8];
  size_t bytes = 0;
  heddle_quantized_weights arrays = {sizeof arrays, codes, sizeof codes, scales,
                                     sizeof scales, zeros, sizeof zeros, 1.0F,
                                     NULL,          0};
  MUST(heddle_packed_bytes(SPEC(kUint), &bytes) == HEDDLE_OK && bytes <= sizeof packed);
  memset(codes, 15, sizeof codes);
  memset(zeros, 15, sizeof zeros);
  CHECK(heddle_pack_weights(SPEC(kUint), &arrays, packed, bytes) == HEDDLE_OK);
  codes[100] = 16;
  CHECK_CODE(heddle_pack_weights(SPEC(kUint), &arrays, packed, bytes), HEDDLE_ERROR_USAGE,
             "weights.range");
  CHECK(strstr(heddle_error_message(), "codes has 16 at 100") != NULL);
  codes[100] = 0;
  zeros[7] = 255;
  CHECK_CODE(heddle_pack_weights(SPEC(kUint), &arrays, packed, bytes), HEDDLE_ERROR_USAGE,
             "weights.range");
  CHECK(strstr(heddle_error_message(), "zeros has 255 at 7") != NULL);
  /* The sign of a signed code may stand in the upper bits, too. */
  arrays.zeros = NULL;
  arrays.zeros_bytes = 0;
  codes[0] = 0xf8;
  CHECK(heddle_pack_weights(SPEC(kInt), &arrays, packed, bytes) == HEDDLE_OK);
  codes[0] = 0xf7;
  CHECK_CODE(heddle_pack_weights(SPEC(kInt), &arrays, packed, bytes), HEDDLE_ERROR_USAGE,
             "weights.range");
}

void test_plain_weights(void) {
  static uint16_t w[64 * 256];
  static uint8_t packed[64 * 256];
  heddle_plain_weights *quantized = NULL, *unpacked = NULL;
  heddle_quantized_weights arrays, back;
  size_t i = 0, bytes = 0, different = 0;
  int32_t version = 0;
  for (i = 0; i < sizeof w / sizeof *w; ++i)
    w[i] = (uint16_t)(0x2c00 + i * 37 % 1024 + i % 2 * 0x8000);
  MUST(heddle_quantize_weights(SPEC(kQuantize), w, sizeof w, &quantized) == HEDDLE_OK);
  arrays.struct_size = back.struct_size = sizeof arrays;
  CHECK(heddle_plain_weights_get(quantized, &arrays) == HEDDLE_OK);
  CHECK(arrays.codes_bytes == 64 * 256 && arrays.scales_bytes == 64 * 2 * 2);
  CHECK(arrays.zeros == NULL && arrays.zeros_bytes == 0);
  for (i = 1; i < arrays.codes_bytes; ++i) different += arrays.codes[i] != arrays.codes[0];
  CHECK(different > 0);

  CHECK(heddle_packed_bytes(SPEC(kSame), &bytes) == HEDDLE_OK && bytes < sizeof packed);
  CHECK(heddle_pack_weights(SPEC(kSame), &arrays, packed, bytes) == HEDDLE_OK);
  MUST(heddle_unpack_weights(SPEC(kSame), packed, bytes, &unpacked) == HEDDLE_OK);
  CHECK(heddle_plain_weights_get(unpacked, &back) == HEDDLE_OK);
  CHECK(back.codes_bytes == arrays.codes_bytes && back.scales_bytes == arrays.scales_bytes);
  CHECK(memcmp(back.codes, arrays.codes, arrays.codes_bytes) == 0);
  CHECK(memcmp(back.scales, arrays.scales, arrays.scales_bytes) == 0);

  CHECK(heddle_layout_version(SPEC(kSame), &version) == HEDDLE_OK && version >= 1);
  CHECK(heddle_check_layout_version(SPEC(kSame), version) == HEDDLE_OK);
  check_layout(packed, bytes, &arrays);
  test_refused(w, sizeof w, packed, bytes);
  CHECK_CODE(heddle_plain_weights_get(NULL, &back), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_plain_weights_get(quantized, NULL), HEDDLE_ERROR_USAGE, "api.null");
  heddle_plain_weights_destroy(quantized);
  heddle_plain_weights_destroy(unpacked);
  heddle_plain_weights_destroy(NULL);
  test_two_levels();
  test_rows_of_bytes();
}
