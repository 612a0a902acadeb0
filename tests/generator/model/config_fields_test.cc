// Every field that the model classes of Transformers read is served, told, refused or known to
// change nothing. tests/models/transformers_fields.py finds them.
#include "generator/model/config_fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/model/family_table.h"
#include "generator/model/model_block.h"
#include "heddle/error.h"
#include "heddle/model.h"
#include "tests/generator/model/model_helpers.h"

namespace heddle {
namespace {

constexpr const char* kCacheOfHeads = R"({"dtype":"int8","granularity":"head"})";

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

struct TransformersFields {
  std::vector<std::string> absent;  // model types that Transformers does not have
  std::map<std::string, std::map<std::string, Json>> types;  // by field, the class's default
};

TransformersFields fields_of_transformers() {
  std::ifstream file(std::filesystem::path(HEDDLE_MODEL_CONFIGS).parent_path() / "fields.json");
  EXPECT_TRUE(file);
  const Json data = Json::parse(file);
  TransformersFields result;
  result.absent = data.at("absent").get<std::vector<std::string>>();
  for (const Json& row : data.at("fields")) {
    for (const std::string& own : words_of(row.at(2))) {
      for (const std::string& type : words_of(data.at("types").at(own))) {
        const bool is_new = result.types[type].emplace(row.at(0), row.at(1)).second;
        EXPECT_TRUE(is_new) << own << " has two defaults of " << row.at(0);
      }
    }
  }
  return result;
}

TEST(ConfigFields, EveryFieldOfTransformersIsInItsRow) {
  const TransformersFields data = fields_of_transformers();
  std::set<std::string> types;
  for (const auto& [type, fields] : data.types) {
    types.insert(type);
    const FamilyRow* const family = find_family(type);
    ASSERT_NE(family, nullptr) << type;
    const FieldPaths known = fields_of(*family);
    for (const auto& [field, value] : fields) {
      EXPECT_TRUE(is_known(known, field))
          << type << ": no row of " << family->name << " and no group of ignored fields has "
          << field << " (" << value << "); transformers_fields.py says who reads it";
    }
  }
  types.insert(data.absent.begin(), data.absent.end());
  for (const FamilyRow* family : family_rows()) {
    for (const std::string_view type : family->model_types) {
      EXPECT_EQ(types.count(std::string(type)), 1U)
          << type << ": transformers_fields.py --write has not seen it";
    }
  }
}

TEST(ConfigFields, AFieldIsIgnoredForOneReason) {
  std::set<std::string_view> seen;
  for (const IgnoredFields& group : ignored_fields()) {
    EXPECT_FALSE(group.why.empty());
    for (const std::string_view path : group.paths) EXPECT_TRUE(seen.insert(path).second) << path;
  }
}

constexpr std::string_view kReason = "; why not: ";

TEST(ConfigFields, AnIndexIsAnExpressionOfItsOwn) {
  FamilyRow family;
  family.names = {{"kinds", "outer.list[first[layer] + second] ?? last"}};
  const FieldPaths known = fields_of(family);
  for (const char* field : {"outer.list", "first", "second", "last"}) {
    EXPECT_EQ(known.count(field), 1U) << field;
  }
  EXPECT_EQ(known.count("layer"), 0U);
}

// What is planned, without what is said about it; "!" and the message where it is refused.
std::string plan_text(const Json& config, bool with_cache) {
  const std::string text = config.dump();
  ModelConfigTexts texts;
  texts.config = text;
  texts.plain_too = true;
  try {
    const Model model = model_from_config(texts);
    const Model cache = cache_model_from_config(text, kCacheOfHeads);
    std::string plan = model_facts(model);
    for (const Model* one : {&model, &cache}) {
      if (one == &cache && !with_cache) continue;
      for (const ModelKernel& kernel : one->kernels) {
        plan += "\n" + kernel.spec.name() + " " + std::to_string(kernel.layers) + " " +
                kernel.spec.canonical_json();
      }
      for (const ModelLayer& layer : one->layers) {
        plan += "\n" + layer.name + " " + std::to_string(layer.n) + " x " +
                std::to_string(layer.k) + " " + std::to_string(layer.count());
        if (!layer.reason.empty()) plan.append(kReason).append(layer.reason);
      }
    }
    return plan;
  } catch (const Error& error) {
    return std::string("!") + error.what();
  }
}

// What plan_text() says of why something is not planned: a refusal, and the reasons of layers.
std::string reasons(const std::string& plan) {
  if (plan.front() == '!') return plan;
  std::string all;
  for (std::size_t at = plan.find(kReason); at != plan.npos; at = plan.find(kReason, at + 1)) {
    all += plan.substr(at, plan.find('\n', at) - at);
  }
  return all;
}

bool is_plain_value(const Json& value) {
  if (!value.is_string()) return !value.is_null() && !value.is_object();
  const auto text = value.get<std::string>();
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
}

// The member of the config that describes the language model.
Json::json_pointer language_in(const Json& config) {
  Json::json_pointer at;
  if (config.contains("thinker_config")) at /= "thinker_config";
  if (config.at(at).contains("text_config")) at /= "text_config";
  return at;
}

// Whether the plan of the config without the field was compared with that of the config that has
// the class's default for it. A config that is refused, or a layer, may ask for the field instead.
bool has_default(const std::string& name, const std::string& field, const Json& value,
                 const Json& config, const Json::json_pointer& at) {
  Json with = config;
  with[at] = value;
  Json without = config;
  if (without.contains(at)) without.at(at.parent_pointer()).erase(at.back());
  // Heads are normalised by the engine where the epsilon is not said, which a note tells.
  const bool with_cache = field.find("norm_eps") == field.npos;
  const std::string expected = plan_text(with, with_cache);
  // The config says the same under another name, with another value than the class's.
  if (expected.front() == '!' && expected.find(" contradicts ") != expected.npos) return false;
  const std::string got = plan_text(without, with_cache);
  const bool asks = reasons(got).find(at.back()) != std::string::npos;
  if (got.front() == '!') {
    EXPECT_TRUE(asks || got == expected) << name << " without " << field << ": " << got;
    return false;
  }
  if (asks) return false;
  EXPECT_EQ(got, expected) << name << ": " << field << " is not " << value << " where it is absent";
  return true;
}

// The config as that of another model type of its row, and the same model of twice the width: no
// default is right there only since another field's value leads to the same number.
Json of_type(const Json& config, const Json::json_pointer& language, std::string_view type) {
  Json other = config;
  other.at(language)["model_type"] = type;
  return other;
}

Json twice_as_wide(const Json& config, const Json::json_pointer& language) {
  Json wide = config;
  for (const char* field : {"hidden_size", "n_embd", "d_model"}) {
    Json& inner = wide.at(language);
    if (inner.contains(field)) inner[field] = 2 * inner[field].get<std::int64_t>();
  }
  return wide;
}

void compare_defaults(const std::string& name, const Json& config,
                      const Json::json_pointer& language, const std::map<std::string, Json>& fields,
                      std::map<std::string, int>* compared) {
  const Json& inner = config.at(language);
  const Json wide = twice_as_wide(config, language);
  for (const auto& [field, value] : fields) {
    if (!is_plain_value(value)) continue;
    // The wrapper has the head, and says itself whose weights it has.
    const bool is_inner =
        !language.empty() || inner.at("model_type").get<std::string>().ends_with("_text");
    if (field == "tie_word_embeddings" && is_inner) continue;
    std::string pointer = "/" + field;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    const Json::json_pointer at = language / Json::json_pointer(pointer);
    if (!inner.contains(field.substr(0, field.find('.'))) && field.find('.') != field.npos) {
      continue;  // the object itself is absent
    }
    for (const Json& one : {config, wide}) {
      (*compared)[field] += has_default(name, field, value, one, at) ? 1 : 0;
    }
  }
}

// A config that lacks a field is the one that has the model class's default for it, or is refused
// by the field's name.
TEST(ConfigFields, AnAbsentFieldIsTheClassesDefaultOrIsAskedFor) {
  const auto types = fields_of_transformers().types;
  std::map<std::string, int> compared;
  for (const auto& entry : std::filesystem::directory_iterator(HEDDLE_MODEL_CONFIGS)) {
    std::ifstream file(entry.path());
    const Json config = Json::parse(file);
    const Json::json_pointer language = language_in(config);
    const Json& inner = config.at(language);
    const std::string type = inner.value("model_type", config.value("model_type", ""));
    const FamilyRow* const family = find_family(type);
    if (family == nullptr) continue;
    for (const std::string_view relative : family->model_types) {
      const auto found = types.find(std::string(relative));
      if (found == types.end()) continue;
      const Json one = of_type(config, language, relative);
      compare_defaults(std::string(relative) + " of " + entry.path().stem().string(), one, language,
                       found->second, &compared);
    }
  }
  int all = 0;
  for (const auto& [field, count] : compared) all += count;
  EXPECT_GT(all, 2000);
  // Words that are in every plan, whether or not it asks for the field.
  EXPECT_GT(compared["head_dim"], 40);
  EXPECT_GT(compared["hidden_act"], 100);
  EXPECT_GT(compared["attention_bias"], 80);
}

Json config_named(const std::string& name) {
  std::ifstream file(std::filesystem::path(HEDDLE_MODEL_CONFIGS) / (name + ".json"));
  EXPECT_TRUE(file) << name;
  return Json::parse(file);
}

Model cache_of_config(const Json& config) {
  return cache_model_from_config(config.dump(), kCacheOfHeads);
}

const DecodeAttentionSpec& attention_of(const Model& cache) {
  return cache.kernels.at(1).spec.decode_attention();
}

bool one_says(const std::vector<std::string>& texts, const std::string& part) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& text) { return text.find(part) != text.npos; });
}

