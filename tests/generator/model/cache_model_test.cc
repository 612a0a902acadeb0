// The operations on a cache that a model's config asks for.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "heddle/error.h"
#include "heddle/model.h"

namespace heddle {
namespace {

using nlohmann::json;

// Not quantised: a cache is a matter of its own.
json plain_llama() {
  return {{"model_type", "llama"},   {"torch_dtype", "bfloat16"}, {"hidden_size", 4096},
          {"num_hidden_layers", 32}, {"num_attention_heads", 32}, {"num_key_value_heads", 8},
          {"rope_theta", 500000.0}};
}

Model cache_model_of(const json& config,
                     const char* kv = R"({"dtype":"int8","granularity":"head"})") {
  return cache_model_from_config(config.dump(), kv);
}

TEST(CacheModel, Llama) {
  const Model model = cache_model_of(plain_llama());
  ASSERT_EQ(model.kernels.size(), 2U);
  const KvAppendSpec& append = model.kernels[0].spec.kv_append();
  EXPECT_EQ(append.shape.kv_heads, 8);
  EXPECT_EQ(append.shape.head_dim, 128);
  EXPECT_EQ(append.activation, DType::kBf16);
  EXPECT_EQ(append.kv.k.scale_dtype, DType::kBf16);
  EXPECT_EQ(append.rope.pairing, RopePairing::kNeox);
  EXPECT_EQ(append.rope.base, 500000);
  EXPECT_EQ(append.rope.scaling.type, RopeScalingType::kNone);
  EXPECT_EQ(append.query.heads, 32);
  EXPECT_FALSE(append.norm.epsilon);
  EXPECT_EQ(model.kernels[0].layers, 32);
  const DecodeAttentionSpec& attention = model.kernels[1].spec.decode_attention();
  EXPECT_EQ(attention.shape.heads, 32);
  EXPECT_EQ(attention.window, 0);
  EXPECT_EQ(attention.scale_dim, 128);
  EXPECT_EQ(attention.alibi, Alibi::kNone);
}

TEST(KvWords, AreTheBlockThatTheyName) {
  EXPECT_EQ(kv_block_from_words("int8"), R"({"dtype":"int8"})");
  EXPECT_EQ(kv_block_from_words("int8:head"), R"({"dtype":"int8","granularity":"head"})");
  EXPECT_EQ(kv_block_from_words("int4:group:32"),
            R"({"dtype":"int4","granularity":"group","group_size":32})");
  EXPECT_EQ(kv_block_from_words("int8:head,fp16"),
            R"({"k":{"dtype":"int8","granularity":"head"},"v":{"dtype":"fp16"}})");
  // A page holds whole blocks of tokens.
  EXPECT_EQ(json::parse(kv_block_from_words("int4:channel:96,int4")).at("page_size"), 96);
  EXPECT_EQ(json::parse(kv_block_from_words("int4:channel:32,int4")).at("page_size"), 64);
  for (const char* words : {"", ":", "int8:", ":head", "int8,", "int8:head:1:2", "int4:group:x",
                            "int4:group:1x", "int4:group:99999999999", "int8,int8,int8"}) {
    try {
      kv_block_from_words(words);
      FAIL() << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "kv.words") << words;
    }
  }
  // Unknown words are the spec's to refuse, whatever their bytes are.
  for (const char* words : {"int9", "int8:heads", "\"", "\xff", "int8\\:head"}) {
    try {
      cache_model_of(plain_llama(), kv_block_from_words(words).c_str());
      FAIL() << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::kSpec) << words;
    }
  }
}

