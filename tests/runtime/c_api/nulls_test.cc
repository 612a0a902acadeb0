// A null handle, struct, text with a length, or result is "api.null", of every function.
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/runtime/c_api/rows.h"

namespace heddle {
namespace {

using testing::kAppendText;
using testing::kGemmText;
using testing::kQuantizeText;
using testing::made;
using testing::plan_from;
using testing::spec_from;
using testing::target_from;

// What no function may look at when another of its arguments is null.
template <class T>
T* unread() {
  static int target = 0;
  return reinterpret_cast<T*>(&target);  // NOLINT: never followed
}

class Nulls : public ::testing::Test {
 protected:
  // Calls the function with each of its pointers null, but for those that may be.
  template <class... Parameters>
  void row(const std::string& name, heddle_status (*function)(Parameters...),
           std::tuple<std::type_identity_t<Parameters>...> arguments,
           const std::set<std::size_t>& may_be_null = {}) {
    names_.insert(name);
    each(name, function, arguments, may_be_null, std::index_sequence_for<Parameters...>());
  }

  std::set<std::string> names_;

 private:
  template <class Function, class Arguments, std::size_t... kIndices>
  static void each(const std::string& name, Function function, const Arguments& arguments,
                   const std::set<std::size_t>& may_be_null, std::index_sequence<kIndices...>) {
    (one<kIndices>(name, function, arguments, may_be_null), ...);
  }

