#include "tools/gpu_harness/step/decode_step.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "heddle/error.h"
#include "heddle/weights.h"
#include "tests/tools/step_model.h"
#include "tools/gpu_harness/operations/gemm/floor.h"
#include "tools/gpu_harness/step/step_part.h"

namespace heddle {
namespace {

using nlohmann::json;
using testing::small_llama;
using testing::step_model;
using Names = std::vector<std::string>;

Names names_of(const DecodeStep& step, int layer) {
  Names names;
  for (const StepLaunch& launch : step.launches) {
    if (launch.layer == layer) names.push_back(step.kernels[launch.kernel].name());
  }
  return names;
}

Error refusal(const json& config) {
  try {
    decode_step(step_model(config));
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "accepted: " << config.dump();
  return Error(ErrorCategory::kInternal, "none", "");
}

TEST(DecodeStep, HasEveryLaunchOfEveryLayerInOrder) {
  const DecodeStep step = decode_step(step_model(small_llama()));
  EXPECT_EQ(step.layers, 3);
  EXPECT_EQ(names_of(step, 0), (Names{"norm", "qkv_proj", "kv_append", "decode_attention", "o_proj",
                                      "add_norm", "gate_up_proj", "activation", "down_proj"}));
  EXPECT_EQ(names_of(step, 2).front(), "add_norm");
  EXPECT_EQ(names_of(step, 3), (Names{"add_norm", "lm_head"}));
  EXPECT_EQ(step.launches.size(), 3U * 9 + 2);
  EXPECT_EQ(step.kernels.size(), 10U);
  for (std::size_t i = 0; i < step.kernels.size(); ++i) {
    const std::string& name = step.kernels[i].name();
    const std::size_t once = name == "norm" || name == "lm_head" ? 1 : 0;
    EXPECT_EQ(step.count(i), once == 1 ? 1U : name == "add_norm" ? 6U : 3U) << name;
  }
}

TEST(DecodeStep, AGatedEpilogueTakesTheActivationsPlace) {
  const DecodeStep step = decode_step(step_model(small_llama(), true));
  EXPECT_EQ(names_of(step, 1), (Names{"add_norm", "qkv_proj", "kv_append", "decode_attention",
                                      "o_proj", "add_norm", "gate_up_proj", "down_proj"}));
}

TEST(DecodeStep, GemmaHasNormsAroundBothHalvesThatMultiplyByOnePlusTheWeight) {
  json config = small_llama();
  config.merge_patch(json::parse(R"({"model_type":"gemma2","torch_dtype":"bfloat16",
    "head_dim":64,"query_pre_attn_scalar":64,"sliding_window":128,"hidden_activation":"gelu_pytorch_tanh",
    "attn_logit_softcapping":50,"final_logit_softcapping":30})"));
  const DecodeStep step = decode_step(step_model(config));
  EXPECT_EQ(names_of(step, 0),
            (Names{"norm", "qkv_proj", "kv_append", "decode_attention_window", "o_proj", "norm",
                   "add_norm", "gate_up_proj", "activation", "down_proj", "norm"}));
  EXPECT_EQ(names_of(step, 1)[3], "decode_attention");
  for (const Spec& spec : step.kernels) {
    if (spec.op() != Op::kRowTransform || spec.name() == "activation") continue;
    EXPECT_EQ(spec.row_transform().norm.weight_offset, 1);
    EXPECT_EQ(spec.row_transform().norm.epsilon, 1e-5F);
  }
  // What no launch does is said: the lookup, the soft cap, the multiplier of embeddings.
  EXPECT_EQ(step.notes.size(), 3U);
}

TEST(DecodeStep, ExpertsStandBehindTheirRouter) {
  const DecodeStep step = decode_step(step_model(testing::small_mixtral()));
  EXPECT_EQ(names_of(step, 0), (Names{"norm", "qkv_proj", "kv_append", "decode_attention", "o_proj",
                                      "add_norm", "gate", "experts"}));
  for (const StepLaunch& launch : step.launches) {
    EXPECT_EQ(launch.aside, step.kernels[launch.kernel].name() == "gate");
  }
  for (const Spec& spec : step.kernels) {
    if (spec.name() == "gate") {
      EXPECT_EQ(spec.gemm().output_dtype(), DType::kFp32);
    }
    if (spec.op() == Op::kMoe) {
      EXPECT_EQ(spec.moe().router.scores, RouterScores::kSoftmax);
    }
  }
  EXPECT_EQ(step.notes.size(), 2U) << "the lookup, and draws of experts";
}

TEST(DecodeStep, LayersMayBeDenseOrHaveExperts) {
  const DecodeStep step = decode_step(step_model(testing::small_qwen3_moe(), true));
  EXPECT_EQ(names_of(step, 1), (Names{"add_norm", "qkv_proj", "kv_append", "decode_attention",
                                      "o_proj", "add_norm", "gate_up_proj", "down_proj"}));
  EXPECT_EQ(names_of(step, 2), (Names{"add_norm", "qkv_proj", "kv_append", "decode_attention",
                                      "o_proj", "add_norm", "gate", "experts"}));
}

TEST(DecodeStep, LayersOfGptOssTakeTurns) {
  const DecodeStep step = decode_step(step_model(testing::small_gpt_oss()));
  EXPECT_EQ(names_of(step, 0), (Names{"norm", "qkv_proj", "kv_append", "decode_attention_window",
                                      "o_proj", "add_norm", "router", "experts"}));
  EXPECT_EQ(names_of(step, 1)[3], "decode_attention");
}

// Their choice is then no launch, and the step says so.
TEST(DecodeStep, ExpertsOfUnknownRoutingTakeIdsAndWeights) {
  Model model = step_model(testing::small_mixtral());
  for (ModelKernel& kernel : model.kernels) kernel.routed.reset();
  const DecodeStep step = decode_step(model);
  EXPECT_EQ(names_of(step, 0).back(), "experts");
  for (const Spec& spec : step.kernels) {
    if (spec.op() == Op::kMoe) {
      EXPECT_FALSE(spec.moe().router.chooses());
    }
  }
  EXPECT_EQ(step.notes.size(), 3U);
}

TEST(DecodeStep, OfFewerLayersHasTheHeadAllTheSame) {
  const Model model = step_model(small_llama());
  const DecodeStep step = decode_step(model, 1);
  EXPECT_EQ(step.launches.size(), 9U + 2);
  EXPECT_EQ(step.model_layers, 3);
  EXPECT_EQ(names_of(step, 1), (Names{"add_norm", "lm_head"}));
  try {
    decode_step(model, 4);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "step.layers");
  }
}

TEST(DecodeStep, RefusesByNameWhatItDoesNotHave) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"model_type":"qwen2_moe","num_experts":8,"num_experts_per_tok":2,
           "moe_intermediate_size":128,"shared_expert_intermediate_size":128,
           "decoder_sparse_step":1})",
       "has shared experts"},
      {R"({"model_type":"olmo2"})", "after its halves only"},
      {R"({"model_type":"cohere","layer_norm_eps":1e-5,"logit_scale":1})", "no RMSNorms"},
      {R"({"model_type":"granite","residual_multiplier":0.5,"attention_multiplier":0.125})",
       "no add_norm kernel"},
  };
  for (const auto& [patch, why] : cases) {
    json config = small_llama();
    config.merge_patch(json::parse(patch));
    const Error error = refusal(config);
    EXPECT_EQ(error.code(), "step.model") << patch;
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

TEST(DecodeStep, RefusesALayerWithoutAKernel) {
  const std::string text = small_llama().dump();
  EXPECT_THROW(decode_step(model_from_config(text)), Error);  // no cache, no head
  Model model = step_model(small_llama());
  model.layers.front().kernel = -1;
  model.layers.front().reason = "of no use";
  try {
    decode_step(model);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("qkv_proj has no kernel: of no use"),
              std::string::npos)
        << error.what();
  }
}

