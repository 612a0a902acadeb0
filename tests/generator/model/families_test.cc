// What the families' rows and a config make of a model.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "generator/model/model_block.h"
#include "heddle/error.h"
#include "heddle/model.h"
#include "tests/generator/activation_helpers.h"
#include "tests/generator/model/model_helpers.h"

namespace heddle {
namespace {

Json config_of(const std::string& name) {
  std::ifstream file(std::filesystem::path(HEDDLE_MODEL_CONFIGS) / (name + ".json"));
  EXPECT_TRUE(file) << name;
  return Json::parse(file);
}

const ModelLayer& layer_of(const Model& model, const std::string& path) {
  for (const ModelLayer& layer : model.layers) {
    for (const ModelPart& part : layer.parts) {
      if (part.path == path) return layer;
    }
  }
  ADD_FAILURE() << "no " << path;
  return model.layers.front();
}

std::string config_fault(const Json& config) { return config_error(config.dump()).what(); }

TEST(Families, ALayerThatHasAKernelNamesIt) {
  const Model model = model_of(config_of("qwen3_moe"));
  const ModelLayer& qkv = layer_of(model, "self_attn.k_proj");
  ASSERT_GE(qkv.kernel, 0);
  EXPECT_EQ(model.kernels[static_cast<std::size_t>(qkv.kernel)].spec.name(), "qkv_proj");
  EXPECT_EQ(qkv.parts.size(), 3U);
  EXPECT_EQ(qkv.count(), 12);
  EXPECT_EQ(qkv.weights, "e4m3, blocks of 128 x 128");
  const ModelLayer& experts = layer_of(model, "mlp.experts.*.gate_proj");
  ASSERT_GE(experts.kernel, 0);
  EXPECT_EQ(model.kernels[static_cast<std::size_t>(experts.kernel)].spec.name(), "experts");
  EXPECT_EQ(experts.matrices, 8);
  EXPECT_EQ(experts.layers, (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(layer_of(model, "mlp.gate_proj").layers, std::vector<int>{1});
  const ModelLayer& router = layer_of(model, "mlp.gate");
  EXPECT_EQ(router.weights, "16 bits");
  EXPECT_NE(model.assumptions.at(0).find("gate (3 layers)"), std::string::npos);
}

TEST(Families, KindsOfLayersThatAreNotKnownAreRefused) {
  Json config = config_of("ministral");
  config["layer_types"][2] = "foo";
  EXPECT_NE(config_fault(config).find("/layer_types/2 is \"foo\""), std::string::npos)
      << config_fault(config);
  EXPECT_NE(config_fault(config).find("sliding_attention, full_attention"), std::string::npos);
  config = config_of("nemotron_h");
  config["hybrid_override_pattern"] = "M*-EM?";
  EXPECT_NE(config_fault(config).find("/hybrid_override_pattern/5 is \"?\""), std::string::npos)
      << config_fault(config);
  config = config_of("deepseek_v4");
  config["compress_ratios"][1] = 16;
  EXPECT_NE(config_fault(config).find("/compress_ratios/1 is 16"), std::string::npos);
  config = config_of("ministral");
  config["layer_types"].erase(3);
  EXPECT_NE(config_fault(config).find("no entry for decoder layer 3"), std::string::npos);
}

// Transformers 5 writes the number of Qwen's experts under Mixtral's name.
TEST(Families, ExpertsHaveEitherName) {
  for (const char* type : {"qwen3_moe", "qwen2_moe"}) {
    Json config = config_of(type);
    const std::string path = "mlp.experts.*.gate_proj";
    const ModelLayer expected = layer_of(model_of(config), path);
    config["num_local_experts"] = config["num_experts"];
    config.erase("num_experts");
    const Model model = model_of(config);
    EXPECT_EQ(layer_of(model, path).matrices, expected.matrices) << type;
    EXPECT_EQ(layer_of(model, path).layers, expected.layers) << type;
  }
}

TEST(Families, FieldsThatAreNeededAreNamed) {
  Json config = config_of("qwen3_moe");
  config.erase("moe_intermediate_size");
  EXPECT_NE(config_fault(config).find("/moe_intermediate_size: the field is required"),
            std::string::npos);
  config = config_of("dbrx");
  config["attn_config"].erase("kv_n_heads");
  EXPECT_NE(config_fault(config).find("/attn_config/kv_n_heads"), std::string::npos);
  config = config_of("falcon");
  config.erase("hidden_size");
  EXPECT_NE(config_fault(config).find("/hidden_size, /n_embd, /n_embed"), std::string::npos)
      << config_fault(config);
  config = config_of("qwen3_5");
  config["text_config"].erase("linear_num_key_heads");
  EXPECT_NE(config_fault(config).find("/text_config/linear_num_key_heads"), std::string::npos);
}

// Gemma 3: five layers with a window and other rotations to one without.
TEST(Families, BlocksHaveTheFactsOfTheirLayers) {
  const Model model = model_of(config_of("gemma3"));
  ASSERT_EQ(blocks_of(model).size(), 2U);
  EXPECT_EQ(blocks_of(model)[0].layers, (std::vector<int>{0, 1, 2, 3, 4, 6}));
  EXPECT_EQ(blocks_of(model)[0].attention.window, 128);
  EXPECT_EQ(blocks_of(model)[0].attention.rope.base, 10000);
  EXPECT_EQ(blocks_of(model)[1].layers, std::vector<int>{5});
  EXPECT_EQ(blocks_of(model)[1].attention.window, 0);
  EXPECT_EQ(blocks_of(model)[1].attention.rope.base, 1000000);
  EXPECT_EQ(blocks_of(model)[1].attention.qk_norm, QkNorm::kHead);
  EXPECT_EQ(model.norm, NormKind::kRmsPlusOne);
  EXPECT_EQ(model.norm_place, NormPlace::kAround);
  EXPECT_TRUE(model.tied_embeddings);
  using Multipliers = std::vector<std::pair<std::string, double>>;
  EXPECT_EQ(model.multipliers, (Multipliers{{"embedding", 16}}));
  const ModelRope rope = blocks_of(model_of(config_of("gpt_oss"))).at(0).attention.rope;
  EXPECT_EQ(rope.scaling, "yarn");
  EXPECT_NE(std::find(rope.parameters.begin(), rope.parameters.end(),
                      std::pair<std::string, double>("factor", 32)),
            rope.parameters.end());
}

TEST(Families, LatentAttentionAndExperts) {
  const Model model = model_of(config_of("deepseek_v32"));
  const ModelAttention& attention = blocks_of(model).at(1).attention;
  EXPECT_EQ(blocks_of(model)[1].mixer, MixerKind::kLatentAttention);
  EXPECT_EQ(attention.q_rank, 96);
  EXPECT_EQ(attention.kv_rank, 64);
  EXPECT_EQ(attention.rope_dim, 16);
  EXPECT_EQ(attention.head_dim, 48);
  EXPECT_EQ(attention.value_dim, 48);
  EXPECT_EQ(attention.index_heads, 4);
  EXPECT_EQ(attention.index_tokens, 64);
  const ModelExperts& experts = blocks_of(model)[1].experts;
  EXPECT_EQ(experts.count, 8);
  EXPECT_EQ(experts.per_token, 2);
  EXPECT_EQ(experts.shared, 2);
  EXPECT_EQ(experts.scoring, "sigmoid");
  EXPECT_TRUE(experts.bias);
  EXPECT_FALSE(experts.shared_gate);
  EXPECT_TRUE(blocks_of(model_of(config_of("qwen3_next"))).at(0).experts.shared_gate);
  EXPECT_TRUE(blocks_of(model_of(config_of("deepseek_v4"))).at(0).experts.hashed);
  EXPECT_EQ(blocks_of(model_of(config_of("nemotron_h"))).back().experts.latent, 64);
}

TEST(Families, WrappersNameTheirModulesAsTheirCheckpointsDo) {
  Json config = config_of("llama4");
  const auto head = [](const Json& json) {
    const Model model = model_of(json);
    const auto found = std::find_if(model.layers.begin(), model.layers.end(),
                                    [](const auto& layer) { return layer.name == "lm_head"; });
    return found->parts.at(0).path;
  };
  EXPECT_EQ(head(config), "language_model.lm_head");
  config["quantization_config"]["modules_to_not_convert"] = {
      "model.language_model.layers.0.self_attn"};
  EXPECT_EQ(head(config), "lm_head");
  // And the modules that it names are found.
  const ModelLayer plain = layer_of(model_of(config), "self_attn.o_proj");
  EXPECT_EQ(plain.weights, "16 bits");
  EXPECT_EQ(plain.layers, std::vector<int>{0});
}

TEST(Families, HeadsByOtherNamesAreLeftOut) {
  for (const char* name : {"gpt_neox", "internlm2", "chatglm", "deepseek_v4"}) {
    const Model model = model_of(config_of(name));
    for (const ModelLayer& layer : model.layers) {
      if (layer.name == "lm_head") {
        EXPECT_EQ(layer.weights, "16 bits") << name;
      }
    }
  }
}

TEST(Families, WhatIsNotQuantisedIsDescribedOnRequest) {
  Json config = config_of("llama");
  config.erase("quantization_config");
  const std::string text = config.dump();
  EXPECT_EQ(config_error(text).code(), "model.not_quantized");
  ModelConfigTexts texts;
  texts.config = text;
  texts.plain_too = true;
  const Model model = model_from_config(texts);
  EXPECT_TRUE(model.kernels.empty());
  EXPECT_EQ(layer_of(model, "mlp.up_proj").weights, "16 bits");
}

std::vector<std::string> cache_of(const std::string& name) {
  std::vector<std::string> kinds;
  for (const ModelLayer& layer :
       cache_model_from_config(config_of(name).dump(), R"({"dtype":"int8","granularity":"head"})")
           .layers) {
    kinds.push_back(layer.name + (layer.kernel < 0 ? " none " : " ") +
                    std::to_string(layer.layers.size()));
  }
  return kinds;
}

TEST(Families, CachesFollowTheKindsOfLayers) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(cache_of("gemma3"), (Names{"kv_append 6", "kv_append 1", "decode_attention_window 6",
                                       "decode_attention 1"}));
  EXPECT_EQ(cache_of("gemma4"), (Names{"kv_append 5", "kv_append 1", "decode_attention_window 5",
                                       "decode_attention 1"}));
  EXPECT_EQ(cache_of("gpt_oss"),
            (Names{"kv_append 4", "decode_attention_window 2", "decode_attention 2"}));
  EXPECT_EQ(cache_of("llama4"),
            (Names{"kv_append 1", "decode_attention 1", "chunked_attention none 3"}));
  EXPECT_EQ(cache_of("deepseek_v3"), Names{"full_attention none 4"});
  EXPECT_EQ(cache_of("qwen3_5"), (Names{"kv_append 1", "decode_attention 1"}));
}

TEST(Families, CachesHaveTheFactsOfTheirLayers) {
  const char* const kv = R"({"dtype":"int8","granularity":"head"})";
  const Model oss = cache_model_from_config(config_of("gpt_oss").dump(), kv);
  EXPECT_TRUE(oss.kernels.at(1).spec.decode_attention().sink_logits);
  EXPECT_EQ(oss.kernels[1].spec.decode_attention().window, 128);
  EXPECT_EQ(oss.kernels.at(2).spec.decode_attention().window, 0);
  EXPECT_EQ(oss.kernels[0].spec.kv_append().rope.scaling.type, RopeScalingType::kYarn);
  EXPECT_EQ(oss.kernels[0].spec.kv_append().rope.scaling.factor, 32.0F);
  const Model llama = cache_model_from_config(config_of("llama4").dump(), kv);
  EXPECT_EQ(llama.kernels.at(0).spec.kv_append().rope.pairing, RopePairing::kNone);
  const Model gemma = cache_model_from_config(config_of("gemma3").dump(), kv);
  EXPECT_EQ(gemma.kernels.at(0).spec.kv_append().rope.base, 10000);
  EXPECT_EQ(gemma.kernels.at(0).spec.kv_append().norm.weight_offset, 1);
  EXPECT_EQ(gemma.kernels.at(1).spec.kv_append().rope.base, 1000000);
  Json proportional = config_of("gemma4");
  proportional["text_config"]["rope_parameters"] = {
      {"full_attention",
       {{"rope_type", "proportional"}, {"rope_theta", 1000000}, {"partial_rotary_factor", 0.25}}},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 10000}}}};
  const Model four = cache_model_from_config(proportional.dump(), kv);
  EXPECT_EQ(four.kernels.at(1).spec.kv_append().shape.head_dim, 64);
  EXPECT_EQ(four.kernels[1].spec.kv_append().rope.source, RopeSource::kTable);
  EXPECT_EQ(four.kernels[1].spec.kv_append().rope.dim, 64) << "pairs are of whole heads";
  EXPECT_EQ(four.kernels.at(2).spec.decode_attention().scale_dim, 1);
}

