// What the C API refuses of specs, plans and caches, by status and code.
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
using testing::info_from;
using testing::kAbsurd;
using testing::kAppendText;
using testing::kGemmText;
using testing::made;
using testing::plan_from;
using testing::spec_from;
using testing::target_from;

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

}  // namespace
}  // namespace heddle