TEST(CacheModel, WindowsAndScores) {
  json mistral = plain_llama();
  mistral["model_type"] = "mistral";
  mistral["sliding_window"] = 4096;
  EXPECT_EQ(cache_model_of(mistral).kernels.at(1).spec.decode_attention().window, 4096);
  mistral["sliding_window"] = nullptr;
  EXPECT_EQ(cache_model_of(mistral).kernels.at(1).spec.decode_attention().window, 0);

  json gemma = plain_llama();
  gemma["model_type"] = "gemma2";
  gemma["sliding_window"] = 4096;
  gemma["attn_logit_softcapping"] = 50.0;
  gemma["query_pre_attn_scalar"] = 144;
  const Model model = cache_model_of(gemma);
  ASSERT_EQ(model.kernels.size(), 3U);
  EXPECT_EQ(model.kernels[1].spec.name(), "decode_attention_window");
  EXPECT_EQ(model.kernels[1].spec.decode_attention().window, 4096);
  EXPECT_EQ(model.kernels[1].layers, 16);
  EXPECT_EQ(model.kernels[2].spec.decode_attention().window, 0);
  EXPECT_EQ(model.kernels[2].spec.decode_attention().softcap, 50);
  EXPECT_EQ(model.kernels[2].spec.decode_attention().scale_dim, 144);
  EXPECT_EQ(model.kernels[0].spec.kv_append().shape.head_dim, 256);

  json qwen = plain_llama();
  qwen["model_type"] = "qwen2";
  qwen["sliding_window"] = 4096;
  EXPECT_EQ(cache_model_of(qwen).kernels.size(), 2U);  // which the config does not turn on
  qwen["use_sliding_window"] = true;
  qwen["max_window_layers"] = 28;
  EXPECT_EQ(cache_model_of(qwen).kernels.at(1).layers, 28);
  EXPECT_EQ(cache_model_of(qwen).kernels.at(2).spec.decode_attention().window, 4096);
}

TEST(CacheModel, BloomHasSlopesAndNoRotations) {
  const json bloom = {{"model_type", "bloom"},
                      {"torch_dtype", "float16"},
                      {"hidden_size", 14336},
                      {"n_layer", 70},
                      {"n_head", 112}};
  const Model model = cache_model_of(bloom);
  EXPECT_EQ(model.kernels.at(0).spec.kv_append().rope.pairing, RopePairing::kNone);
  EXPECT_EQ(model.kernels.at(0).spec.kv_append().shape.kv_heads, 112);
  EXPECT_EQ(model.kernels.at(1).spec.decode_attention().alibi, Alibi::kStandard);
}

