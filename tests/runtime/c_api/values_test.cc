// What the C API tells is what C++ has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "generator/decode/request_json.h"
#include "generator/decode/requests.h"
#include "generator/families/family.h"
#include "generator/model/layer_json.h"
#include "generator/model/model_json.h"
#include "heddle/inspect/decode_plan.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "heddle/kv_cache.h"
#include "heddle/model.h"
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
    testing::kGemmText,    kGatedText,         testing::kAppendText, testing::kAttentionText,
    kChannelText,          testing::kRowsText, testing::kRepackText, testing::kDequantizeText,
    testing::kQuantizeText};

std::string output_dtype_of(const Spec& spec) {
  if (spec.op() == Op::kGemm) return std::string(to_string(spec.gemm().output_dtype()));
  if (spec.op() == Op::kDequantize) return std::string(to_string(spec.weight_op().dtype));
  if (spec.op() == Op::kDecodeAttention) {
    return std::string(to_string(spec.decode_attention().activation));
  }
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
    const bool has_weight = spec.has_weight();
    const bool has_cache = spec.has_cache();
    expect_rows({
        {"canonical", string_of(info.canonical), spec.canonical_json()},
        {"name", string_of(info.name), spec.name()},
        {"op", string_of(info.op), to_string(spec.op())},
        {"output_dtype", string_of(info.output_dtype), output_dtype_of(spec)},
        {"multiply_dtype", string_of(info.multiply_dtype),
         is_gemm ? to_string(spec.gemm().multiply_dtype()) : ""},
        {"n", info.n, has_weight ? spec.weight_shape().n : 0},
        {"k", info.k, has_weight ? spec.weight_shape().k : 0},
        {"m_min", info.m_min, spec.has_m() ? spec.m_range().min : 0},
        {"m_max", info.m_max, spec.has_m() ? spec.m_range().max : 0},
        {"output_columns", info.output_columns,
         is_gemm  ? spec.gemm().output_columns()
         : is_row ? spec.row_transform().shape.columns
                  : 0},
        {"gated", info.gated, has_weight && spec.gated() ? 1 : 0},
        {"kv_heads", info.kv_heads, has_cache ? spec.kv_shape().kv_heads : 0},
        {"head_dim", info.head_dim, has_cache ? spec.kv_shape().head_dim : 0},
    });
  }
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
          if (plan.spec.op() != Op::kGemm) continue;
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
          {"version", layout.at("version"), layout_version(plan.spec.weight())},
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
TEST(CApiValues, OfPlacesInACache) {
  for (const char* const order : {"hnd", "nhd"}) {
    for (const char* const granularity : {"token", "head", "channel"}) {
      const auto spec = Spec::parse(
          std::string(R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":4,"head_dim":64},)"
                      R"("activation":{"dtype":"fp16"},"kv":{"v":{"dtype":"fp16"},"k":{)"
                      R"("dtype":"int4","granularity":")") +
          granularity + R"("},"page_size":64,"order":")" + order + R"("}})");
      const KvTensorLayout k = kv_cache_layout(spec.kv(), 4, 64).k;
      const auto told = json::parse(plan_to_json(resolve(spec, target_from_name("h200"))));
      const json& of_k = told.at("cache").at("k");
      const std::size_t tokens = 64;
      const auto row = [&](std::size_t page, std::size_t page_tokens, std::size_t token,
                           std::size_t heads, std::size_t head) {
        return of_k.at("order") == "hnd" ? (page * heads + head) * page_tokens + token
                                         : (page * page_tokens + token) * heads + head;
      };
      const auto number = [&](const char* name) { return of_k.at(name).get<std::size_t>(); };
      const std::size_t scale_heads = number("scale_heads");
      const std::size_t shared = number("scale_tokens");
      expect_rows({
          {"codes", row(2, tokens, 40, 4, 3) * number("row_bytes"), k.code_offset(2, 64, 40, 3)},
          {"scales",
           row(2, tokens / shared, 40 / shared, scale_heads, scale_heads == 1 ? 0 : 3) *
               number("scale_row_bytes"),
           k.scale_offset(2, 64, 40, 3)},
          {"residual", ((5 * 4 + 3) * shared + 70 % shared) * number("residual_row_bytes"),
           k.residual_offset(5, 70, 3)},
      });
    }
  }
}