// Whether the engine is told, both with the model's facts and with its attention alone.
bool is_told(const Json& config, const std::string& part) {
  return one_says(model_from_config(config.dump()).notes, part) &&
         one_says(cache_of_config(config).notes, part);
}

TEST(ConfigFields, AFieldThatNoRowKnowsIsTold) {
  Json config = config_named("llama");
  EXPECT_FALSE(one_says(model_from_config(config.dump()).assumptions, "does not know"));
  config["query_boost"] = 2;
  config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 10000}, {"twist", 1}};
  const char* const told =
      "Heddle does not know these fields of this model type and ignores them: "
      "query_boost, rope_parameters.twist";
  EXPECT_TRUE(one_says(model_from_config(config.dump()).assumptions, told));
  EXPECT_TRUE(one_says(cache_of_config(config).assumptions, told));
  // Nor is it handed to the engine among the numbers of the scaling.
  config["rope_parameters"]["rope_type"] = "linear";
  config["rope_parameters"]["factor"] = 8;
  using Parameters = std::vector<std::pair<std::string, double>>;
  EXPECT_EQ(blocks_of(model_from_config(config.dump())).at(0).attention.rope.parameters,
            (Parameters{{"factor", 8}}));
  for (const Json& nothing : {Json(), Json(""), Json::array(), Json::object()}) {
    Json absent = config_named("llama");
    absent["query_boost"] = nothing;
    EXPECT_FALSE(one_says(model_from_config(absent.dump()).assumptions, "query_boost")) << nothing;
  }
  // Known of one family, it is unknown of another.
  config = config_named("llama");
  config["clip_qkv"] = 8;
  EXPECT_TRUE(one_says(model_from_config(config.dump()).assumptions, "clip_qkv"));
  for (int i = 0; i < 1000; ++i) config["more" + std::to_string(i)] = 1;
  EXPECT_TRUE(one_says(model_from_config(config.dump()).assumptions, " and 961 more"));
}

