// What the C API refuses of weights and models, by status and code.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/error.h"
#include "heddle/spec.h"
#include "tests/runtime/c_api/rows.h"

namespace heddle {
namespace {

using testing::expect_refusals;
using testing::kAbsurd;
using testing::kGemmText;
using testing::kQuantizeText;
using testing::kRepackText;

constexpr std::string_view kEightRows =
    R"({"heddle":1,"op":"gemm","shape":{"n":8,"k":32},"weight":{"bits":4,"group_size":32,)"
    R"("zero_point":"int"},"activation":{"dtype":"fp16"}})";
constexpr std::string_view kSigned =
    R"({"heddle":1,"op":"gemm","shape":{"n":8,"k":32},"weight":{"bits":4,"type":"int",)"
    R"("group_size":32},"activation":{"dtype":"fp16"}})";

TEST(CApiRefusals, OfWeights) {
  std::vector<std::uint16_t> w(64 * 256);
  std::vector<std::uint8_t> bytes(1 << 16);
  heddle_plain_weights* weights = nullptr;
  std::int32_t number = 0;
  const auto packed = [](std::string_view spec) {
    return testing::number_from<std::size_t>(heddle_packed_bytes, spec.data(), spec.size());
  };
  const std::size_t gemm_bytes = packed(kGemmText);
  expect_refusals({
      HEDDLE_REFUSED(
          heddle_quantize_weights(HEDDLE_TEXT(kQuantizeText), w.data(), 2 * w.size() - 1, &weights),
          USAGE, "weights.size"),
      HEDDLE_REFUSED(
          heddle_quantize_weights(HEDDLE_TEXT(kQuantizeText), w.data(), kAbsurd, &weights), USAGE,
          "weights.size"),
      HEDDLE_REFUSED(
          heddle_quantize_weights(HEDDLE_TEXT(kGemmText), w.data(), 2 * w.size(), &weights), USAGE,
          "api.op"),
      HEDDLE_REFUSED(
          heddle_unpack_weights(HEDDLE_TEXT(kGemmText), bytes.data(), gemm_bytes - 1, &weights),
          USAGE, "weights.size"),
      HEDDLE_REFUSED(
          heddle_unpack_weights(HEDDLE_TEXT(kQuantizeText), bytes.data(), gemm_bytes, &weights),
          USAGE, "api.op"),
      HEDDLE_REFUSED(heddle_layout_version("{", 1, &number), SPEC, "spec.syntax"),
      HEDDLE_REFUSED(heddle_dtype_bytes("int9", 4, &number), USAGE, "api.dtype"),
      HEDDLE_REFUSED(heddle_check_layout_version(HEDDLE_TEXT(kGemmText), 1000), USAGE,
                     "weights.layout_version"),
      HEDDLE_REFUSED(heddle_check_packed_weights(HEDDLE_TEXT(kGemmText), HEDDLE_TEXT(kEightRows)),
                     USAGE, "weights.mismatch"),
      HEDDLE_REFUSED(heddle_check_packed_weights(HEDDLE_TEXT(kRepackText), HEDDLE_TEXT(kGemmText)),
                     USAGE, "weights.no_weight"),
  });

  // Bytes with more bits than the spec's codes have; the sign of a signed code may be among them.
  std::vector<std::uint8_t> codes(8 * 32, 15);
  std::vector<std::uint8_t> zeros(8, 15);
  std::vector<std::uint16_t> scales(8);
  heddle_quantized_weights arrays = {};
  arrays.struct_size = sizeof arrays;
  arrays.codes = codes.data();
  arrays.codes_bytes = codes.size();
  arrays.scales = scales.data();
  arrays.scales_bytes = 2 * scales.size();
  arrays.zeros = zeros.data();
  arrays.zeros_bytes = zeros.size();
  const auto pack = [&](std::string_view spec) {
    return heddle_pack_weights(spec.data(), spec.size(), &arrays, bytes.data(), packed(spec));
  };
  EXPECT_EQ(pack(kEightRows), HEDDLE_OK) << heddle_error_message();
  codes[100] = 16;
  expect_refusals({HEDDLE_REFUSED(pack(kEightRows), USAGE, "weights.range")});
  EXPECT_NE(std::string(heddle_error_message()).find("codes has 16 at 100"), std::string::npos);
  codes[100] = 0;
  zeros[7] = 255;
  expect_refusals({HEDDLE_REFUSED(pack(kEightRows), USAGE, "weights.range")});
  EXPECT_NE(std::string(heddle_error_message()).find("zeros has 255 at 7"), std::string::npos);
  arrays.zeros = nullptr;
  arrays.zeros_bytes = 0;
  codes[0] = 0xf8;
  EXPECT_EQ(pack(kSigned), HEDDLE_OK) << heddle_error_message();
  codes[0] = 0xf7;
  expect_refusals({HEDDLE_REFUSED(pack(kSigned), USAGE, "weights.range")});
}

TEST(CApiRefusals, OfModels) {
  heddle_model* model = nullptr;
  heddle_model_texts texts = {};
  texts.struct_size = sizeof texts;
  const std::string_view plain =
      R"({"model_type":"llama","hidden_size":512,"intermediate_size":1024,)"
      R"("num_attention_heads":8,"num_key_value_heads":2,"num_hidden_layers":3,)"
      R"("vocab_size":1000,"torch_dtype":"float16"})";
  const auto with = [&](std::string_view config, auto change) {
    heddle_model_texts changed = texts;
    changed.config = testing::text_of(config);
    change(changed);
    return heddle_model_create(&changed, &model);
  };
  const auto as_it_is = [](heddle_model_texts&) {};
  expect_refusals({
      HEDDLE_REFUSED(with("", as_it_is), SPEC, "model.syntax"),
      HEDDLE_REFUSED(with(R"({"model_type":"llama")", as_it_is), SPEC, "model.syntax"),
      HEDDLE_REFUSED(with(plain, as_it_is), UNSUPPORTED, "model.not_quantized"),
      HEDDLE_REFUSED(with(plain,
                          [](auto& t) {
                            t.hf_quant_config = {nullptr, 3};
                          }),
                     USAGE, "api.null"),
      HEDDLE_REFUSED(with(plain, [](auto& t) { t.dense = 1, t.lm_head_bits = 3; }), USAGE,
                     "model.lm_head"),
      HEDDLE_REFUSED(with(plain, [](auto& t) { t.dense = 1, t.activation_bits = 4; }), USAGE,
                     "model.activations"),
      HEDDLE_REFUSED(
          heddle_model_create_cache(HEDDLE_TEXT(plain), R"({"dtype":"int9"})", 16, &model), SPEC,
          "spec.unknown_word"),
      HEDDLE_REFUSED(heddle_model_create_cache("", 0, R"({"dtype":"int8"})", 16, &model), SPEC,
                     "model.syntax"),
  });
  EXPECT_EQ(model, nullptr);
  ASSERT_EQ(with(plain, [](auto& t) { t.dense = 1; }), HEDDLE_OK) << heddle_error_message();
  std::size_t kernels = 0;
  std::size_t rows = 0;
  ASSERT_EQ(heddle_model_counts(model, &kernels, &rows), HEDDLE_OK);
  heddle_model_kernel_info info = {};
  info.struct_size = sizeof info;
  expect_refusals({
      HEDDLE_REFUSED(heddle_model_kernel(model, kernels, &info), USAGE, "api.index"),
      HEDDLE_REFUSED(heddle_model_row(model, rows, &info), USAGE, "api.index"),
  });
  heddle_model_destroy(model);
}

// A struct of a newer header: this library's, and fields behind it that it does not know.

}  // namespace
}  // namespace heddle