TEST(CApiValues, OfDecodePlans) {
  const auto known = json::parse(text_from(heddle_decode_requests)).at("requests");
  const std::vector<NamedDecodeRequest> all = every_decode_request();
  ASSERT_EQ(known.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string request = known[i].at("request").dump();
    const auto plan =
        made(heddle_decode_plan_destroy, heddle_decode_plan_create, request.data(), request.size());
    const DecodePlan same = derive_decode_plan(all[i].request);
    expect_rows(
        {{"name", known[i].at("name"), all[i].name},
         {"cost", known[i].at("instructions_per_weight"), same.instructions_per_weight},
         {"json", text_from(heddle_decode_plan_json, plan.get()), decode_plan_to_json(same)}});
  }
}

// Own codes: what each becomes, for every code in every element.
TEST(CApiValues, OfCodesThatDecodePlansEvaluate) {
  const std::vector<std::string> requests = {
      "{}", R"({"type":"int","order":"permutation","permutation":[7,6,5,4,3,2,1,0]})",
      R"({"kind":"float","bits":6,"exponent_bits":3,"mantissa_bits":2})",
      R"({"kind":"table","dtype":"bf16","table":[0,1,4,9,16,25,36,49,64,81,100,121,144,169,196,225]})",
      R"({"zero_point":"int"})"};
  for (const std::string& request : requests) {
    const auto handle =
        made(heddle_decode_plan_destroy, heddle_decode_plan_create, request.data(), request.size());
    const DecodePlan plan = derive_decode_plan(parse_decode_request(request));
    const std::vector<std::uint32_t> groups(static_cast<std::size_t>(plan.group_words), 0x00530053);
    for (std::uint32_t code = 0; code < 1U << static_cast<unsigned>(plan.request.bits); ++code) {
      std::vector<std::uint32_t> words(static_cast<std::size_t>(plan.words));
      for (int i = 0; i < plan.elements(); ++i) write_code(plan, i, code, words);
      std::vector<std::uint16_t> values(plan.bit_of.size());
      EXPECT_EQ(heddle_decode_plan_evaluate(handle.get(), words.data(), words.size(), groups.data(),
                                            groups.size(), values.data(), values.size()),
                HEDDLE_OK);
      EXPECT_EQ(values, evaluate_decode_plan(plan, words, groups)) << request << code;
      if (!groups.empty()) continue;
      const auto wanted = reference_decode(plan.request, code, 0, plan.result_exponent, 1);
      EXPECT_EQ(std::count(values.begin(), values.end(), wanted), plan.elements()) << request;
    }
    EXPECT_EQ(number_from<std::uint64_t>(heddle_decode_plan_prove, handle.get()),
              prove_decode_plan(plan).codes_checked);
  }
}