TEST(ConfigFields, FalconAddsItsSlopesBeforeScoresAreDivided) {
  Json config = config_named("falcon");
  config["alibi"] = true;
  const Model cache = cache_of_config(config);
  const DecodeAttentionSpec& attention = attention_of(cache);
  EXPECT_EQ(attention.alibi, Alibi::kGiven);
  EXPECT_EQ(cache.kernels[0].spec.kv_append().rope.pairing, RopePairing::kNone);
  const ModelAttention facts = blocks_of(model_from_config(config.dump())).at(0).attention;
  EXPECT_DOUBLE_EQ(facts.alibi_factor * facts.alibi_factor * attention.shape.head_dim, 1);
  EXPECT_TRUE(one_says(cache.notes, "the slopes of ALiBi are the standard ones times 0."));
}

TEST(ConfigFields, SlopesOfMptHaveAnExponent) {
  Json config = config_named("mpt");
  EXPECT_EQ(attention_of(cache_of_config(config)).alibi, Alibi::kStandard);
  config["attn_config"]["alibi_bias_max"] = 8;
  EXPECT_EQ(attention_of(cache_of_config(config)).alibi, Alibi::kStandard);
  config["attn_config"]["alibi_bias_max"] = 16;
  const Model cache = cache_of_config(config);
  EXPECT_EQ(attention_of(cache).alibi, Alibi::kGiven);
  EXPECT_TRUE(one_says(cache.notes, "the standard ones to the power of 2:"));
  config["attn_config"]["clip_qkv"] = 6;
  EXPECT_TRUE(is_told(config, "clamped to +-6 (attn_config.clip_qkv)"));
  config["attn_config"]["softmax_scale"] = 0.5;
  EXPECT_EQ(attention_of(cache_of_config(config)).scale_dim, 4);
}

TEST(ConfigFields, ScoresOfGpt2AreScaledByTheirLayer) {
  Json config = config_named("gpt2");
  const std::int64_t head_dim = attention_of(cache_of_config(config)).shape.head_dim;
  EXPECT_EQ(attention_of(cache_of_config(config)).scale_dim, head_dim);
  config["scale_attn_by_inverse_layer_idx"] = true;
  const Model cache = cache_of_config(config);
  const int layers = config.at("n_layer").get<int>();
  ASSERT_EQ(cache.kernels.size(), static_cast<std::size_t>(1 + layers));
  for (int layer = 0; layer < layers; ++layer) {
    const ModelKernel& kernel = cache.kernels[static_cast<std::size_t>(layer) + 1];
    EXPECT_EQ(kernel.spec.decode_attention().scale_dim, head_dim * (layer + 1) * (layer + 1));
    EXPECT_EQ(kernel.layers, 1);
  }
  config["scale_attn_by_inverse_layer_idx"] = false;
  config["scale_attn_weights"] = false;
  EXPECT_EQ(attention_of(cache_of_config(config)).scale_dim, 1);
}