  template <std::size_t kIndex, class Function, class Arguments>
  static void one(const std::string& name, Function function, Arguments arguments,
                  const std::set<std::size_t>& may_be_null) {
    if constexpr (std::is_pointer_v<std::tuple_element_t<kIndex, Arguments>>) {
      if (may_be_null.count(kIndex) != 0) return;
      std::get<kIndex>(arguments) = nullptr;
      EXPECT_EQ(std::apply(function, arguments), HEDDLE_ERROR_USAGE) << name << " " << kIndex;
      EXPECT_STREQ(heddle_error_code(), "api.null") << name << ", argument " << kIndex;
    }
  }
};

#define NULLS(function, ...) row(#function, function, __VA_ARGS__)

TEST_F(Nulls, AreRefusedByEveryFunction) {
  const auto runtime = made(heddle_runtime_destroy, heddle_runtime_create, nullptr);
  const auto target = target_from("h200");
  const auto spec = spec_from(kGemmText);
  const auto cache = spec_from(kAppendText);
  const auto plan = plan_from(kGemmText);
  const auto append = plan_from(kAppendText);
  const auto rows = plan_from(testing::kRowsText);
  const auto attention = plan_from(testing::kAttentionText);
  const auto moe = plan_from(testing::kMoeText);
  const auto tables = made(heddle_tuned_tables_destroy, heddle_tuned_tables_shipped);
  const auto decode = made(heddle_decode_plan_destroy, heddle_decode_plan_create, "{}", 2);
  const char* const text = kGemmText.data();
  const std::size_t length = kGemmText.size();
  const heddle_text one = testing::text_of(kGemmText);
  const heddle_plan* const plans[] = {plan.get()};
  auto* const kernel = unread<heddle_kernel>();
  auto* const request = unread<heddle_request>();
  auto* const build = unread<heddle_build>();
  auto* const model = unread<heddle_model>();
  auto* const checkpoint = unread<heddle_checkpoint>();
  auto* const uploader = unread<heddle_uploader>();
  auto* const preparation = unread<heddle_preparation>();
  heddle_launch_size size = {sizeof size, 1, 0, 0, 0};
  heddle_text out = {};
  std::size_t bytes = 0;
  std::int32_t number = 0;
  char memory[4096] = {};

  // heddle.h
  NULLS(heddle_runtime_options_init,
        {unread<heddle_runtime_options>(), sizeof(heddle_runtime_options)});
  NULLS(heddle_runtime_create, {nullptr, unread<heddle_runtime*>()}, {0});
  NULLS(heddle_runtime_set_tuned_tables, {runtime.get(), "none", 4});
  NULLS(heddle_runtime_has_device, {runtime.get(), &number});
  NULLS(heddle_runtime_seal, {runtime.get()});
  NULLS(heddle_runtime_compiler, {runtime.get(), &out});
  heddle_kernel* new_kernel = nullptr;
  NULLS(heddle_kernel_create, {runtime.get(), text, length, nullptr, &new_kernel}, {3});
  NULLS(heddle_kernel_load, {runtime.get(), plan.get(), &new_kernel});
  NULLS(heddle_prepare, {runtime.get(), &one, 1, nullptr, nullptr}, {3, 4});
  const heddle_m_range range = {1, 1};
  heddle_preparation* new_preparation = nullptr;
  NULLS(heddle_preparation_create,
        {runtime.get(), &one, 1, &range, 1, nullptr, nullptr, &new_preparation}, {5, 6});
  NULLS(heddle_preparation_get, {preparation, unread<heddle_preparation_info>()}, {1});
  NULLS(heddle_preparation_wait, {preparation});
  NULLS(heddle_preparation_cancel, {preparation});
  heddle_request* new_request = nullptr;
  NULLS(heddle_request_of_preparation, {preparation, 0, &new_request});
  NULLS(heddle_request_create, {runtime.get(), text, length, &new_request});
  NULLS(heddle_request_ready, {request, &number});
  NULLS(heddle_request_wait, {request, &new_kernel});
  NULLS(heddle_request_kernel, {request, nullptr, &new_kernel}, {1});
  NULLS(heddle_kernel_workspace_bytes, {kernel, 1, &bytes});
  NULLS(heddle_kernel_max_workspace_bytes, {kernel, &bytes});
  heddle_build* new_build = nullptr;
  NULLS(heddle_build_create, {runtime.get(), target.get(), &one, 1, nullptr, nullptr, &new_build},
        {4, 5});
  NULLS(heddle_build_create_from_plans, {runtime.get(), plans, 1, nullptr, nullptr, &new_build},
        {3, 4});
  NULLS(heddle_build_count, {build, &bytes});
  heddle_plan* new_plan = nullptr;
  NULLS(heddle_plan_of_build, {build, 0, &new_plan});
  NULLS(heddle_build_index, {build, 0, 0, &bytes});
  NULLS(heddle_build_kernel, {nullptr, 0, unread<heddle_build_kernel_info>()}, {2});

  // Launches, and what they take.
  NULLS(heddle_launch_gemm, {kernel, unread<heddle_gemm_args>(), nullptr}, {2});
  NULLS(heddle_launch_dequantize, {kernel, unread<heddle_weight_source>(), {}, nullptr}, {3});
  NULLS(heddle_launch_repack, {kernel, unread<heddle_weight_source>(), {}, nullptr}, {3});
  NULLS(heddle_launch_quantize_weight, {nullptr, {}, {}, nullptr}, {3});
  NULLS(heddle_launch_kv_append, {kernel, unread<heddle_kv_append_args>(), nullptr}, {2});
  NULLS(heddle_launch_decode_attention, {kernel, unread<heddle_decode_attention_args>(), nullptr},
        {2});
  NULLS(heddle_launch_row_transform, {kernel, unread<heddle_row_transform_args>(), nullptr}, {2});
  NULLS(heddle_launch_moe, {kernel, unread<heddle_moe_args>(), nullptr}, {2});
  NULLS(heddle_row_scale_bytes, {text, length, 1, 0, &bytes});
  NULLS(heddle_plan_launch, {plan.get(), 0, &size, nullptr});
  NULLS(heddle_plan_argument, {plan.get(), 0, 0, nullptr});
  NULLS(heddle_gemm_shape, {plan.get(), memory, sizeof memory, &bytes});
  heddle_kv_append_args append_args = {};
  append_args.struct_size = sizeof append_args;
  NULLS(heddle_kv_append_parameters, {append.get(), &append_args, memory, sizeof memory, &bytes},
        {2, 4});
  heddle_decode_attention_args attention_args = {};
  attention_args.struct_size = sizeof attention_args;
  NULLS(heddle_decode_attention_parameters,
        {attention.get(), &attention_args, memory, sizeof memory, &bytes}, {2, 4});
  heddle_row_transform_args row_args = {};
  row_args.struct_size = sizeof row_args;
  row_args.m = 1;
  alignas(64) char matrices[3][512];  // not read
  row_args.x = {matrices[0], 512};
  row_args.y = {matrices[1], 512};
  row_args.weight = {matrices[2], 512};
  NULLS(heddle_row_transform_parameters, {rows.get(), &row_args, memory, sizeof memory, &bytes});
  heddle_moe_args moe_args = {};
  moe_args.struct_size = sizeof moe_args;
  NULLS(heddle_moe_parameters, {moe.get(), &moe_args, memory, sizeof memory, &bytes}, {2, 4});

  // spec.h, target.h, tuned.h, plan.h, decode.h
  NULLS(heddle_spec_schema, {&out});
  heddle_spec* new_spec = nullptr;
  NULLS(heddle_spec_create, {text, length, &new_spec});
  NULLS(heddle_spec_get, {spec.get(), nullptr});
  heddle_target* new_target = nullptr;
  NULLS(heddle_target_create, {"h200", 4, &new_target});
  NULLS(heddle_target_count, {&bytes});
  NULLS(heddle_target_known, {0, &new_target});
  NULLS(heddle_target_of_device, {runtime.get(), 0, &new_target});
  NULLS(heddle_target_get, {target.get(), nullptr});
  NULLS(heddle_target_create_from_info, {nullptr, &new_target});
  heddle_tuned_tables* new_tables = nullptr;
  NULLS(heddle_tuned_tables_create, {nullptr, &one, 1, &new_tables}, {0});
  NULLS(heddle_tuned_tables_shipped, {&new_tables});
  NULLS(heddle_tuned_tables_of_runtime, {runtime.get(), &new_tables});
  NULLS(heddle_tuned_tables_count, {tables.get(), &bytes});
  NULLS(heddle_tuned_tables_json, {tables.get(), 0, &out});
  NULLS(heddle_tuned_families, {&out});
  NULLS(heddle_plan_create, {target.get(), nullptr, text, length, &new_plan}, {1});
  NULLS(heddle_plan_of_kernel, {kernel, &new_plan});
  NULLS(heddle_plan_get, {plan.get(), nullptr});
  NULLS(heddle_plan_json, {plan.get(), &out});
  NULLS(heddle_plan_description, {plan.get(), &out});
  NULLS(heddle_plan_kernel, {plan.get(), 0, nullptr});
  NULLS(heddle_plan_kernel_of_size, {plan.get(), 1, &bytes});
  NULLS(heddle_plan_workspace_bytes, {plan.get(), 1, &bytes});
  std::uint64_t checked = 0;
  NULLS(heddle_plan_prove, {plan.get(), &checked});
  NULLS(heddle_plan_source, {plan.get(), 0, nullptr});
  heddle_decode_plan* new_decode = nullptr;
  NULLS(heddle_decode_plan_create, {"{}", 2, &new_decode});
  NULLS(heddle_decode_plan_json, {decode.get(), &out});
  NULLS(heddle_decode_plan_prove, {decode.get(), &checked});
  const std::uint32_t word = 0;
  std::uint16_t values[8];
  NULLS(heddle_decode_plan_evaluate, {decode.get(), &word, 1, nullptr, 0, values, 8}, {3});
  NULLS(heddle_decode_requests, {&out});

  // kv.h, weights.h
  heddle_kv_bytes cache_bytes = {};
  NULLS(heddle_kv_cache_bytes, {HEDDLE_TEXT(kAppendText), 1, 0, &cache_bytes});
  float floats[256] = {};
  NULLS(heddle_kv_quantize, {cache.get(), 0, floats, 256, nullptr, memory, 128, memory, 32}, {4});
  NULLS(heddle_kv_dequantize, {cache.get(), 0, memory, 128, memory, 32, nullptr, floats, 256}, {6});
  NULLS(heddle_statistics_json, {memory, 10, &bytes});
  NULLS(heddle_kv_block_from_words, {"int8", 4, memory, 10, &bytes});
  NULLS(heddle_packed_bytes, {text, length, &bytes});
  heddle_spec* new_gemms[2] = {};
  NULLS(heddle_moe_gemms, {HEDDLE_TEXT(testing::kMoeText), &new_gemms[0], &new_gemms[1]});
  NULLS(heddle_dtype_bytes, {"fp16", 4, &number});
  NULLS(heddle_layout_version, {text, length, &number});
  NULLS(heddle_check_layout_version, {text, length, 1});
  NULLS(heddle_check_packed_weights, {text, length, text, length});
  heddle_quantized_weights weights = {};
  weights.struct_size = sizeof weights;
  NULLS(heddle_pack_weights, {text, length, &weights, memory, sizeof memory});
  heddle_plain_weights* new_weights = nullptr;
  NULLS(heddle_unpack_weights, {text, length, memory, sizeof memory, &new_weights});
  NULLS(heddle_quantize_weights, {HEDDLE_TEXT(kQuantizeText), memory, sizeof memory, &new_weights});
  NULLS(heddle_plain_weights_get, {nullptr, unread<heddle_quantized_weights>()}, {1});

  // model.h, checkpoint.h
  heddle_model* new_model = nullptr;
  NULLS(heddle_model_create, {unread<heddle_model_texts>(), &new_model});
  NULLS(heddle_model_create_cache, {"{}", 2, "{}", 2, &new_model});
  NULLS(heddle_model_counts, {model, &bytes, &bytes});
  NULLS(heddle_model_kernel, {nullptr, 0, unread<heddle_model_kernel_info>()}, {2});
  NULLS(heddle_model_row, {nullptr, 0, unread<heddle_model_kernel_info>()}, {2});
  NULLS(heddle_model_json, {model, &out});
  NULLS(heddle_model_remarks, {model, &out});
  NULLS(heddle_model_families, {&out});
  NULLS(heddle_checkpoint_options_init, {unread<heddle_checkpoint_options>(), 8});
  heddle_checkpoint* new_checkpoint = nullptr;
  NULLS(heddle_checkpoint_create, {"/nowhere", 8, nullptr, &new_checkpoint}, {2});
  NULLS(heddle_checkpoint_json, {checkpoint, &out});
  NULLS(heddle_checkpoint_counts, {checkpoint, &bytes, &bytes});
  NULLS(heddle_checkpoint_layer, {checkpoint, 0, unread<heddle_checkpoint_layer_info>()});
  NULLS(heddle_checkpoint_experts_count, {checkpoint, &bytes});
  NULLS(heddle_checkpoint_experts, {checkpoint, 0, unread<heddle_checkpoint_experts_info>()});
  NULLS(heddle_checkpoint_tensor, {checkpoint, 0, unread<heddle_checkpoint_tensor_info>()});
  NULLS(heddle_checkpoint_find_layer, {nullptr, "a", 1, &bytes}, {1});
  NULLS(heddle_checkpoint_find_tensor, {nullptr, "a", 1, &bytes}, {1});
  NULLS(heddle_checkpoint_pack, {checkpoint, 0, memory, 1});
  NULLS(heddle_checkpoint_pack_to, {nullptr, 0, nullptr, nullptr}, {2, 3});
  NULLS(heddle_checkpoint_read, {checkpoint, "a", 1, nullptr, 0}, {3});
  NULLS(heddle_checkpoint_read_to, {checkpoint, "a", 1, nullptr, nullptr}, {2, 3});
  NULLS(heddle_checkpoint_for_each_layer, {checkpoint, nullptr, 0, nullptr, nullptr}, {3, 4});
  heddle_uploader* new_uploader = nullptr;
  NULLS(heddle_uploader_create, {nullptr, 0, &new_uploader}, {0});
  NULLS(heddle_uploader_pack, {uploader, nullptr, 0, {}});
  NULLS(heddle_uploader_read, {uploader, nullptr, "a", 1, {}}, {2});
  NULLS(heddle_uploader_write, {nullptr, nullptr, 1, {}}, {1});
  NULLS(heddle_uploader_finish, {uploader});

  // No function is left out.
  std::set<std::string> declared;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(HEDDLE_HEADERS)) {
    if (entry.path().extension() != ".h") continue;
    std::stringstream header;
    header << std::ifstream(entry.path()).rdbuf();
    const std::string all = header.str();
    const std::regex function("HEDDLE_CALL\\s+(heddle_\\w+)\\(");
    for (std::sregex_iterator at(all.begin(), all.end(), function), end; at != end; ++at) {
      declared.insert((*at)[1]);
    }
  }
  EXPECT_EQ(names_, declared);
}

TEST(NullHandles, AreDestroyedWithoutHarm) {
  heddle_runtime_destroy(nullptr);
  heddle_kernel_destroy(nullptr);
  heddle_request_destroy(nullptr);
  heddle_preparation_destroy(nullptr);
  heddle_spec_destroy(nullptr);
  heddle_target_destroy(nullptr);
  heddle_plan_destroy(nullptr);
  heddle_build_destroy(nullptr);
  heddle_model_destroy(nullptr);
  heddle_tuned_tables_destroy(nullptr);
  heddle_plain_weights_destroy(nullptr);
  heddle_decode_plan_destroy(nullptr);
  heddle_checkpoint_destroy(nullptr);
  heddle_uploader_destroy(nullptr);
}

}  // namespace
}  // namespace heddle