TEST(CApiValues, OfQuantisedKAndV) {
  const std::vector<std::string> caches = {
      R"("dtype":"int4","granularity":"group","group_size":16)", R"("dtype":"fp8_e4m3")",
      R"("k":{"dtype":"int4","granularity":"channel","group_size":32},"v":{"dtype":"fp16"})"};
  for (const std::string& kv : caches) {
    const auto spec =
        Spec::parse(R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":4,"head_dim":64},)"
                    R"("activation":{"dtype":"fp16"},"kv":{)" +
                    kv + R"(,"page_size":64}})");
    const auto handle = spec_from(spec.canonical_json());
    for (const std::int32_t which : {HEDDLE_KV_K, HEDDLE_KV_V}) {
      const KvTensor& tensor = which == HEDDLE_KV_K ? spec.kv().k : spec.kv().v;
      std::vector<float> values(static_cast<std::size_t>(kv_block_tokens(tensor)) * 4 * 64);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
      }
      const heddle_kv_given_scale given = {2, 0};
      const KvToken wanted = quantize_kv(tensor, 4, 64, values.data(), {2, 0});
      KvToken got = {std::vector<std::uint8_t>(wanted.codes.size()),
                     std::vector<std::uint8_t>(wanted.scales.size())};
      EXPECT_EQ(heddle_kv_quantize(handle.get(), which, values.data(), values.size(), &given,
                                   got.codes.data(), got.codes.size(), got.scales.data(),
                                   got.scales.size()),
                HEDDLE_OK)
          << heddle_error_message();
      std::vector<float> back(values.size());
      EXPECT_EQ(heddle_kv_dequantize(handle.get(), which, got.codes.data(), got.codes.size(),
                                     got.scales.data(), got.scales.size(), &given, back.data(),
                                     back.size()),
                HEDDLE_OK);
      expect_rows({{"codes", got.codes, wanted.codes},
                   {"scales", got.scales, wanted.scales},
                   {"values", back, dequantize_kv(tensor, 4, 64, wanted, {2, 0})}});
    }
  }
}

TEST(CApiValues, OfTextsThatTheCallerKeeps) {
  for (const std::string_view words : {"int4:group:64", "int8:head,int4"}) {
    const std::string wanted = kv_block_from_words(words);
    std::string text(wanted.size() + 1, '~');
    std::size_t length = 0;
    EXPECT_EQ(heddle_kv_block_from_words(words.data(), words.size(), nullptr, 0, &length),
              HEDDLE_OK);
    EXPECT_EQ(length, wanted.size());
    EXPECT_EQ(
        heddle_kv_block_from_words(words.data(), words.size(), text.data(), text.size(), &length),
        HEDDLE_OK);
    EXPECT_EQ(text, wanted + "~") << "nothing behind the text is written";
  }
}

// Groups; codes that are multiplied as they are, with the sums of their rows; two levels of scales.
struct Packing {
  const char* shape_and_weight;
  const char* rest;  // of the gemm
};
constexpr Packing kPackings[] = {
    {R"("shape":{"n":64,"k":256},"weight":{"bits":4,"group_size":128})",
     R"("activation":{"dtype":"fp16"})"},
    {R"("shape":{"n":16,"k":128},"weight":{"bits":8,"type":"int","group_size":-1,)"
     R"("scale_dtype":"fp32","interleave":"swizzle_128b"})",
     R"("activation":{"dtype":"int8","granularity":"token"},"output":{"dtype":"bf16"})"},
    {R"("shape":{"n":16,"k":128},"weight":{"bits":4,"group_size":32,"scale_dtype":"int8",)"
     R"("channel_scale":"fp16","interleave":"byte_fragment"})",
     R"("activation":{"dtype":"int8","granularity":"token"},"output":{"dtype":"bf16"})"}};

std::vector<std::uint8_t> array_of(const void* data, std::size_t size) {
  const auto* const begin = static_cast<const std::uint8_t*>(data);
  return data == nullptr ? std::vector<std::uint8_t>()
                         : std::vector<std::uint8_t>(begin, begin + size);
}

std::vector<Row> array_rows(const heddle_quantized_weights& arrays, const QuantizedWeights& plain) {
  return {{"codes", array_of(arrays.codes, arrays.codes_bytes), plain.codes},
          {"scales", array_of(arrays.scales, arrays.scales_bytes), plain.scales},
          {"zeros", array_of(arrays.zeros, arrays.zeros_bytes), plain.zeros},
          {"tensor_scale", arrays.tensor_scale, plain.tensor_scale},
          {"channel_scales", array_of(arrays.channel_scales, arrays.channel_scales_bytes),
           plain.channel_scales}};
}

