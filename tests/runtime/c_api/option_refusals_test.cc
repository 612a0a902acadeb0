// What the C API refuses of structs and options, by status and code.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/error.h"
#include "heddle/spec.h"
#include "tests/runtime/c_api/rows.h"

namespace heddle {
namespace {

using testing::expect_refusals;
using testing::kAbsurd;
using testing::kGemmText;
using testing::plan_from;

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
      "moe_args", [&](auto* s) { return heddle_launch_moe(kernel, s, nullptr); },
      Grown<heddle_moe_args>());
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

}  // namespace
}  // namespace heddle
