// How kv_append is planned, what is refused, and that what is rendered holds the decisions.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "generator/families/configuration.h"
#include "generator/families/family.h"
#include "generator/families/kv_append/config.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "tests/generator/planner/plan_refusals.h"

namespace heddle {
namespace {

Spec spec_of(int heads, int head_dim, const std::string& kv, const std::string& more = "",
             const std::string& dtype = "fp16") {
  return Spec::parse(R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":)" +
                     std::to_string(heads) + R"(,"head_dim":)" + std::to_string(head_dim) +
                     R"(},"activation":{"dtype":")" + dtype + R"("},"kv":{)" + kv + "}" + more +
                     "}");
}

Plan plan_of(const Spec& spec, const char* target = "h200") {
  return resolve(spec, target_from_name(target));
}

Pointers refusals(const Spec& spec, const char* target = "h200") {
  return refused_fields(spec, target);
}

// Whole rows, whole tokens, whole warps, and never more threads than a block may have.
TEST(KvAppendPlan, BlocksHoldWholeRows) {
  for (const int heads : {1, 2, 3, 5, 8, 12, 32, 40, 64, 96, 128}) {
    for (const int head_dim : {16, 64, 80, 96, 128, 192, 256, 512}) {
      const Spec spec = spec_of(heads, head_dim, "", R"(,"rope":{"pairing":"neox","dim":16})");
      const Plan plan = plan_of(spec);
      ASSERT_EQ(plan.kernel_count(), 1U);
      EXPECT_EQ(plan.kernels[0].family->name(), "kv_append");
      const auto& tile = config_of<device::KvAppendConfig>(plan.kernels[0]);
      EXPECT_GE(tile.lanes * 16, head_dim);
      EXPECT_LE(tile.lanes, 32);
      EXPECT_EQ(32 % tile.lanes, 0);
      EXPECT_EQ(tile.slots, 1);
      EXPECT_EQ(tile.threads() % 32, 0);
      EXPECT_GE(tile.threads(), tile.tokens * tile.lanes);
      EXPECT_LE(tile.threads(), 512);
      EXPECT_EQ(plan.kernels[0].threads, tile.threads());
      EXPECT_EQ(plan.kernels[0].shared_bytes, tile.shared_bytes());
    }
  }
  // Scales per token: all heads of one in a block.
  const Spec token = spec_of(96, 128, R"("granularity":"token")");
  const device::KvAppendConfig tile = kv_append_config(token.kv_append(), target_from_name("h200"));
  EXPECT_GE(tile.slots * tile.stages, 96);
}

TEST(KvAppendPlan, Refusals) {
  const auto channel = [](const std::string& group, const std::string& more = "") {
    return refusals(
        spec_of(8, 128, R"("k":{"granularity":"channel","group_size":)" + group + "}" + more));
  };
  EXPECT_EQ(channel("32"), Pointers{});
  EXPECT_EQ(channel("96", R"(,"page_size":192)"), Pointers{});
  EXPECT_EQ(channel("48"), Pointers{"/kv/k/group_size"});
  EXPECT_EQ(channel("128"), Pointers{"/kv/page_size"});
  EXPECT_EQ(channel("256", R"(,"layout":"contiguous")"), Pointers{});
  EXPECT_EQ(channel("512", R"(,"layout":"contiguous")"), Pointers{"/kv/k/group_size"});
  EXPECT_EQ(refusals(spec_of(8, 128, R"("v":{"granularity":"channel"})")),
            Pointers{"/kv/v/granularity"});
  // 512 elements of 256 tokens are more than a block of this GPU can keep.
  EXPECT_EQ(refusals(spec_of(8, 512,
                             R"("k":{"granularity":"channel","group_size":256},)"
                             R"("layout":"contiguous")"),
                     "sm_75"),
            Pointers{"/kv/k/group_size"});
  EXPECT_EQ(refusals(spec_of(8, 96, R"("v":{"granularity":"group","group_size":48})")),
            Pointers{"/kv/v/group_size"});
  EXPECT_EQ(refusals(spec_of(512, 128, R"("granularity":"token")")), Pointers{"/kv/granularity"});
  EXPECT_EQ(refusals(spec_of(8, 72, "")), Pointers{"/shape/head_dim"});
  EXPECT_EQ(refusals(spec_of(8, 128, "", "", "bf16"), "sm_75"), Pointers{"/activation/dtype"});
  EXPECT_EQ(refusals(spec_of(8, 128, R"("v":{"dtype":"bf16"})"), "sm_75"),
            Pointers{"/activation/dtype"});
  EXPECT_EQ(refusals(spec_of(8, 128, ""), "sm_75"), Pointers{});
}

TEST(KvAppendPlan, TellsItsBytes) {
  const Plan plan = plan_of(spec_of(8, 128, R"("dtype":"int4","v":{"symmetric":false})"));
  const auto json = nlohmann::json::parse(plan_to_json(plan));
  EXPECT_FALSE(json.contains("decode"));
  EXPECT_EQ(json["cache"]["k"]["row_bytes"], 64);
  EXPECT_EQ(json["cache"]["v"]["scale_row_bytes"], 4);
  EXPECT_EQ(json["cache"]["code_bytes_of_token"], 1024);
  EXPECT_EQ(json["cache"]["scale_bytes_of_token"], 48);
  EXPECT_EQ(json["kernels"][0]["family"], "kv_append");
  EXPECT_EQ(json["kernels"][0]["configuration"]["k"]["asymmetric"], false);
  EXPECT_EQ(json["kernels"][0]["configuration"]["v"]["granularity"], "kHead");
  EXPECT_NE(describe(plan).find("a token takes 1024 bytes of codes and 48 of scales"),
            std::string::npos);
}

TEST(KvAppendPlan, TellsOfBlocksOfTokens) {
  const Plan plan =
      plan_of(spec_of(8, 128, R"("k":{"dtype":"int4","granularity":"channel","group_size":64})"));
  const auto json = nlohmann::json::parse(plan_to_json(plan));
  EXPECT_EQ(json["cache"]["k"]["scale_tokens"], 64);
  EXPECT_EQ(json["cache"]["k"]["residual_bytes_of_slot"], 8 * 64 * 128 * 2);
  EXPECT_EQ(json["cache"]["v"]["scale_tokens"], 1);
  EXPECT_NE(describe(plan).find("64 bytes of codes and, for 64 tokens, 256 of scales (fp16); a "
                                "residual window of 131072 bytes"),
            std::string::npos)
      << describe(plan);
}

// A spec without Q and norm has the plan that it always had.
TEST(KvAppendPlan, QueryAndNorm) {
  const Plan plain = plan_of(spec_of(8, 128, ""));
  const Plan query = plan_of(spec_of(8, 128, "", R"(,"query":{"heads":32})"));
  EXPECT_EQ(query.kernels[0].name, plain.kernels[0].name + "_q32");
  EXPECT_NE(describe(query).find("into the cache, Q[tokens, 32, 128] for attention"),
            std::string::npos);
  EXPECT_EQ(query.kernels[0].threads, plain.kernels[0].threads);
  EXPECT_EQ(query.kernels[0].blocks_per_sm, plain.kernels[0].blocks_per_sm);
  // Lanes hold the weights in registers.
  const Plan norm = plan_of(spec_of(8, 128, "", R"(,"norm":{"epsilon":1e-6})"));
  EXPECT_LT(norm.kernels[0].blocks_per_sm, plain.kernels[0].blocks_per_sm);
  EXPECT_TRUE(config_of<device::KvAppendConfig>(norm.kernels[0]).normalizes());
  EXPECT_FALSE(config_of<device::KvAppendConfig>(plain.kernels[0]).normalizes());
  EXPECT_EQ(refusals(spec_of(8, 128, "", R"(,"query":{"heads":12})")), Pointers{"/query/heads"});
  EXPECT_EQ(refusals(spec_of(8, 128, "",
                             R"(,"rope":{"pairing":"neox","source":"table",)"
                             R"("scaling":{"type":"linear","factor":2}})")),
            Pointers{"/rope/scaling/type"});
}

TEST(KvAppendPlan, RendersScaledRotations) {
  const auto text = [](const std::string& scaling) {
    return render(plan_of(spec_of(8, 128, "", R"(,"rope":{"pairing":"neox")" + scaling + "}")), 0)
        .text;
  };
  const std::string plain = text("");
  const std::string linear = text(R"(,"scaling":{"type":"linear","factor":4})");
  EXPECT_NE(plain.find("10000^(-2i / 128)\n"), std::string::npos);
  EXPECT_NE(linear.find("10000^(-2i / 128), scaled as linear does it\n"), std::string::npos);
  // The first pair turns by a radian, or a quarter of one: 2^64 / (2 pi) is 0x28be60db93910600.
  EXPECT_NE(plain.find("0x28be60db93910"), std::string::npos);
  EXPECT_NE(linear.find("0x0a2f9836e4e44"), std::string::npos);
  EXPECT_NE(plain.find("/*rope_factor_bits=*/1065353216"), std::string::npos);
  const std::string yarn = text(R"(,"scaling":{"type":"yarn","factor":4,"attention_factor":2,)"
                                R"("original_max_position_embeddings":4096})");
  EXPECT_NE(yarn.find("/*rope_factor_bits=*/1073741824"), std::string::npos);
}

TEST(KvAppendPlan, RendersBothTensors) {
  const Source source =
      render(plan_of(spec_of(8, 128, R"("k":{"dtype":"int4"},"v":{"dtype":"fp8_e4m3"})",
                             R"(,"rope":{"pairing":"neox","base":500000})")),
             0);
  const auto has = [&](const char* text) { return source.text.find(text) != std::string::npos; };
  EXPECT_TRUE(has("/*k=*/{\n      /*bits=*/4,"));
  EXPECT_TRUE(has("/*v=*/{\n      /*bits=*/8,"));
  EXPECT_TRUE(has("2^64 / (2 pi) * 500000^(-2i / 128)"));
  EXPECT_EQ(source.kernel_name, "heddle_kv_append_fp16_int4_head_fp8_e4m3_tensor_h8_d128");
}

}  // namespace
}  // namespace heddle