TEST(CApiValues, OfPackedWeights) {
  for (const Packing& packing : kPackings) {
    const std::string quantize = std::string(R"({"heddle":1,"op":"quantize_weight",)") +
                                 packing.shape_and_weight + R"(,"input":{"dtype":"fp16"}})";
    const std::string text = std::string(R"({"heddle":1,"op":"gemm",)") + packing.shape_and_weight +
                             "," + packing.rest + "}";
    const auto spec = Spec::parse(quantize);
    const auto gemm = Spec::parse(text);
    const MatrixShape shape = spec.weight_shape();
    std::vector<std::uint16_t> w(static_cast<std::size_t>(shape.n * shape.k));
    for (std::size_t i = 0; i < w.size(); ++i) {
      w[i] = static_cast<std::uint16_t>(0x3000 + i % 997 + i % 2 * 0x8000);
    }
    const QuantizedWeights plain = quantize_weights(spec.weight_op(), w);
    const std::vector<std::uint8_t> packed = pack_weights(gemm.gemm(), plain);

    const auto quantised = made(heddle_plain_weights_destroy, heddle_quantize_weights,
                                quantize.data(), quantize.size(), w.data(), 2 * w.size());
    const auto arrays =
        info_from<heddle_quantized_weights>(heddle_plain_weights_get, quantised.get());
    std::vector<std::uint8_t> bytes(packed.size());
    EXPECT_EQ(heddle_pack_weights(text.data(), text.size(), &arrays, bytes.data(), bytes.size()),
              HEDDLE_OK)
        << heddle_error_message();
    const auto unpacked = made(heddle_plain_weights_destroy, heddle_unpack_weights, text.data(),
                               text.size(), bytes.data(), bytes.size());
    const auto back = info_from<heddle_quantized_weights>(heddle_plain_weights_get, unpacked.get());
    expect_rows(array_rows(arrays, plain));
    expect_rows(array_rows(back, unpack_weights(gemm.gemm(), packed.data(), packed.size())));
    expect_rows({
        {"packed", bytes, packed},
        {"packed_bytes", number_from<std::size_t>(heddle_packed_bytes, text.data(), text.size()),
         packed.size()},
        {"layout_version",
         number_from<std::int32_t>(heddle_layout_version, text.data(), text.size()),
         layout_version(gemm.weight())},
        {"check_layout_version",
         heddle_check_layout_version(text.data(), text.size(), kLayoutVersion), HEDDLE_OK},
        {"check_packed_weights",
         heddle_check_packed_weights(text.data(), text.size(), quantize.data(), quantize.size()),
         HEDDLE_OK},
    });
  }
  for (const std::string_view word :
       {"fp16", "bf16", "fp32", "e8m0", "e4m3", "int8", "fp8_e4m3", "fp8_e5m2"}) {
    const std::size_t size = word == "fp32" ? 4 : word.substr(word.size() - 2) == "16" ? 2 : 1;
    expect_rows({{std::string(word),
                  number_from<std::int32_t>(heddle_dtype_bytes, word.data(), word.size()), size}});
  }
}

