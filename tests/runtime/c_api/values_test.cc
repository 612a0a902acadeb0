// Specs, targets and plans: what the C API tells is what C++ has.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/families/family.h"
#include "generator/model/layer_json.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "heddle/kv_cache.h"
#include "heddle/tuned.h"
#include "heddle/weights.h"
#include "tests/runtime/c_api/rows.h"

namespace heddle {
namespace {

using nlohmann::json;
using testing::expect_rows;
using testing::info_from;
using testing::made;
using testing::number_from;
using testing::plan_from;
using testing::Row;
using testing::spec_from;
using testing::string_of;
using testing::target_from;
using testing::text_from;

constexpr std::string_view kGatedText =
    R"({"heddle":1,"op":"gemm","name":"up","shape":{"n":256,"k":512},"weight":{"bits":4},)"
    R"("activation":{"dtype":"bf16"},"output":{"dtype":"fp32"},"multiply":{"dtype":"bf16"},)"
    R"("epilogue":{"gated":true,"activation":"silu"}})";
constexpr std::string_view kChannelText =
    R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":4,"head_dim":64},)"
    R"("activation":{"dtype":"fp16"},"kv":{"k":{"dtype":"int4","granularity":"channel",)"
    R"("group_size":32},"v":{"dtype":"fp16"},"page_size":64}})";
const std::vector<std::string_view> kSpecTexts = {
    testing::kGemmText,     kGatedText,         testing::kAppendText, testing::kAttentionText,
    kChannelText,           testing::kRowsText, testing::kRepackText, testing::kDequantizeText,
    testing::kQuantizeText, testing::kMoeText};

std::string output_dtype_of(const Spec& spec) {
  if (spec.op() == Op::kGemm) return std::string(to_string(spec.gemm().output_dtype()));
  if (spec.op() == Op::kDequantize) return std::string(to_string(spec.weight_op().dtype));
  if (spec.op() == Op::kDecodeAttention) {
    return std::string(to_string(spec.decode_attention().activation));
  }
  if (spec.op() == Op::kMoe) return std::string(to_string(spec.moe().activation));
  if (spec.op() != Op::kRowTransform) return "";
  return std::string(to_string(spec.row_transform().output.dtype));
}

TEST(CApiValues, OfSpecs) {
  expect_rows({{"schema", text_from(heddle_spec_schema), spec_schema()}});
  for (const std::string_view text : kSpecTexts) {
    const auto spec = Spec::parse(text);
    const auto handle = spec_from(text);
    const auto info = info_from<heddle_spec_info>(heddle_spec_get, handle.get());
    const bool is_gemm = spec.op() == Op::kGemm;
    const bool is_row = spec.op() == Op::kRowTransform;
    const bool is_moe = spec.op() == Op::kMoe;
    const bool has_weight = spec.has_weight();
    const bool has_cache = spec.has_cache();
    expect_rows({
        {"canonical", string_of(info.canonical), spec.canonical_json()},
        {"name", string_of(info.name), spec.name()},
        {"op", string_of(info.op), to_string(spec.op())},
        {"output_dtype", string_of(info.output_dtype), output_dtype_of(spec)},
        {"multiply_dtype", string_of(info.multiply_dtype),
         is_gemm  ? to_string(spec.gemm().multiply_dtype())
         : is_moe ? to_string(spec.moe().activation)
                  : ""},
        {"n", info.n, has_weight ? spec.weight_shape().n : 0},
        {"k", info.k, has_weight ? spec.weight_shape().k : 0},
        {"m_min", info.m_min, spec.has_m() ? spec.m_range().min : 0},
        {"m_max", info.m_max, spec.has_m() ? spec.m_range().max : 0},
        {"output_columns", info.output_columns,
         is_gemm  ? spec.gemm().output_columns()
         : is_row ? spec.row_transform().shape.columns
         : is_moe ? spec.moe().shape.hidden
                  : 0},
        {"gated", info.gated, has_weight && spec.gated() ? 1 : 0},
        {"kv_heads", info.kv_heads, has_cache ? spec.kv_shape().kv_heads : 0},
        {"head_dim", info.head_dim, has_cache ? spec.kv_shape().head_dim : 0},
    });
  }
}

// Weights of an expert are packed as those of two gemms.
TEST(CApiValues, OfTheGemmsOfAMoe) {
  heddle_spec* gate_up = nullptr;
  heddle_spec* down = nullptr;
  ASSERT_EQ(heddle_moe_gemms(HEDDLE_TEXT(testing::kMoeText), &gate_up, &down), HEDDLE_OK)
      << heddle_error_message();
  const MoeGemms gemms = moe_gemms(Spec::parse(testing::kMoeText).moe());
  const auto first = info_from<heddle_spec_info>(heddle_spec_get, gate_up);
  const auto second = info_from<heddle_spec_info>(heddle_spec_get, down);
  expect_rows({
      {"gate_up", string_of(first.canonical), Spec::from_gemm(gemms.gate_up).canonical_json()},
      {"down", string_of(second.canonical), Spec::from_gemm(gemms.down).canonical_json()},
      {"gate_up n", first.n, 256},
      {"gate_up k", first.k, 256},
      {"gate_up gated", first.gated, 1},
      {"down n", second.n, 256},
      {"down k", second.k, 128},
      {"gate_up bytes",
       number_from<std::size_t>(heddle_packed_bytes, first.canonical.data, first.canonical.length),
       weight_layout(gemms.gate_up).total_bytes},
      {"down bytes",
       number_from<std::size_t>(heddle_packed_bytes, second.canonical.data,
                                second.canonical.length),
       weight_layout(gemms.down).total_bytes},
  });
  heddle_spec_destroy(gate_up);
  heddle_spec_destroy(down);
}

std::vector<Row> target_rows(const heddle_target_info& info, const Target& target) {
  return {
      {"name", string_of(info.name), target.name},
      {"compiler_arch", string_of(info.compiler_arch), compiler_arch(target)},
      {"tuned_gpu", string_of(info.tuned_gpu), tuned_gpu(target)},
      {"major", info.major, target.major},
      {"minor", info.minor, target.minor},
      {"sm_count", info.sm_count, target.sm_count},
      {"shared_per_block", info.shared_per_block, target.shared_per_block},
      {"shared_per_sm", info.shared_per_sm, target.shared_per_sm},
      {"registers_per_sm", info.registers_per_sm, target.registers_per_sm},
      {"threads_per_sm", info.threads_per_sm, target.threads_per_sm},
      {"l2_bytes", info.l2_bytes, target.l2_bytes},
      {"memory_gb_per_s", info.memory_gb_per_s, target.memory_gb_per_s},
      {"sm_mhz", info.sm_mhz, target.sm_mhz},
      {"tensor_tflops", info.tensor_tflops, target.tensor_tflops},
      {"launch_us", info.launch_us, target.launch_us},
  };
}

TEST(CApiValues, OfTargets) {
  const std::vector<Target> known = known_targets();
  ASSERT_EQ(number_from<std::size_t>(heddle_target_count), known.size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    const auto by_number = made(heddle_target_destroy, heddle_target_known, i);
    auto info = info_from<heddle_target_info>(heddle_target_get, by_number.get());
    expect_rows(target_rows(info, known[i]));
    const auto by_name = target_from(known[i].name);
    expect_rows(
        target_rows(info_from<heddle_target_info>(heddle_target_get, by_name.get()), known[i]));
    // One like it, with another name and half of its SMs.
    Target half = known[i];
    half.name = "half";
    info.name = testing::text_of(half.name);
    info.sm_count = half.sm_count /= 2;
    const auto own = made(heddle_target_destroy, heddle_target_create_from_info, &info);
    expect_rows(target_rows(info_from<heddle_target_info>(heddle_target_get, own.get()), half));
  }
}

std::vector<Row> kernel_rows(const heddle_plan* handle, const Plan& plan, std::size_t index) {
  const auto info = info_from<heddle_plan_kernel_info>(heddle_plan_kernel, handle, index);
  const auto text = info_from<heddle_plan_source_info>(heddle_plan_source, handle, index);
  const PlannedKernel& kernel = plan.kernel(index);
  const Source source = render(plan, index);
  return {
      {"name", string_of(info.name), kernel.name},
      {"family", string_of(info.family), kernel.family->name()},
      {"size_min", info.size_min, kernel.size_min},
      {"size_max", info.size_max, kernel.size_max},
      {"threads", info.threads, kernel.threads},
      {"shared_bytes", info.shared_bytes, kernel.shared_bytes},
      {"runs_before", info.runs_before, index >= plan.kernels.size() ? 1 : 0},
      {"starts_early", info.starts_early, kernel.starts_early ? 1 : 0},
      {"blocks_per_sm", info.blocks_per_sm, kernel.blocks_per_sm},
      {"kernel_name", string_of(text.kernel_name), source.kernel_name},
      {"file_name", string_of(text.file_name), source.file_name},
      {"text", string_of(text.text), source.text},
      {"arch", string_of(text.arch), source.arch},
  };
}

TEST(CApiValues, OfPlans) {
  for (const char* const name : {"h200", "a100"}) {
    for (const std::string_view text : kSpecTexts) {
      const auto handle = plan_from(text, name);
      const Plan plan = resolve(Spec::parse(text), target_from_name(name));
      const auto info = info_from<heddle_plan_info>(heddle_plan_get, handle.get());
      std::uint64_t codes = 0;
      for (const DecodePlan& one : decode_plans_of(plan)) {
        codes += prove_decode_plan(one).codes_checked;
      }
      expect_rows({
          {"spec", string_of(info.spec), plan.spec.canonical_json()},
          {"target", string_of(info.target), plan.target.name},
          {"kernel_count", info.kernel_count, plan.kernel_count()},
          {"max_workspace_bytes", info.max_workspace_bytes, plan.max_workspace_bytes()},
          {"packed_bytes", info.packed_bytes, plan.spec.has_weight() ? plan.layout.total_bytes : 0},
          {"json", text_from(heddle_plan_json, handle.get()), plan_to_json(plan)},
          {"description", text_from(heddle_plan_description, handle.get()), describe(plan)},
          {"prove", number_from<std::uint64_t>(heddle_plan_prove, handle.get()), codes},
      });
      for (std::size_t i = 0; i < plan.kernel_count(); ++i) {
        expect_rows(kernel_rows(handle.get(), plan, i));
      }
      for (const PlannedKernel& kernel : plan.kernels) {
        for (const std::int64_t size : {kernel.size_min, kernel.size_max}) {
          expect_rows({{"kernel_of_size",
                        number_from<std::size_t>(heddle_plan_kernel_of_size, handle.get(), size),
                        plan.kernel_for(size)}});
          if (plan.spec.op() != Op::kGemm && plan.spec.op() != Op::kMoe) continue;
          expect_rows({{"workspace_bytes",
                        number_from<std::size_t>(heddle_plan_workspace_bytes, handle.get(), size),
                        plan.workspace_bytes(size)}});
        }
      }
    }
  }
}

// The JSON of a plan has what C has no struct for.
TEST(CApiValues, OfLayoutsCachesAndTargetsInAPlan) {
  for (const std::string_view text : kSpecTexts) {
    const Plan plan = resolve(Spec::parse(text), target_from_name("h200"));
    const auto told = json::parse(text_from(heddle_plan_json, plan_from(text).get()));
    const json& target = told.at("target");
    expect_rows({{"major", target.at("major"), 9},
                 {"tuned_gpu", target.at("tuned_gpu"), tuned_gpu(plan.target)},
                 {"l2_bytes", target.at("l2_bytes"), plan.target.l2_bytes},
                 {"tensor_tflops", target.at("tensor_tflops"), plan.target.tensor_tflops},
                 {"launch_us", target.at("launch_us"), plan.target.launch_us}});
    // The facts are those of heddle_target_create_from_info().
    for (const char* const fact :
         {"name", "minor", "sm_count", "shared_per_block", "shared_per_sm", "registers_per_sm",
          "threads_per_sm", "memory_gb_per_s", "sm_mhz"}) {
      EXPECT_TRUE(target.contains(fact)) << fact;
    }
    if (plan.spec.has_weight()) {
      const WeightLayout& l = plan.layout;
      const json& layout = told.at("layout");
      expect_rows({
          {"version", layout.at("version"), kLayoutVersion},
          {"row_block", layout.at("row_block"), WeightLayout::kRowBlock},
          {"chunk_k", layout.at("chunk_k"), WeightLayout::kChunkK},
          {"row_blocks", layout.at("row_blocks"), l.row_blocks},
          {"chunks", layout.at("chunks_per_row_block"), l.chunks_per_row_block},
          {"meta_group", layout.at("meta_group"), l.meta_group},
          {"groups_per_chunk", layout.at("groups_per_chunk"), l.groups_per_chunk},
          {"entry_offset", layout.at("entry_offset"), l.entry_offset},
          {"chunk_bytes", layout.at("chunk_bytes"), l.chunk_bytes},
          {"scale_offset", layout.at("scale_offset"), l.scale_offset},
          {"scale_bytes", layout.at("scale_bytes"), l.scale_bytes},
          {"zero_offset", layout.at("zero_offset"), l.zero_offset},
          {"zero_bytes", layout.at("zero_bytes"), l.zero_bytes},
          {"channel_offset", layout.at("channel_offset"), l.channel_offset},
          {"channel_bytes", layout.at("channel_bytes"), l.channel_bytes},
          {"channel_zero_offset", layout.at("channel_zero_offset"), l.channel_zero_offset},
          {"channel_sum_offset", layout.at("channel_sum_offset"), l.channel_sum_offset},
          {"block_bytes", layout.at("block_bytes"), l.block_bytes},
          {"tensor_offset", layout.at("tensor_offset"), l.tensor_offset},
          {"total_bytes", layout.at("total_bytes"), l.total_bytes},
      });
    }
    if (!plan.spec.has_cache()) continue;
    const KvShape shape = plan.spec.kv_shape();
    const KvSpec& kv = plan.spec.kv();
    const KvCacheLayout cache = kv_cache_layout(kv, shape.kv_heads, shape.head_dim);
    const KvTokenBytes token = kv_token_bytes(cache);
    expect_rows({{"codes", told.at("cache").at("code_bytes_of_token"), token.codes},
                 {"scales", told.at("cache").at("scale_bytes_of_token"), token.scales}});
    for (const char* const name : {"k", "v"}) {
      const json& told_of = told.at("cache").at(name);
      const KvTensor& tensor = *name == 'k' ? kv.k : kv.v;
      const KvTensorLayout& l = *name == 'k' ? cache.k : cache.v;
      const int rows = kv_block_tokens(tensor) * shape.kv_heads;
      expect_rows({
          {"bits", told_of.at("bits"), kv_bits(tensor.dtype)},
          {"order", told_of.at("order"), to_string(l.order)},
          {"row_bytes", told_of.at("row_bytes"), l.row_bytes},
          {"scale_heads", told_of.at("scale_heads"), l.scale_heads},
          {"scale_row_bytes", told_of.at("scale_row_bytes"), l.scale_row_bytes},
          {"scales_of_row", told_of.at("scales_of_row"), l.scales_of_row},
          {"scale_tokens", told_of.at("scale_tokens"), l.scale_tokens},
          {"residual_row_bytes", told_of.at("residual_row_bytes"), l.residual_row_bytes},
          {"block tokens", told_of.at("block").at("tokens"), kv_block_tokens(tensor)},
          {"block values", told_of.at("block").at("values"), rows * shape.head_dim},
          {"block codes", told_of.at("block").at("code_bytes"), l.code_bytes(1, rows) / 4},
          {"block scales", told_of.at("block").at("scale_bytes"),
           l.scale_bytes(1, kv_block_tokens(tensor))},
      });
    }
  }
}

// The formulas of heddle/c/weights.h.

}  // namespace
}  // namespace heddle
