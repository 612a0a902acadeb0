// What the C API refuses, by status and code, and what its errors tell.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "heddle/error.h"
#include "heddle/spec.h"
#include "tests/runtime/c_api/rows.h"

namespace heddle {
namespace {

using testing::expect_refusals;
using testing::info_from;
using testing::kAppendText;
using testing::kGemmText;
using testing::kQuantizeText;
using testing::kRepackText;
using testing::made;
using testing::plan_from;
using testing::spec_from;
using testing::target_from;

constexpr std::size_t kAbsurd = SIZE_MAX;
constexpr std::string_view kEightRows =
    R"({"heddle":1,"op":"gemm","shape":{"n":8,"k":32},"weight":{"bits":4,"group_size":32,)"
    R"("zero_point":"int"},"activation":{"dtype":"fp16"}})";
constexpr std::string_view kSigned =
    R"({"heddle":1,"op":"gemm","shape":{"n":8,"k":32},"weight":{"bits":4,"type":"int",)"
    R"("group_size":32},"activation":{"dtype":"fp16"}})";

TEST(CApiRefusals, OfSpecsAndTargets) {
  heddle_spec* spec = nullptr;
  heddle_target* target = nullptr;
  const auto h200 = target_from("h200");
  const auto info = info_from<heddle_target_info>(heddle_target_get, h200.get());
  heddle_target_info no_sms = info;
  no_sms.sm_count = -1;
  heddle_target_info two_lines = info;
  two_lines.name = {"a\nb", 3};
  heddle_target_info reserved = info;
  reserved.reserved = 1;
  const auto count = testing::number_from<std::size_t>(heddle_target_count);
  expect_refusals({
      HEDDLE_REFUSED(heddle_spec_create(R"({"heddle":1})", 12, &spec), SPEC, "spec.missing_field"),
      HEDDLE_REFUSED(heddle_spec_create(nullptr, 0, &spec), SPEC, "spec.syntax"),
      HEDDLE_REFUSED(heddle_spec_create("{", kAbsurd, &spec), USAGE, "api.text_size"),
      HEDDLE_REFUSED(heddle_target_create("h2000", 5, &target), USAGE, "target.unknown"),
      HEDDLE_REFUSED(heddle_target_known(count, &target), USAGE, "api.index"),
      HEDDLE_REFUSED(heddle_target_known(kAbsurd, &target), USAGE, "api.index"),
      HEDDLE_REFUSED(heddle_target_create_from_info(&no_sms, &target), USAGE, "target.invalid"),
      HEDDLE_REFUSED(heddle_target_create_from_info(&two_lines, &target), USAGE, "target.invalid"),
      HEDDLE_REFUSED(heddle_target_create_from_info(&reserved, &target), USAGE, "api.reserved"),
  });
}

TEST(CApiRefusals, OfPlansAndTables) {
  const auto plan = plan_from(kGemmText);
  const auto append = plan_from(kAppendText);
  const auto info = info_from<heddle_plan_info>(heddle_plan_get, plan.get());
  const auto turing = target_from("sm_75");
  const auto tables = made(heddle_tuned_tables_destroy, heddle_tuned_tables_shipped);
  heddle_plan* made_plan = nullptr;
  heddle_plan_kernel_info kernel = {};
  heddle_plan_source_info source = {};
  kernel.struct_size = sizeof kernel;
  source.struct_size = sizeof source;
  heddle_tuned_tables* set = nullptr;
  heddle_text text = {};
  const heddle_text two[] = {
      testing::text_of(R"({"heddle_tuned":3,"gpu":"rtx4090","families":{"tiles":1},)"
                       R"("entries":[]})"),
      testing::text_of(R"({"heddle_tuned":3})")};
  std::size_t number = 0;
  constexpr std::string_view kBf16 =
      R"({"heddle":1,"op":"gemm","shape":{"n":256,"k":512},"weight":{"bits":4},)"
      R"("activation":{"dtype":"bf16"}})";
  expect_refusals({
      HEDDLE_REFUSED(heddle_plan_create(turing.get(), nullptr, HEDDLE_TEXT(kBf16), &made_plan),
                     UNSUPPORTED, "plan.unsupported"),
      HEDDLE_REFUSED(heddle_plan_create(turing.get(), nullptr, "[]", 2, &made_plan), SPEC,
                     "spec.wrong_type"),
      HEDDLE_REFUSED(heddle_plan_kernel(plan.get(), info.kernel_count, &kernel), USAGE,
                     "api.index"),
      HEDDLE_REFUSED(heddle_plan_source(plan.get(), info.kernel_count, &source), USAGE,
                     "api.index"),
      HEDDLE_REFUSED(heddle_plan_kernel_of_size(plan.get(), 9, &number), USAGE, "api.size"),
      HEDDLE_REFUSED(heddle_plan_kernel_of_size(plan.get(), 0, &number), USAGE, "api.size"),
      HEDDLE_REFUSED(heddle_plan_kernel_of_size(plan.get(), INT64_MIN, &number), USAGE, "api.size"),
      HEDDLE_REFUSED(heddle_plan_workspace_bytes(plan.get(), 9, &number), USAGE, "launch.m"),
      HEDDLE_REFUSED(heddle_plan_workspace_bytes(append.get(), 1, &number), USAGE, "launch.op"),
      HEDDLE_REFUSED(heddle_tuned_tables_create(nullptr, two, 2, &set), SPEC,
                     "tuned.missing_field"),
      HEDDLE_REFUSED(heddle_tuned_tables_create(nullptr, two, kAbsurd, &set), USAGE, "api.count"),
      HEDDLE_REFUSED(heddle_tuned_tables_json(tables.get(), 1000, &text), USAGE, "api.index"),
  });
  EXPECT_EQ(heddle_tuned_tables_create(nullptr, two, 2, &set), HEDDLE_ERROR_SPEC);
  EXPECT_NE(std::string(heddle_error_message()).find("tables[1]"), std::string::npos);
}

TEST(CApiRefusals, OfDecodePlans) {
  heddle_decode_plan* plan = nullptr;
  const auto create = [&](const std::string& request) {
    return heddle_decode_plan_create(request.data(), request.size(), &plan);
  };
  expect_refusals({
      HEDDLE_REFUSED(create(R"({"bits":9})"), UNSUPPORTED, "decode.unsupported"),
      HEDDLE_REFUSED(create(R"({"bits":0})"), UNSUPPORTED, "decode.unsupported"),
      HEDDLE_REFUSED(create(R"({"bits":-2147483648})"), UNSUPPORTED, "decode.unsupported"),
      HEDDLE_REFUSED(create(R"({"fold_scale":true})"), UNSUPPORTED, "decode.unsupported"),
      HEDDLE_REFUSED(create(R"({"kind":"float"})"), UNSUPPORTED, "decode.unsupported"),
      HEDDLE_REFUSED(create(R"({"kind":"table","table":[1]})"), UNSUPPORTED, "decode.unsupported"),
      HEDDLE_REFUSED(create(R"({"bits":4294967296})"), SPEC, "decode.wrong_type"),
      HEDDLE_REFUSED(create(R"({"bits":"4"})"), SPEC, "decode.wrong_type"),
      HEDDLE_REFUSED(create(R"({"bits":4.5})"), SPEC, "decode.wrong_type"),
      HEDDLE_REFUSED(create(R"({"fold_power":1})"), SPEC, "decode.wrong_type"),
      HEDDLE_REFUSED(create(R"({"kind":"floats"})"), SPEC, "decode.unknown_word"),
      HEDDLE_REFUSED(create(R"({"type":"e4m3"})"), SPEC, "decode.unknown_word"),
      HEDDLE_REFUSED(create(R"({"dtype":"fp32"})"), SPEC, "decode.unknown_word"),
      HEDDLE_REFUSED(create(R"({"order":"awk"})"), SPEC, "decode.unknown_word"),
      HEDDLE_REFUSED(create(R"({"zero_point":"float"})"), SPEC, "decode.unknown_word"),
      HEDDLE_REFUSED(create(R"({"kind":"table"})"), SPEC, "decode.missing_field"),
      HEDDLE_REFUSED(create(R"({"kind":"table","table":["1"]})"), SPEC, "decode.wrong_type"),
      HEDDLE_REFUSED(create(R"({"kind":"table","table":7})"), SPEC, "decode.wrong_type"),
      HEDDLE_REFUSED(create(R"({"order":"permutation"})"), SPEC, "decode.missing_field"),
      HEDDLE_REFUSED(create(R"({"table":[1]})"), SPEC, "decode.no_meaning"),
      HEDDLE_REFUSED(create(R"({"exponent_bits":3})"), SPEC, "decode.no_meaning"),
      HEDDLE_REFUSED(create(R"({"bitz":4})"), SPEC, "decode.unknown_field"),
      HEDDLE_REFUSED(create("[]"), SPEC, "decode.wrong_type"),
      HEDDLE_REFUSED(create("{"), SPEC, "decode.syntax"),
  });
  EXPECT_EQ(create(R"({"bitz":4})"), HEDDLE_ERROR_SPEC);
  EXPECT_NE(std::string(heddle_error_message()).find("did you mean \"bits\"?"), std::string::npos);
  ASSERT_EQ(create("{}"), HEDDLE_OK);
  const std::uint32_t words[2] = {0, 0};
  std::uint16_t values[8] = {};
  expect_refusals({
      HEDDLE_REFUSED(heddle_decode_plan_evaluate(plan, words, 2, nullptr, 0, values, 8), USAGE,
                     "decode.words"),
      HEDDLE_REFUSED(heddle_decode_plan_evaluate(plan, words, 1, nullptr, 0, values, 7), USAGE,
                     "decode.words"),
      HEDDLE_REFUSED(heddle_decode_plan_evaluate(plan, words, 1, words, 1, values, 8), USAGE,
                     "decode.words"),
  });
  heddle_decode_plan_destroy(plan);
  ASSERT_EQ(create(R"({"zero_point":"int"})"), HEDDLE_OK);
  expect_refusals({HEDDLE_REFUSED(
      heddle_decode_plan_evaluate(plan, words, 1, nullptr, 1, values, 8), USAGE, "api.null")});
  heddle_decode_plan_destroy(plan);
}

TEST(CApiRefusals, OfCaches) {
  const auto gemm = spec_from(kGemmText);
  const auto cache = spec_from(kAppendText);
  const auto uneven =
      spec_from(R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":4,"head_dim":64},)"
                R"("activation":{"dtype":"fp16"},"kv":{"dtype":"int4","granularity":"group",)"
                R"("group_size":48}})");
  std::vector<float> values(256);
  std::uint8_t codes[129];
  std::uint8_t scales[9];
  std::memset(codes, 0xA5, sizeof codes);
  std::size_t length = 0;
  char text[8];
  expect_refusals({
      HEDDLE_REFUSED(
          heddle_kv_quantize(gemm.get(), 0, values.data(), 256, nullptr, codes, 128, scales, 8),
          USAGE, "api.op"),
      HEDDLE_REFUSED(
          heddle_kv_quantize(uneven.get(), 0, values.data(), 256, nullptr, codes, 128, scales, 8),
          UNSUPPORTED, "plan.unsupported"),
      HEDDLE_REFUSED(
          heddle_kv_quantize(cache.get(), 2, values.data(), 256, nullptr, codes, 128, scales, 8),
          USAGE, "api.kv"),
      HEDDLE_REFUSED(
          heddle_kv_quantize(cache.get(), -1, values.data(), 256, nullptr, codes, 128, scales, 8),
          USAGE, "api.kv"),
      HEDDLE_REFUSED(
          heddle_kv_quantize(cache.get(), 0, values.data(), 255, nullptr, codes, 128, scales, 8),
          USAGE, "api.kv"),
      HEDDLE_REFUSED(
          heddle_kv_quantize(cache.get(), 0, values.data(), 256, nullptr, codes, 127, scales, 8),
          USAGE, "api.kv"),
      HEDDLE_REFUSED(
          heddle_kv_quantize(cache.get(), 0, values.data(), 256, nullptr, codes, 128, scales, 9),
          USAGE, "api.kv"),
      HEDDLE_REFUSED(
          heddle_kv_dequantize(cache.get(), 0, codes, 128, scales, 7, nullptr, values.data(), 256),
          USAGE, "api.kv"),
      HEDDLE_REFUSED(heddle_kv_block_from_words("a,b,c", 5, text, 8, &length), USAGE, "kv.words"),
  });
  EXPECT_EQ(codes[0], 0xA5) << "written before a refusal";
  EXPECT_EQ(heddle_kv_quantize(cache.get(), 0, values.data(), 256, nullptr, codes, 128, scales, 8),
            HEDDLE_OK)
      << heddle_error_message();
  EXPECT_EQ(codes[128], 0xA5) << "written behind the codes";
}

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
template <class Struct>
struct Grown {
  Struct known{};
  unsigned char added[24] = {};
};

// Launches of no kernel: the struct is looked at before that.
TEST(CApiRefusals, OfStructs) {
  const auto row = [](const char* what, auto call, auto newer) {
    newer.known.struct_size = sizeof newer;
    newer.added[3] = 1;
    EXPECT_EQ(call(&newer.known), HEDDLE_ERROR_USAGE) << what;
    EXPECT_STREQ(heddle_error_code(), "api.struct_size") << what;
    for (const std::size_t size : {std::size_t{0}, std::size_t{8}, sizeof newer.known - 1,
                                   std::size_t{HEDDLE_MAX_STRUCT_SIZE} + 1, SIZE_MAX}) {
      newer.known.struct_size = size;
      EXPECT_EQ(call(&newer.known), HEDDLE_ERROR_USAGE) << what << " " << size;
      EXPECT_STREQ(heddle_error_code(), "api.struct_size") << what << " " << size;
    }
  };
  int somewhere = 0;
  const auto* const kernel = reinterpret_cast<const heddle_kernel*>(&somewhere);  // NOLINT
  const auto plan = plan_from(kGemmText);
  heddle_runtime* runtime = nullptr;
  heddle_model* model = nullptr;
  heddle_checkpoint* checkpoint = nullptr;
  heddle_target* target = nullptr;
  heddle_plan_launch_info launch = {};
  std::uint8_t bytes[8];
  std::size_t length = 0;
  row(
      "runtime_options", [&](auto* s) { return heddle_runtime_create(s, &runtime); },
      Grown<heddle_runtime_options>());
  row(
      "gemm_args", [&](auto* s) { return heddle_launch_gemm(kernel, s, nullptr); },
      Grown<heddle_gemm_args>());
  row(
      "kv_append_args", [&](auto* s) { return heddle_launch_kv_append(kernel, s, nullptr); },
      Grown<heddle_kv_append_args>());
  row(
      "decode_attention_args",
      [&](auto* s) { return heddle_launch_decode_attention(kernel, s, nullptr); },
      Grown<heddle_decode_attention_args>());
  row(
      "row_transform_args",
      [&](auto* s) { return heddle_launch_row_transform(kernel, s, nullptr); },
      Grown<heddle_row_transform_args>());
  row(
      "quantized_weights",
      [&](auto* s) { return heddle_pack_weights(HEDDLE_TEXT(kGemmText), s, bytes, 8); },
      Grown<heddle_quantized_weights>());
  row(
      "model_texts", [&](auto* s) { return heddle_model_create(s, &model); },
      Grown<heddle_model_texts>());
  row(
      "checkpoint_options",
      [&](auto* s) { return heddle_checkpoint_create("/nowhere", 8, s, &checkpoint); },
      Grown<heddle_checkpoint_options>());
  row(
      "target_info", [&](auto* s) { return heddle_target_create_from_info(s, &target); },
      Grown<heddle_target_info>());
  row(
      "launch_size", [&](auto* s) { return heddle_plan_launch(plan.get(), 0, s, &launch); },
      Grown<heddle_launch_size>());
  EXPECT_EQ(length, 0U);
}

TEST(CApiRefusals, OfRuntimeOptions) {
  heddle_runtime* runtime = nullptr;
  heddle_runtime_options options;
  ASSERT_EQ(heddle_runtime_options_init(&options, sizeof options), HEDDLE_OK);
  EXPECT_GT(options.cache_max_bytes, 0);
  EXPECT_EQ(options.disk_cache, 1);
  EXPECT_EQ(options.strict, 0);
  const heddle_text zero_inside = {"/image\0layer", 12};
  const auto with = [&](auto change) {
    heddle_runtime_options changed = options;
    change(changed);
    return heddle_runtime_create(&changed, &runtime);
  };
  expect_refusals({
      HEDDLE_REFUSED(heddle_runtime_options_init(&options, 8), USAGE, "api.struct_size"),
      HEDDLE_REFUSED(with([](auto& o) { o.cache_dir = testing::text_of("rw:/a:rw:/b"); }), USAGE,
                     "cache.roots"),
      HEDDLE_REFUSED(with([](auto& o) {
                       o.cache_dir = {"cache", kAbsurd};
                     }),
                     USAGE, "api.text_size"),
      HEDDLE_REFUSED(with([](auto& o) { o.read_only_root_count = 1; }), USAGE, "api.null"),
      HEDDLE_REFUSED(
          with([&](auto& o) { o.read_only_roots = &zero_inside, o.read_only_root_count = 1; }),
          USAGE, "api.path"),
      HEDDLE_REFUSED(with([&](auto& o) {
                       o.read_only_roots = &zero_inside, o.read_only_root_count = kAbsurd;
                     }),
                     USAGE, "api.count"),
  });
  EXPECT_EQ(runtime, nullptr);
  // The largest size is read to its last byte, and no further.
  std::vector<unsigned char> largest(HEDDLE_MAX_STRUCT_SIZE);
  auto* const padded = reinterpret_cast<heddle_runtime_options*>(largest.data());
  ASSERT_EQ(heddle_runtime_options_init(padded, largest.size()), HEDDLE_OK);
  ASSERT_EQ(heddle_runtime_create(padded, &runtime), HEDDLE_OK);
  heddle_runtime_destroy(runtime);
  largest.back() = 1;
  EXPECT_EQ(heddle_runtime_create(padded, &runtime), HEDDLE_ERROR_USAGE);
}

constexpr std::string_view kTwoProblems =
    R"({"heddle":1,"op":"gemm","shape":{"n":256,"k":512},)"
    R"("weight":{"bits":9,"group_sise":64},"activation":{"dtype":"fp16"}})";

// The JSON has what C++ throws.
TEST(CApiErrors, TellEveryProblem) {
  heddle_spec* spec = nullptr;
  ASSERT_EQ(heddle_spec_create(HEDDLE_TEXT(kTwoProblems), &spec), HEDDLE_ERROR_SPEC);
  const auto told = nlohmann::json::parse(heddle_error_json());
  try {
    Spec::parse(kTwoProblems);
    FAIL();
  } catch (const Error& same) {
    testing::expect_rows({{"status", told.at("status"), "spec"},
                          {"code", told.at("code"), same.code()},
                          {"code alone", heddle_error_code(), same.code()},
                          {"message", told.at("message"), same.what()},
                          {"message alone", heddle_error_message(), same.what()},
                          {"log", told.at("log"), same.log()},
                          {"problems", told.at("problems").size(), same.problems().size()}});
    ASSERT_EQ(same.problems().size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
      const nlohmann::json& one = told.at("problems")[i];
      const Problem& problem = same.problems()[i];
      testing::expect_rows({{"pointer", one.value("pointer", ""), problem.pointer},
                            {"message", one.at("message"), problem.message},
                            {"value", one.value("value", ""), problem.value},
                            {"allowed", one.value("allowed", ""), problem.allowed},
                            {"hint", one.value("hint", ""), problem.hint}});
    }
  }
  ASSERT_EQ(heddle_spec_schema(nullptr), HEDDLE_ERROR_USAGE);
  EXPECT_EQ(nlohmann::json::parse(heddle_error_json()).at("code"), "api.null");
}

TEST(CApiErrors, BelongToTheirThread) {
  heddle_spec* spec = nullptr;
  ASSERT_EQ(heddle_spec_create("{}", 2, &spec), HEDDLE_ERROR_SPEC);
  const std::string before = heddle_error_message();
  std::thread([] {
    EXPECT_STREQ(heddle_error_message(), "") << "no call of this thread has failed";
    EXPECT_EQ(nlohmann::json::parse(heddle_error_json()).at("problems").size(), 0U);
    EXPECT_STREQ(heddle_error_log(), "");
    EXPECT_EQ(heddle_spec_schema(nullptr), HEDDLE_ERROR_USAGE);
    EXPECT_STREQ(heddle_error_code(), "api.null");
  }).join();
  EXPECT_EQ(before, heddle_error_message());
}

TEST(CApiErrors, StatusesHaveNames) {
  EXPECT_STREQ(heddle_status_name(HEDDLE_OK), "ok");
  EXPECT_STREQ(heddle_status_name(HEDDLE_ERROR_DRIVER), "driver");
  EXPECT_STREQ(heddle_status_name(HEDDLE_ERROR_OUT_OF_MEMORY), "out of memory");
  EXPECT_STREQ(heddle_status_name(-1), "unknown");
  EXPECT_STREQ(heddle_status_name(999), "unknown");
  EXPECT_GT(std::strlen(heddle_version()), 0U);
}

// Texts are made once, for whichever threads ask.
TEST(CApiHandles, MayBeAskedByThreads) {
  const auto plan = plan_from(kGemmText);
  std::vector<const char*> seen(4);
  std::vector<std::thread> threads;
  for (const char*& one : seen) {
    threads.emplace_back([&] {
      heddle_text json = {};
      heddle_plan_source_info source = {};
      source.struct_size = sizeof source;
      EXPECT_EQ(heddle_plan_json(plan.get(), &json), HEDDLE_OK);
      EXPECT_EQ(heddle_plan_source(plan.get(), 0, &source), HEDDLE_OK);
      one = json.data;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const char* one : seen) EXPECT_EQ(one, seen[0]);
}

}  // namespace
}  // namespace heddle