TEST(StepBytes, OfExpertsAreThoseOfAsManyAsAreHit) {
  const DecodeStep step = decode_step(step_model(testing::small_mixtral()));
  for (const Spec& spec : step.kernels) {
    if (spec.op() != Op::kMoe) continue;
    const MoeGemms gemms = moe_gemms(spec.moe());
    const auto expert = static_cast<double>(weight_layout(gemms.gate_up).total_bytes +
                                            weight_layout(gemms.down).total_bytes);
    const auto others = [](int tokens) { return tokens * (2 * 2 * 256 + 4 * 8); };
    // Two of eight experts; a second token finds one of its two among them with a chance of 1/4.
    EXPECT_DOUBLE_EQ(step_part_of(spec).bytes(spec, {1, 100}), 2 * expert + others(1));
    EXPECT_DOUBLE_EQ(step_part_of(spec).bytes(spec, {2, 100}), 3.5 * expert + others(2));
  }
}

TEST(StepBytes, CountsWhatEachLaunchMovesOnce) {
  const DecodeStep step = decode_step(step_model(small_llama()));
  const StepLoad load{2, 100};
  const std::map<std::string, double> expected = {
      // X, the residual read and written, Y, the weight.
      {"add_norm", 2 * 2 * 4 * 256 + 2 * 256},
      {"norm", 2 * 2 * 2 * 256 + 2 * 256},
      {"activation", 2 * 2 * 3 * 512},
      // Q in and out, K and V in; a byte for each element of K and V, a scale for each head.
      {"kv_append", 2 * (2 * 2 * 256 + 2 * 256 + 256 + 4 * 2)},
      {"decode_attention", 2 * (2 * 2 * 256 + 100 * (256 + 4 * 2))},
  };
  for (const Spec& spec : step.kernels) {
    const double wanted = spec.op() == Op::kGemm ? traffic_bytes(spec.gemm(), load.sequences)
                                                 : expected.at(spec.name());
    EXPECT_EQ(step_part_of(spec).bytes(spec, load), wanted) << spec.name();
  }
}

}  // namespace
}  // namespace heddle