TEST(CacheModel, ScaledRotationsAreATable) {
  json scaled = plain_llama();
  scaled["rope_scaling"] = {{"rope_type", "llama3"}, {"factor", 8.0}};
  EXPECT_EQ(cache_model_of(scaled).kernels[0].spec.kv_append().rope.source, RopeSource::kTable);
  EXPECT_EQ(cache_model_of(scaled).notes.size(), 1U);
  json newer = plain_llama();
  newer.erase("rope_theta");
  newer["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 1000000}};
  EXPECT_EQ(cache_model_of(newer).kernels[0].spec.kv_append().rope.base, 1000000);
  json partial = plain_llama();
  partial["partial_rotary_factor"] = 0.5;
  EXPECT_EQ(cache_model_of(partial).kernels[0].spec.kv_append().rope.dim, 64);
  newer["rope_parameters"]["partial_rotary_factor"] = 0.75;
  EXPECT_EQ(cache_model_of(newer).kernels[0].spec.kv_append().rope.dim, 96);
}

// Transformers 5 takes rope_scaling for rope_parameters, with all that it has.
TEST(CacheModel, RopeScalingMayHaveWhatRopeParametersHas) {
  json config = plain_llama();
  config.erase("rope_theta");
  config["rope_scaling"] = {
      {"rope_type", "default"}, {"rope_theta", 1000000}, {"partial_rotary_factor", 0.5}};
  const RopeSpec rope = cache_model_of(config).kernels[0].spec.kv_append().rope;
  EXPECT_EQ(rope.base, 1000000);
  EXPECT_EQ(rope.dim, 64);
  EXPECT_TRUE(cache_model_of(config).assumptions.empty());
  config["rope_scaling"] = json::object();  // scales nothing
  config["rope_theta"] = 500000;
  EXPECT_EQ(cache_model_of(config).kernels[0].spec.kv_append().rope.source, RopeSource::kBase);
  EXPECT_TRUE(cache_model_of(config).notes.empty());
}

RopeScaling scaling_of(const json& scaling) {
  json config = plain_llama();
  config["rope_scaling"] = scaling;
  const Model model = cache_model_of(config);
  EXPECT_TRUE(model.notes.empty());
  const RopeSpec& rope = model.kernels[0].spec.kv_append().rope;
  EXPECT_EQ(rope.source, RopeSource::kBase);
  EXPECT_EQ(rope.base, 500000);
  return rope.scaling;
}

TEST(CacheModel, KnownScalingsAreInTheSpec) {
  EXPECT_EQ(scaling_of({{"type", "linear"}, {"factor", 4}}).factor, 4.0F);
  const RopeScaling llama3 = scaling_of({{"rope_type", "llama3"},
                                         {"factor", 8.0},
                                         {"low_freq_factor", 1.0},
                                         {"high_freq_factor", 4.0},
                                         {"original_max_position_embeddings", 8192}});
  EXPECT_EQ(llama3.type, RopeScalingType::kLlama3);
  EXPECT_EQ(llama3.high_freq_factor, 4.0F);
  EXPECT_EQ(llama3.original_max_position_embeddings, 8192);
  json config = {{"rope_type", "yarn"}, {"factor", 40}, {"original_max_position_embeddings", 4096}};
  EXPECT_EQ(scaling_of(config).type, RopeScalingType::kYarn);
  EXPECT_EQ(scaling_of(config).beta_fast, 32.0F);
  EXPECT_NEAR(*scaling_of(config).attention_factor, 1.3688879, 1e-6);
  EXPECT_TRUE(scaling_of(config).truncate);
  config["truncate"] = false;
  config["beta_fast"] = 16;
  config["mscale"] = 0.707;
  EXPECT_FALSE(scaling_of(config).truncate);
  EXPECT_EQ(scaling_of(config).beta_fast, 16.0F);
  EXPECT_NEAR(*scaling_of(config).attention_factor, 1.3688879, 1e-6) << "one of two multipliers";
  config["mscale_all_dim"] = 0.707;
  EXPECT_EQ(scaling_of(config).attention_factor, 1.0F);
  config["attention_factor"] = 1.25;
  EXPECT_EQ(scaling_of(config).attention_factor, 1.25F);
}

TEST(CacheModel, NumbersThatNoScalingHasMakeATable) {
  for (const json& scaling :
       {json{{"type", "dynamic"}, {"factor", 4}}, json{{"type", "linear"}},
        json{{"type", "linear"}, {"factor", 0.5}}, json{{"type", "yarn"}, {"factor", 4}},
        json{{"type", "llama3"},
             {"factor", 8},
             {"low_freq_factor", 4},
             {"high_freq_factor", 4},
             {"original_max_position_embeddings", 8192}}}) {
    json config = plain_llama();
    config["rope_scaling"] = scaling;
    const Model model = cache_model_of(config);
    EXPECT_EQ(model.kernels[0].spec.kv_append().rope.source, RopeSource::kTable) << scaling;
    EXPECT_EQ(model.notes.size(), 1U) << scaling;
  }
}

TEST(CacheModel, NormsOfHeads) {
  json qwen = plain_llama();
  qwen["model_type"] = "qwen3";
  qwen["rms_norm_eps"] = 1e-5;
  Model model = cache_model_of(qwen);
  EXPECT_EQ(model.kernels[0].spec.kv_append().norm.epsilon, 1e-5F);
  EXPECT_EQ(model.kernels[0].spec.kv_append().norm.weight_offset, 0);
  EXPECT_TRUE(model.notes.empty());
  json gemma = qwen;
  gemma["model_type"] = "gemma3_text";
  gemma["sliding_window"] = 4096;
  model = cache_model_of(gemma);
  ASSERT_EQ(model.kernels.size(), 4U);
  for (const int kernel : {0, 1}) {
    const KvAppendSpec& append = model.kernels[static_cast<std::size_t>(kernel)].spec.kv_append();
    EXPECT_EQ(append.norm.epsilon, 1e-5F);
    EXPECT_EQ(append.norm.weight_offset, 1);
  }
  // OLMo 2's norms are of all heads at once, which kv_append cannot do.
  json olmo = qwen;
  olmo["model_type"] = "olmo2";
  model = cache_model_of(olmo);
  EXPECT_FALSE(model.kernels[0].spec.kv_append().norm.epsilon);
  EXPECT_EQ(model.notes, std::vector<std::string>{
                             "kv_append takes queries and keys that the engine has normalised"});
  // Without an epsilon of its own a model class has one that the config does not tell.
  qwen.erase("rms_norm_eps");
  model = cache_model_of(qwen);
  EXPECT_FALSE(model.kernels[0].spec.kv_append().norm.epsilon);
  EXPECT_EQ(model.notes.size(), 1U);
}

// The whole message of what is wrong with the config; "accepted" where nothing is.
std::string cache_fault(const json& config) {
  try {
    cache_model_of(config);
    return "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kSpec);
    return error.what();
  }
}

TEST(CacheModel, ABaseThatNoModelHasIsRefused) {
  for (const json& base : json::array({0, -1, 0.5, 1e300, 1e13})) {
    for (const char* object : {"", "rope_parameters"}) {
      json config = plain_llama();
      (*object == 0 ? config : config[object])["rope_theta"] = base;
      const std::string fault = cache_fault(config);
      EXPECT_NE(fault.find("/rope_theta: no rotation has this base"), std::string::npos) << fault;
      EXPECT_NE(fault.find("1 to 1099511627776"), std::string::npos) << fault;
    }
  }
  json config = plain_llama();
  config["rope_theta"] = 10000.5;  // in the range, but no integer
  EXPECT_EQ(cache_model_of(config).kernels[0].spec.kv_append().rope.source, RopeSource::kTable);
  EXPECT_EQ(cache_model_of(config).notes,
            std::vector<std::string>{"rope_theta is no integer from 2 on: kv_append takes the "
                                     "cosines and sines as a table"});
}

TEST(CacheModel, ABaseThatIsAssumedIsTold) {
  EXPECT_TRUE(cache_model_of(plain_llama()).notes.empty());
  json config = plain_llama();
  config.erase("rope_theta");
  EXPECT_EQ(cache_model_of(config).kernels[0].spec.kv_append().rope.base, 10000);
  EXPECT_EQ(cache_model_of(config).assumptions,
            std::vector<std::string>{"the base of rotations is 10000, since the config has no "
                                     "rope_theta"});
  config["rope_theta"] = nullptr;
  EXPECT_EQ(cache_model_of(config).assumptions.size(), 1U);
  config["rope_scaling"] = {{"rope_type", "llama3"}, {"factor", 8.0}};
  EXPECT_EQ(cache_model_of(config).assumptions.size(), 1U) << "the engine's table has one, too";
}

TEST(CacheModel, RotationsThatAreSaidTwiceAreTheSame) {
  json config = plain_llama();
  config["rope_parameters"] = {{"rope_type", "default"}};
  config["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 4}};
  const std::string fault = cache_fault(config);
  EXPECT_NE(fault.find("/rope_scaling: rope_parameters says otherwise"), std::string::npos)
      << fault;
  config["rope_parameters"] = config["rope_scaling"];
  EXPECT_EQ(cache_fault(config), "accepted");
  config["rope_parameters"]["rope_theta"] = config["rope_theta"];
  EXPECT_EQ(cache_fault(config), "accepted");
  config["rope_parameters"]["rope_theta"] = 2000000;
  EXPECT_NE(cache_fault(config), "accepted");
  config["rope_scaling"] = nullptr;
  EXPECT_EQ(cache_fault(config), "accepted");
}

TEST(CacheModel, APartOfAHeadIsMoreThanNothingAndAtMostAll) {
  for (const json& part : json::array({-1, 0, 1e9, 1.01})) {
    for (const char* object : {"", "rope_parameters"}) {
      json config = plain_llama();
      (*object == 0 ? config : config[object])["partial_rotary_factor"] = part;
      const std::string fault = cache_fault(config);
      EXPECT_NE(fault.find("/partial_rotary_factor: the part of a head"), std::string::npos)
          << fault;
      EXPECT_NE(fault.find("more than 0, up to 1"), std::string::npos) << fault;
    }
  }
  json config = plain_llama();
  config["partial_rotary_factor"] = 1;
  EXPECT_EQ(cache_model_of(config).kernels[0].spec.kv_append().rope.dim, 128);
  config["partial_rotary_factor"] = 0.001;  // of 128 elements
  EXPECT_NE(cache_fault(config).find("none is turned"), std::string::npos) << cache_fault(config);
}

TEST(CacheModel, Errors) {
  const auto code = [](const json& config, const char* kv) -> std::string {
    try {
      cache_model_of(config, kv);
    } catch (const Error& error) {
      return error.code() + ' ' + error.problems().at(0).pointer;
    }
    return {};
  };
  EXPECT_EQ(code(plain_llama(), R"({"dtype":"int9"})"), "spec.unknown_word /kv/dtype");
  for (const char* kv : {"int8:head", "", R"({"dtype":"int8"},"rope":{})"}) {
    EXPECT_EQ(code(plain_llama(), kv), "spec.syntax /kv") << kv;
  }
  json config = plain_llama();
  config.erase("num_attention_heads");
  EXPECT_EQ(code(config, "{}"), "model.missing_field /num_attention_heads");
  config = plain_llama();
  config["rope_theta"] = "big";
  EXPECT_EQ(code(config, "{}"), "model.wrong_type /rope_theta");
  config["model_type"] = "llame";
  EXPECT_EQ(code(config, "{}"), "model.type /model_type");
}

}  // namespace
}  // namespace heddle