TEST(CApiValues, OfTunedTables) {
  const auto shipped = made(heddle_tuned_tables_destroy, heddle_tuned_tables_shipped);
  const std::vector<TunedTable>& tables = TunedTables::shipped().tables();
  ASSERT_EQ(number_from<std::size_t>(heddle_tuned_tables_count, shipped.get()), tables.size());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const std::string text = text_from(heddle_tuned_tables_json, shipped.get(), i);
    const heddle_text one = testing::text_of(text);
    const auto alone =
        made(heddle_tuned_tables_destroy, heddle_tuned_tables_create, nullptr, &one, 1);
    const auto merged =
        made(heddle_tuned_tables_destroy, heddle_tuned_tables_create, shipped.get(), &one, 1);
    expect_rows({{"json", text, tables[i].to_json()},
                 {"read again", text_from(heddle_tuned_tables_json, alone.get(), 0), text},
                 {"merged", text_from(heddle_tuned_tables_json, merged.get(), i), text}});
  }
  json versions = json::object();
  json cost_versions = json::object();
  const auto families = json::parse(text_from(heddle_tuned_families)).at("families");
  for (const json& one : families) {
    versions[one.at("name").get<std::string>()] = one.at("version");
    if (one.at("cost_version") != 0) {
      cost_versions[one.at("name").get<std::string>()] = one.at("cost_version");
    }
  }
  expect_rows({{"families", versions, tuned_family_versions()},
               {"cost families", cost_versions, tuned_cost_versions()}});

  // A plan follows the tables that it is made with.
  const auto none =
      made(heddle_tuned_tables_destroy, heddle_tuned_tables_create, nullptr, nullptr, 0);
  const auto spec = Spec::parse(testing::kGemmText);
  const Target h100 = target_from_name("h100");
  const auto text_with = [](const heddle_tuned_tables* set) {
    return text_from(heddle_plan_json, plan_from(testing::kGemmText, "h100", set).get());
  };
  expect_rows({
      {"shipped", text_with(shipped.get()), plan_to_json(resolve(spec, h100))},
      {"by default", text_with(nullptr), plan_to_json(resolve(spec, h100))},
      {"none", text_with(none.get()), plan_to_json(resolve(spec, h100, TunedTables()))},
  });
}

constexpr std::string_view kLlama =
    R"({"model_type":"llama","architectures":["LlamaForCausalLM"],"hidden_size":512,)"
    R"("intermediate_size":1024,"num_attention_heads":8,"num_key_value_heads":2,)"
    R"("num_hidden_layers":3,"vocab_size":1000,"rms_norm_eps":1e-5,"hidden_act":"silu",)"
    R"("tie_word_embeddings":false,"max_position_embeddings":2048,"rope_theta":10000.0,)"
    R"("torch_dtype":"float16")";

std::string llama(const char* quantization) { return std::string(kLlama) + quantization + "}"; }

void expect_model(const heddle_model* handle, const Model& model) {
  std::size_t kernels = 0;
  std::size_t rows = 0;
  ASSERT_EQ(heddle_model_counts(handle, &kernels, &rows), HEDDLE_OK);
  std::string remarks;
  for (const std::string& line : remark_lines(model)) {
    remarks += (remarks.empty() ? "" : "\n") + line;
  }
  expect_rows({{"kernels", kernels, model.kernels.size()},
               {"rows", rows, model.rows.size()},
               {"json", text_from(heddle_model_json, handle), model_to_json(model)},
               {"remarks", text_from(heddle_model_remarks, handle), remarks}});
  const auto expect_kernel = [](const heddle_model_kernel_info& info, const ModelKernel& kernel) {
    expect_rows({{"name", string_of(info.name), kernel.spec.name()},
                 {"spec", string_of(info.spec), spec_line(kernel.spec)},
                 {"covers", string_of(info.covers), kernel.covers},
                 {"layers", info.layers, kernel.layers}});
  };
  for (std::size_t i = 0; i < kernels; ++i) {
    expect_kernel(info_from<heddle_model_kernel_info>(heddle_model_kernel, handle, i),
                  model.kernels[i]);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    expect_kernel(info_from<heddle_model_kernel_info>(heddle_model_row, handle, i), model.rows[i]);
  }
}