TEST(Families, ABaseOfItsOwnHasTheRangeOfAllBases) {
  Json config = config_of("gemma3");
  config["text_config"]["rope_local_base_freq"] = 1e300;
  EXPECT_NE(
      config_fault(config).find("/text_config/rope_local_base_freq: no rotation has this base"),
      std::string::npos)
      << config_fault(config);
}

TEST(Families, AScaleThatNoKernelTakesIsNotRounded) {
  Json config = config_of("granite");
  const auto kinds = [&](double multiplier) {
    config["attention_multiplier"] = multiplier;
    return cache_model_from_config(config.dump(), R"({"dtype":"int8","granularity":"head"})");
  };
  EXPECT_EQ(kinds(0.015625).kernels.at(1).spec.decode_attention().scale_dim, 4096);
  EXPECT_EQ(kinds(0.0883883476483184).kernels.at(1).spec.decode_attention().scale_dim, 128);
  const Model other = kinds(0.22);
  EXPECT_TRUE(other.kernels.empty());
  EXPECT_NE(other.unserved.at(0).reason.find("integers"), std::string::npos);
}

// Every field of every family's config, replaced by other values: an error or a model, no crash.
TEST(Families, DamagedConfigsNeverCrash) {
  const Json others[] = {nullptr, true, 0, -1, 1e300, "x", Json::array(), Json::object()};
  int damaged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HEDDLE_MODEL_CONFIGS)) {
    const Json good = config_of(entry.path().stem());
    std::set<std::string> pointers;
    const Json flat = good.flatten();
    for (const auto& item : flat.items()) {
      for (Json::json_pointer at(item.key()); !at.empty(); at = at.parent_pointer()) {
        pointers.insert(at.to_string());
      }
    }
    for (const std::string& pointer : pointers) {
      for (const Json& other : others) {
        Json config = good;
        config[Json::json_pointer(pointer)] = other;
        ++damaged;
        try {
          model_from_config(config.dump());
          cache_model_from_config(config.dump(), R"({"dtype":"int8","granularity":"head"})");
        } catch (const Error& error) {
          EXPECT_TRUE(error.category() == ErrorCategory::kSpec ||
                      error.category() == ErrorCategory::kUnsupported)
              << entry.path() << pointer << error.what();
        }
      }
    }
  }
  EXPECT_GT(damaged, 5000);
}

}  // namespace
}  // namespace heddle