TEST(ConfigFields, QueriesThatGrowWithTheirPositionAreTold) {
  Json config = config_named("ministral3");
  config["rope_parameters"] = {{"rope_type", "yarn"},
                               {"factor", 16.0},
                               {"original_max_position_embeddings", 16384},
                               {"rope_theta", 1000000.0},
                               {"llama_4_scaling_beta", 0.1}};
  EXPECT_TRUE(is_told(config, "1 + 0.1 * log(1 + floor(position / 16384))"));
  config["rope_parameters"]["llama_4_scaling_beta"] = 0;
  EXPECT_FALSE(is_told(config, "log(1"));
  EXPECT_TRUE(is_told(config_named("llama4"), "attn_temperature_tuning"));
}

TEST(ConfigFields, QwenTellsWhatHoldsUpToALength) {
  Json first = config_named("qwen");
  first["use_logn_attn"] = true;
  first["use_dynamic_ntk"] = true;
  first["seq_length"] = 2048;
  EXPECT_TRUE(is_told(first, "beyond 2048 tokens queries are multiplied"));
  EXPECT_TRUE(is_told(first, "beyond 2048 tokens (use_dynamic_ntk"));
  EXPECT_EQ(cache_of_config(first).kernels[0].spec.kv_append().rope.source, RopeSource::kTable);
  first["use_dynamic_ntk"] = false;
  EXPECT_EQ(cache_of_config(first).kernels[0].spec.kv_append().rope.source, RopeSource::kBase);
  Json second = config_named("qwen2");
  second["dual_chunk_attention_config"] = {{"chunk_size", 262144}, {"local_size", 8192}};
  EXPECT_TRUE(is_told(second, "sequences of up to 253952 tokens"));
}

TEST(ConfigFields, AttentionThatNoKernelComputesHasNone) {
  for (const char* field : {"is_causal", "use_bidirectional_attention"}) {
    Json config = config_named("llama");
    config[field] = std::string(field) != "is_causal";
    const Model cache = cache_of_config(config);
    EXPECT_TRUE(cache.kernels.empty()) << field;
    EXPECT_NE(cache.unserved.at(0).reason.find(field), std::string::npos);
    EXPECT_TRUE(one_says(model_from_config(config.dump()).notes, "attention has no kernel"))
        << field;
    config[field] = std::string(field) == "is_causal";
    EXPECT_EQ(cache_of_config(config).kernels.size(), 2U) << field;
  }
}

TEST(ConfigFields, AFieldThatAsksForOtherLayersIsRefused) {
  Json config = config_named("gpt2");
  config["add_cross_attention"] = true;
  const Error error = config_error(config.dump());
  EXPECT_EQ(error.code(), "model.field");
  EXPECT_EQ(error.category(), ErrorCategory::kUnsupported);
  EXPECT_EQ(error.problems().at(0).pointer, "/add_cross_attention");
  config = config_named("mpt");
  config["attn_config"]["attn_type"] = "grouped_query_attention";
  EXPECT_EQ(config_error(config.dump()).problems().at(0).pointer, "/attn_config/attn_type");
  EXPECT_EQ(config_error(config.dump()).problems().at(0).value, "\"grouped_query_attention\"");
}

TEST(ConfigFields, WhatFollowsFromAMissingFieldIsNotToldBesideIt) {
  Json config = config_named("stablelm");
  config.erase("num_key_value_heads");
  const Error error = config_error(config.dump());
  ASSERT_EQ(error.problems().size(), 1U) << error.what();
  EXPECT_EQ(error.problems().at(0).pointer, "/num_key_value_heads");
  config = config_named("gptj");
  config.erase("n_head");
  const Error several = config_error(config.dump());
  for (const Problem& problem : several.problems()) {
    EXPECT_FALSE(problem.pointer.empty()) << problem.message;
  }
}

TEST(ConfigFields, AWindowThatMayStartInAnyLayerHasToBeSaid) {
  Json config = config_named("qwen2");
  config["use_sliding_window"] = true;
  config["sliding_window"] = 64;
  config.erase("max_window_layers");
  const std::string fault = config_error(config.dump()).what();
  EXPECT_NE(fault.find("/max_window_layers: the field is required; Transformers takes 28"),
            std::string::npos)
      << fault;
}

}  // namespace
}  // namespace heddle