TEST(CApiValues, OfModels) {
  const std::string awq =
      llama(R"(,"quantization_config":{"quant_method":"awq","bits":4,"group_size":128,)"
            R"("version":"gemm","zero_point":true})");
  const std::string fp8 = llama(R"(,"quantization_config":{"quant_method":"fbgemm_fp8"})");
  const std::string plain = llama("");
  heddle_model_texts first = {};
  first.struct_size = sizeof first;
  first.config = testing::text_of(awq);
  std::vector<heddle_model_texts> cases(9, first);
  cases[1].gated = 1;
  cases[2].config = testing::text_of(fp8);
  cases[3] = cases[4] = cases[2];
  cases[3].activation_bits = 16;
  cases[4].arch = 86;  // has no FP8
  cases[5].config = testing::text_of(plain);
  cases[5].plain_too = 1;
  cases[6].config = testing::text_of(plain);
  cases[6].dense = 1;
  cases[7] = cases[6];
  cases[7].lm_head_bits = 8;
  cases[8].config = testing::text_of(plain);
  cases[8].quantize_config =
      testing::text_of(R"({"bits":4,"group_size":128,"desc_act":false,"sym":true})");
  std::vector<std::string> seen;
  for (const heddle_model_texts& texts : cases) {
    ModelConfigTexts same;
    same.config = string_of(texts.config).empty() ? "" : std::string_view(texts.config.data);
    same.quantize_config = {texts.quantize_config.data, texts.quantize_config.length};
    same.plain_too = texts.plain_too != 0;
    same.gated = texts.gated != 0;
    same.dense = texts.dense != 0;
    same.lm_head_bits = texts.lm_head_bits;
    same.activation_bits = texts.activation_bits;
    same.arch = texts.arch;
    const auto handle = made(heddle_model_destroy, heddle_model_create, &texts);
    expect_model(handle.get(), model_from_config(same));
    seen.push_back(text_from(heddle_model_json, handle.get()));
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(std::count(seen.begin(), seen.end(), seen[i]), 1) << "an option has no effect: " << i;
  }
  const std::string_view kv = R"({"dtype":"int8","granularity":"head"})";
  const auto cache = made(heddle_model_destroy, heddle_model_create_cache, plain.data(),
                          plain.size(), kv.data(), kv.size());
  expect_model(cache.get(), cache_model_from_config(plain, kv));
  expect_rows({{"families", text_from(heddle_model_families), families_json().dump()}});
}

TEST(CApiValues, OfAModelAsJson) {
  const std::string config =
      llama(R"(,"quantization_config":{"quant_method":"awq","bits":4,"group_size":128,)"
            R"("version":"gemm","zero_point":true})");
  const Model model = model_from_config(config);
  const auto told = json::parse(model_to_json(model));
  expect_rows({
      {"model_type", told.at("model_type"), "llama"},
      {"quant_method", told.at("quant_method"), "awq"},
      {"hidden", told.at("model").at("hidden"), 512},
      {"kernels", told.at("kernels").size(), 4},
      {"rows", told.at("rows").size(), model.rows.size()},
      {"layers", told.at("layers").size(), model.layers.size()},
      {"notes", told.at("notes"), model.notes},
      {"assumptions", told.at("assumptions"), model.assumptions},
      {"unserved", told.at("unserved").size(), model.unserved.size()},
  });
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const ModelLayer& layer = model.layers[i];
    const json& one = told.at("layers")[i];
    json parts = json::array();
    for (const ModelPart& part : layer.parts) {
      parts.push_back({{"module", part.path}, {"n", part.n}});
    }
    expect_rows({
        {"name", one.at("name"), layer.name},
        {"kind", one.at("kind"), to_string(layer.kind)},
        {"weights", one.at("weights"), layer.weights},
        {"n", one.at("n"), layer.n},
        {"k", one.at("k"), layer.k},
        {"matrices", one.at("matrices"), layer.matrices},
        {"count", one.at("count"), layer.count()},
        {"layers", one.at("layers"), layer.layers},
        {"bias", one.at("bias"), layer.bias},
        {"parts", one.at("parts"), parts},
        {"reason", one.value("reason", ""), layer.reason},
        {"kernel", one.at("kernel").is_null() ? "" : one.at("kernel").get<std::string>(),
         layer.kernel < 0 ? "" : model.kernels[static_cast<std::size_t>(layer.kernel)].spec.name()},
    });
  }
}

}  // namespace
}  // namespace heddle
