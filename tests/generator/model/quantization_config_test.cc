// "quantization_config" and its relatives: which module is quantised how.
#include <gtest/gtest.h>

#include <string>

#include "generator/model/config_documents.h"
#include "tests/generator/model/model_helpers.h"

namespace heddle {
namespace {

Quantization read_texts(const ModelConfigTexts& texts) {
  Findings findings("model");
  Quantization quantization = ConfigDocuments(texts, findings).quantization();
  findings.throw_if_any();
  return quantization;
}

Quantization read(const std::string& quantization_config) {
  const std::string text = "{\"quantization_config\": " + quantization_config + "}";
  return read_texts({{}, text, {}, {}});
}

// Where the refusal points.
std::string refused_at(const std::string& quantization_config) {
  try {
    read(quantization_config);
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kUnsupported) << error.what();
    EXPECT_EQ(error.code(), "model.quantization") << error.what();
    return error.problems().at(0).pointer;
  }
  ADD_FAILURE() << "accepted: " << quantization_config;
  return {};
}

const std::string kModule = "model.layers.3.mlp.down_proj";

TEST(QuantizationConfig, NoneIsNone) {
  EXPECT_EQ(read_texts({{}, "{}", {}, {}}).method(), "");
  EXPECT_EQ(read_texts({{}, "{}", {}, {}}).scheme_of(kModule), nullptr);
}

TEST(QuantizationConfig, GptqDynamicRulesInTheirOrder) {
  const Quantization quantization = read(R"({"quant_method": "gptq", "bits": 4, "group_size": 128,
    "sym": true, "dynamic": {
      "-:.*\\.3\\..*down_proj": {},
      "+:.*down_proj": {"bits": 8, "group_size": 64, "sym": false},
      "model.layers.0.self_attn": {"desc_act": true}}})");
  EXPECT_EQ(quantization.scheme_of(kModule), nullptr);
  const Scheme* down = quantization.scheme_of("model.layers.4.mlp.down_proj");
  ASSERT_NE(down, nullptr);
  EXPECT_EQ(down->bits, 8);
  EXPECT_EQ(down->group_size, 64);
  EXPECT_FALSE(down->symmetric);
  EXPECT_TRUE(down->zero_is_minus_one);
  const Scheme* q = quantization.scheme_of("model.layers.0.self_attn.q_proj");
  EXPECT_TRUE(q->act_order);
  EXPECT_EQ(q->bits, 4);
  EXPECT_EQ(quantization.scheme_of("model.layers.1.mlp.up_proj")->group_size, 128);
  EXPECT_EQ(quantization.scheme_of("lm_head"), nullptr);
  EXPECT_EQ(refused_at(R"({"quant_method": "gptq", "bits": 4, "dynamic": {"-:(": {}}})"),
            "/quantization_config/dynamic/-:(");
}

TEST(QuantizationConfig, GptqFormats) {
  const std::string start = R"({"quant_method": "gptq", "bits": 4, )";
  const auto minus_one = [&](const std::string& fields) {
    return read(start + fields + "}").scheme_of(kModule)->zero_is_minus_one;
  };
  EXPECT_TRUE(minus_one(R"("sym": false)"));
  EXPECT_TRUE(minus_one(R"("checkpoint_format": "gptq")"));
  EXPECT_FALSE(minus_one(R"("checkpoint_format": "gptq_v2")"));
  EXPECT_FALSE(minus_one(R"("format": "gptq_v2")"));
  EXPECT_FALSE(minus_one(R"("format": "gptq_v2", "checkpoint_format": "gptq_v2")"));
  EXPECT_EQ(refused_at(start + R"("format": "gptq_v2", "checkpoint_format": "gptq"})"),
            "/quantization_config/format");
  EXPECT_EQ(refused_at(start + R"("format": "bitblas"})"), "/quantization_config/format");
  EXPECT_EQ(refused_at(start + R"("is_marlin_format": true})"),
            "/quantization_config/is_marlin_format");
  EXPECT_EQ(refused_at(start + R"("pack_dtype": "float16"})"), "/quantization_config/pack_dtype");
  EXPECT_EQ(read(start + R"("pack_dtype": "int64"})").scheme_of(kModule)->word_bytes, 8);
  EXPECT_EQ(read(start + R"("lm_head": true})").scheme_of("lm_head")->bits, 4);
}

TEST(QuantizationConfig, GptqModulesInABlock) {
  const Quantization quantization = read(R"({"quant_method": "gptq", "bits": 4,
    "modules_in_block_to_quantize": [["self_attn.q_proj", "self_attn.k_proj"], ["mlp.down_proj"]]})");
  EXPECT_NE(quantization.scheme_of(kModule), nullptr);
  EXPECT_NE(quantization.scheme_of("model.layers.0.self_attn.k_proj"), nullptr);
  EXPECT_EQ(quantization.scheme_of("model.layers.0.self_attn.v_proj"), nullptr);
}

TEST(QuantizationConfig, Awq) {
  const Quantization quantization = read(R"({"quant_method": "awq", "bits": 4, "group_size": 128,
    "version": "GEMM", "modules_to_not_convert": ["self_attn", "gate"]})");
  EXPECT_EQ(quantization.scheme_of("model.layers.0.self_attn.q_proj"), nullptr);
  EXPECT_EQ(quantization.scheme_of("model.layers.0.mlp.gate"), nullptr);
  EXPECT_EQ(quantization.scheme_of(kModule)->storage, Storage::kAwq);
  EXPECT_EQ(read(R"({"quant_method": "awq", "w_bit": 4, "q_group_size": 64, "version": "gemv"})")
                .scheme_of(kModule)
                ->storage,
            Storage::kAwqGemv);
}

// A config alone is refused where a folder with tensors is.
TEST(QuantizationConfig, AwqHasFourBits) {
  for (const char* bits : {"1", "3", "5", "8"}) {
    const std::string width = std::string(bits) + "}";
    EXPECT_EQ(refused_at(R"({"quant_method": "awq", "group_size": 128, "bits": )" + width),
              "/quantization_config/bits");
    EXPECT_EQ(refused_at(R"({"quant_method": "awq", "q_group_size": 128, "w_bit": )" + width),
              "/quantization_config/w_bit");
    EXPECT_EQ(refused_at(R"({"quant_method": "awq", "bits": 4, "w_bit": )" + width),
              "/quantization_config/w_bit");
    EXPECT_EQ(refused_at(R"({"quant_method": "auto-round", "packing_format": "auto_round:auto_awq",
                             "bits": )" +
                         width),
              "/quantization_config/bits");
    EXPECT_EQ(refused_at(R"({"quant_method": "auto-round", "packing_format": "auto_round:auto_awq",
                             "bits": 4, "extra_config": {"model.layers.0.mlp": {"bits": )" +
                         width + "}}"),
              "/quantization_config/extra_config/model.layers.0.mlp/bits");
  }
  EXPECT_EQ(read(R"({"quant_method": "awq", "bits": 4, "w_bit": 4})").scheme_of(kModule)->bits, 4);
  EXPECT_EQ(refused_at(R"({"quant_method": "awq", "bits": 4, "group_size": 128,
                           "q_group_size": 64})"),
            "/quantization_config/q_group_size");
}

// Codes of 5, 6 and 7 bits lie in bit planes, whatever the format is called; of 1 bit there are
// none.
TEST(QuantizationConfig, GptqHasStreamsOfFourWidths) {
  for (const char* method : {"gptq", "auto-round"}) {
    const std::string start = std::string(R"({"quant_method": ")") + method + R"(", "bits": )";
    for (const int bits : {2, 3, 4, 8}) {
      EXPECT_EQ(read(start + std::to_string(bits) + "}").scheme_of(kModule)->bits, bits);
    }
    for (const int bits : {1, 5, 6, 7}) {
      EXPECT_EQ(refused_at(start + std::to_string(bits) + "}"), "/quantization_config/bits");
    }
  }
  EXPECT_EQ(refused_at(R"({"quant_method": "gptq", "bits": 4, "dynamic": {"a": {"bits": 5}}})"),
            "/quantization_config/dynamic/a/bits");
}

// What is wrong with a field is told once.
TEST(QuantizationConfig, BitsOutOfRange) {
  for (const char* config :
       {R"({"quant_method": "gptq", "bits": 9})", R"({"quant_method": "gptq"})",
        R"({"quant_method": "auto-round", "bits": 9})",
        R"({"quant_method": "awq", "bits": 9, "w_bit": 4})",
        R"({"quant_method": "awq", "bits": "four"})"}) {
    try {
      read(config);
      ADD_FAILURE() << "accepted: " << config;
    } catch (const Error& error) {
      EXPECT_EQ(error.problems().size(), 1U) << error.what();
      EXPECT_EQ(error.problems().at(0).pointer, "/quantization_config/bits");
    }
  }
}

TEST(QuantizationConfig, CompressedTensorsTargets) {
  const auto weights = [](int bits) {
    return R"({"num_bits": )" + std::to_string(bits) +
           R"(, "type": "int", "strategy": "group", "group_size": 32, "symmetric": true})";
  };
  // A name goes before an expression, an expression before a class, whatever group they are of.
  const Quantization quantization = read(
      R"({"quant_method": "compressed-tensors", "format": "pack-quantized",
      "ignore": ["lm_head", "re:.*router$"], "config_groups": {
      "a": {"targets": ["Linear"], "weights": )" +
      weights(2) + R"(},
      "b": {"targets": ["re:.*mlp.*"], "weights": )" +
      weights(4) + R"(},
      "c": {"targets": ["model.layers.3.mlp.down_proj"], "weights": )" +
      weights(8) + "}}}");
  EXPECT_EQ(quantization.scheme_of(kModule)->bits, 8);
  EXPECT_EQ(quantization.scheme_of("model.layers.4.mlp.down_proj")->bits, 4);
  EXPECT_EQ(quantization.scheme_of("model.layers.4.self_attn.q_proj")->bits, 2);
  EXPECT_EQ(quantization.scheme_of("model.layers.4.router"), nullptr);
  EXPECT_EQ(quantization.scheme_of("lm_head"), nullptr);
  EXPECT_EQ(quantization.scheme_of("model.lm_head_norm")->bits, 2);
}

TEST(QuantizationConfig, CompressedTensorsFormatsByGroup) {
  const Quantization quantization = read(R"({"quant_method": "compressed-tensors",
    "format": "mixed-precision", "kv_cache_scheme": {"num_bits": 8, "type": "float"}, "config_groups": {
    "a": {"targets": ["re:.*attn.*"], "format": "float-quantized", "input_activations": {},
          "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}},
    "b": {"targets": ["re:.*mlp.*"], "format": "nvfp4-pack-quantized",
          "weights": {"num_bits": 4, "type": "float", "group_size": 16}}}})");
  EXPECT_EQ(quantization.scheme_of("l.attn.q")->type, WeightType::kE4m3);
  EXPECT_TRUE(quantization.scheme_of("l.mlp.up")->tensor_scale);
  EXPECT_EQ(quantization.notes().size(), 1U);  // activations
  ASSERT_TRUE(quantization.cache());
  EXPECT_EQ(quantization.cache()->dtype, "fp8_e4m3");
  EXPECT_EQ(refused_at(R"({"quant_method": "compressed-tensors", "format": "marlin-24",
    "config_groups": {}})"),
            "/quantization_config/format");
}

// Tables are another class than linear modules, and may have other codes.
TEST(QuantizationConfig, CompressedTensorsTables) {
  const auto group = [](const std::string& targets, int bits) {
    return R"({"targets": [)" + targets + R"(], "weights": {"num_bits": )" + std::to_string(bits) +
           R"(, "type": "int", "strategy": "channel"}})";
  };
  const auto with = [](const std::string& groups) {
    return read(R"({"quant_method": "compressed-tensors", "format": "pack-quantized",
                    "ignore": ["lm_head", "visual.embed"], "config_groups": {)" +
                groups + "}}");
  };
  const Quantization two =
      with("\"a\": " + group("\"Linear\"", 4) + ", \"b\": " + group("\"Embedding\"", 8));
  EXPECT_TRUE(two.names_tables());
  EXPECT_EQ(two.scheme_of_table("model.embed_tokens")->bits, 8);
  EXPECT_EQ(two.scheme_of(kModule)->bits, 4);
  EXPECT_EQ(two.scheme_of_table("visual.embed"), nullptr);
  const Quantization named =
      with("\"a\": " + group("\"Linear\"", 4) + ", \"b\": " + group("\"model.embed_tokens\"", 2));
  EXPECT_EQ(named.scheme_of_table("model.embed_tokens")->bits, 2);
  EXPECT_EQ(named.scheme_of_table("model.embed_positions"), nullptr);
  const Quantization silent = with("\"a\": " + group("\"Linear\"", 4));
  EXPECT_FALSE(silent.names_tables());
  EXPECT_EQ(silent.scheme_of_table("model.embed_tokens")->bits, 4);
}

TEST(QuantizationConfig, CachesThatScalesWereMadeFor) {
  using Scales = CacheScheme::Scales;
  const auto ct = [](const std::string& scheme) {
    return R"({"quant_method": "compressed-tensors", "format": "dense", "config_groups": {},
               "kv_cache_scheme": )" +
           scheme + "}";
  };
  const auto modelopt = [](const std::string& fields) {
    return R"({"quant_method": "modelopt", )" + fields + "}";
  };
  const struct {
    std::string config;
    const char* dtype;
    Scales scales;
  } cases[] = {
      {ct(R"({"num_bits": 8, "type": "float", "strategy": "tensor"})"), "fp8_e4m3",
       Scales::kTensor},
      {ct(R"({"num_bits": 8, "type": "float", "strategy": "attn_head"})"), "fp8_e4m3",
       Scales::kHead},
      {ct(R"({"num_bits": 8, "type": "int", "strategy": "channel"})"), "int8", Scales::kChannel},
      {ct(R"({"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16})"),
       "nvfp4", Scales::kOther},
      {ct(R"({"num_bits": 4, "type": "float", "strategy": "tensor"})"), "", Scales::kTensor},
      {ct(R"({"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 32})"), "",
       Scales::kOther},
      {ct(R"({"num_bits": 8, "type": "float", "dynamic": true})"), "fp8_e4m3", Scales::kRunTime},
      {ct(R"({"num_bits": 8, "type": "int", "symmetric": false})"), "int8", Scales::kTensor},
      {modelopt(R"("kv_cache_quant_algo": "FP8")"), "fp8_e4m3", Scales::kTensor},
      {modelopt(R"("kv_cache_quant_algo": "NVFP4")"), "nvfp4", Scales::kTensor},
      {modelopt(R"("kv_cache_quant_algo": "NVFP4_ROTATED")"), "", Scales::kOther},
      {modelopt(R"("kv_cache_scheme": {"num_bits": 8, "type": "float"})"), "fp8_e4m3",
       Scales::kTensor},
      {R"({"quant_method": "quark", "export": {"kv_cache_group": ["*k_proj", "*v_proj"]},
           "layer_quant_config": {"*k_proj": {"weight": null, "output_tensors": {
             "dtype": "int8", "qscheme": "per_channel"}}}})",
       "int8", Scales::kChannel}};
  for (const auto& one : cases) {
    const Quantization quantization = read(one.config);
    EXPECT_FALSE(quantization.has_weights()) << one.config;
    EXPECT_EQ(quantization.scheme_of(kModule), nullptr) << one.config;
    ASSERT_TRUE(quantization.cache()) << one.config;
    EXPECT_EQ(quantization.cache()->dtype, one.dtype) << one.config;
    EXPECT_EQ(quantization.cache()->scales, one.scales) << one.config;
  }
  EXPECT_FALSE(read(R"({"quant_method": "fp8"})").cache());
  EXPECT_TRUE(read(R"({"quant_method": "fp8", "kv_cache_scheme": "static"})").cache());
  for (const char* bits : {"-5", "0", "64"}) {
    try {
      read(ct(R"({"type": "int", "num_bits": )" + std::string(bits) + "}"));
      ADD_FAILURE() << bits;
    } catch (const Error& error) {
      EXPECT_EQ(error.problems().at(0).pointer, "/quantization_config/kv_cache_scheme/num_bits");
    }
  }
  // No group may say that weights of a format that is none are quantised.
  EXPECT_EQ(refused_at(R"({"quant_method": "compressed-tensors", "format": "dense",
    "config_groups": {"a": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float"}}}})"),
            "/quantization_config/format");
}

TEST(QuantizationConfig, SparsityAndRotationsAreRefused) {
  const std::string groups = R"("config_groups": {"a": {"targets": ["Linear"], "weights":
    {"num_bits": 8, "type": "float", "strategy": "channel"}}})";
  const Quantization sparse = read(R"({"quant_method": "compressed-tensors",
    "format": "float-quantized", )" +
                                   groups + R"(, "sparsity_config": {
    "format": "sparse-24-bitmask", "targets": ["Linear"], "ignore": ["re:.*o_proj"]}})");
  EXPECT_NE(sparse.scheme_of(kModule)->unread.find("sparse-24-bitmask"), std::string::npos);
  EXPECT_EQ(sparse.scheme_of("model.layers.0.self_attn.o_proj")->unread, "");
  EXPECT_EQ(refused_at(R"({"quant_method": "compressed-tensors", "format": "float-quantized", )" +
                       groups + R"(, "transform_config": {"config_groups": {"R4": {"apply": [
    {"targets": ["re:.*down_proj$"], "location": "input"}]}}}})"),
            "/quantization_config/transform_config/config_groups/R4/apply");
  // Rotations that are part of the weights are nobody's work at run time.
  EXPECT_NE(
      read(R"({"quant_method": "compressed-tensors", "format": "float-quantized", )" + groups +
           R"(, "transform_config": {"config_groups": {"R1": {"apply": [
    {"targets": ["Linear"], "location": "weight_input"}]}}}})")
          .scheme_of(kModule),
      nullptr);
}

TEST(QuantizationConfig, ModelOptimizer) {
  const Quantization mixed = read(R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION",
    "exclude_modules": ["*.1.*"], "quantized_layers": {
      "model.layers.3.mlp.down_proj": {"quant_algo": "NVFP4", "group_size": 16},
      "model.layers.1.mlp.down_proj": {"quant_algo": "FP8"},
      "layers.0.ffn.experts": {"quant_algo": "fp8"},
      "x": {"quant_algo": "W4A16_AWQ"}}})");
  EXPECT_TRUE(mixed.scheme_of(kModule)->tensor_scale);
  EXPECT_EQ(mixed.scheme_of("model.layers.1.mlp.down_proj"), nullptr);
  EXPECT_EQ(mixed.scheme_of("model.layers.2.mlp.down_proj"), nullptr);
  EXPECT_EQ(mixed.scheme_of("layers.0.ffn.experts.7.w1")->type, WeightType::kE4m3);
  EXPECT_EQ(mixed.scheme_of("layers.0.ffn.experts_norm"), nullptr);
  EXPECT_NE(mixed.scheme_of("x")->unread.find("W4A16_AWQ"), std::string::npos);
  const Quantization nvfp4 = read(R"({"quant_algo": "NVFP4", "producer": {"name": "modelopt"},
    "ignore": ["lm_head", "model.layers.0*", "mlp.gate"]})");
  EXPECT_EQ(nvfp4.method(), "modelopt");
  EXPECT_EQ(nvfp4.scheme_of("model.layers.0.mlp.up_proj"), nullptr);
  EXPECT_EQ(nvfp4.scheme_of("model.layers.1.mlp.gate"), nullptr);
  EXPECT_NE(nvfp4.scheme_of("model.layers.1.mlp.gate_proj"), nullptr);
  EXPECT_EQ(refused_at(R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 32})"),
            "/quantization_config/group_size");
}

TEST(QuantizationConfig, FilesBesideTheConfig) {
  const std::string hf = R"({"producer": {"name": "modelopt"}, "quantization":
    {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}})";
  const Quantization fp8 = read_texts({{}, "{}", hf, {}});
  EXPECT_EQ(fp8.method(), "modelopt");
  EXPECT_EQ(fp8.scheme_of(kModule)->group_size, kPerTensor);
  EXPECT_EQ(fp8.scheme_of("lm_head"), nullptr);
  const Quantization gptq =
      read_texts({{}, "{}", {}, R"({"bits": 4, "group_size": 32, "sym": false})"});
  EXPECT_EQ(gptq.method(), "gptq");
  EXPECT_EQ(gptq.scheme_of(kModule)->group_size, 32);
  EXPECT_EQ(read_texts({{}, "{}", {}, R"({"w_bit": 4, "q_group_size": 128, "version": "GEMM"})"})
                .method(),
            "awq");
  // The config's own goes first; the two may not disagree.
  const std::string config = R"({"quantization_config": {"quant_method": "modelopt",
    "quantization": {"quant_algo": "NVFP4"}}})";
  EXPECT_THROW(read_texts({{}, config, hf, {}}), Error);
  EXPECT_TRUE(read_texts({{}, config, {}, {}}).scheme_of(kModule)->tensor_scale);
}

TEST(QuantizationConfig, OfTheLanguageModel) {
  const std::string config = R"({"text_config": {"quantization_config":
    {"quant_method": "fp8", "fmt": "float8_e4m3fn", "weight_block_size": [64, 32],
     "ignored_layers": ["lm_head", "mlp.gate"]}}})";
  const Quantization quantization = read_texts({{}, config, {}, {}});
  EXPECT_EQ(quantization.scheme_of(kModule)->block_rows, 64);
  EXPECT_EQ(quantization.scheme_of(kModule)->group_size, 32);
  EXPECT_EQ(quantization.scheme_of("model.layers.0.mlp.gate"), nullptr);
  EXPECT_NE(quantization.scheme_of("model.layers.0.mlp.gate_proj"), nullptr);
}

TEST(QuantizationConfig, AutoRound) {
  const Quantization quantization = read(R"({"quant_method": "auto-round", "bits": 4,
    "group_size": 128, "sym": true, "packing_format": "auto_round:auto_gptq", "extra_config": {
      "model.layers.3.mlp.down_proj": {"bits": 8, "group_size": 32},
      ".*shared_expert.*": {"bits": 16}, "lm_head": {"bits": 8}}})");
  EXPECT_EQ(quantization.scheme_of(kModule)->bits, 8);
  EXPECT_EQ(quantization.scheme_of("a.shared_expert.up"), nullptr);
  EXPECT_EQ(quantization.scheme_of("lm_head")->bits, 8);
  EXPECT_EQ(quantization.scheme_of("model.layers.4.mlp.down_proj")->storage, Storage::kGptq);
  EXPECT_EQ(read(R"({"quant_method": "auto-round", "bits": 4,
                     "packing_format": "auto_round:auto_awq"})")
                .scheme_of(kModule)
                ->storage,
            Storage::kAwq);
  EXPECT_EQ(read(R"({"quant_method": "auto-round", "bits": 4, "block_name_to_quantize":
                     "model.layers, other"})")
                .scheme_of("visual.blocks.0.fc"),
            nullptr);
  EXPECT_EQ(refused_at(R"({"quant_method": "auto-round", "bits": 4, "packing_format": "mlx"})"),
            "/quantization_config/packing_format");
}

TEST(QuantizationConfig, Quark) {
  const Quantization quantization =
      read(R"({"quant_method": "quark", "exclude": ["lm_head", "*.gate"],
    "export": {"pack_method": "reorder"},
    "layer_quant_config": {"*down_proj": {"weight": {"dtype": "uint4", "qscheme": "per_group",
      "group_size": 32, "symmetric": false}}, "*up_proj": {"weight": null}},
    "global_quant_config": {"weight": {"dtype": "fp4", "qscheme": "per_group", "group_size": 32,
      "scale_format": "e8m0"}}})");
  EXPECT_EQ(quantization.scheme_of(kModule)->storage, Storage::kQuarkPacked);
  EXPECT_FALSE(quantization.scheme_of(kModule)->symmetric);
  EXPECT_EQ(quantization.scheme_of("l.up_proj"), nullptr);
  EXPECT_EQ(quantization.scheme_of("l.gate"), nullptr);
  EXPECT_EQ(quantization.scheme_of("l.q_proj")->type, WeightType::kE2m1);
  EXPECT_NE(read(R"({"quant_method": "quark", "global_quant_config":
                     {"weight": {"dtype": "mx6"}}})")
                .scheme_of(kModule)
                ->unread,
            "");
}

TEST(QuantizationConfig, MethodsThatAreNotRead) {
  for (const char* method : {"aqlm", "vptq", "torchao", "fp_quant", "unheard-of"}) {
    EXPECT_EQ(refused_at(std::string(R"({"quant_method": ")") + method + "\"}"),
              "/quantization_config/quant_method");
  }
}

TEST(QuantizationConfig, NamesOfAutoRoundGoBeforeExpressions) {
  const Quantization quantization = read(R"({"quant_method": "auto-round", "bits": 4,
    "extra_config": {".*down_proj": {"bits": 2}, "model.layers.3.mlp.down_proj": {"bits": 8}}})");
  EXPECT_EQ(quantization.scheme_of(kModule)->bits, 8);
  EXPECT_EQ(quantization.scheme_of("model.layers.4.mlp.down_proj")->bits, 2);
}

// The kernel that was meant to read the codes does not tell how zero points are stored.
TEST(QuantizationConfig, PackingsOfAutoRound) {
  const auto minus_one = [](const std::string& fields) {
    return read(R"({"quant_method": "auto-round", "bits": 4, )" + fields + "}")
        .scheme_of(kModule)
        ->zero_is_minus_one;
  };
  EXPECT_TRUE(minus_one(R"("sym": false, "packing_format": "auto_gptq")"));
  EXPECT_FALSE(minus_one(R"("sym": false, "packing_format": "gptqmodel")"));
  EXPECT_TRUE(minus_one(R"("sym": true, "backend": "auto_round:exllamav2")"));
  EXPECT_EQ(refused_at(R"({"quant_method": "auto-round", "bits": 4, "sym": false,
                           "backend": "auto_round:exllamav2"})"),
            "/quantization_config/backend");
}

TEST(QuantizationConfig, QuarkExcludesByExpressionToo) {
  const Quantization quantization = read(R"({"quant_method": "quark", "exclude": ["re:.*router"],
    "global_quant_config": {"weight": {"dtype": "fp8_e4m3", "qscheme": "per_tensor"}}})");
  EXPECT_EQ(quantization.scheme_of("l.router"), nullptr);
  EXPECT_NE(quantization.scheme_of("l.up_proj"), nullptr);
  EXPECT_EQ(refused_at(R"({"quant_method": "quark", "layer_type_quant_config": {"Linear": {}},
    "global_quant_config": {"weight": null}})"),
            "/quantization_config/layer_type_quant_config");
}

// What stands beside the config says what the config leaves out, and may not contradict it.
TEST(QuantizationConfig, QuantizeConfigBesideTheConfig) {
  const std::string config =
      R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "sym": false}})";
  const auto with = [&](const std::string& beside) { return read_texts({{}, config, {}, beside}); };
  EXPECT_FALSE(with(R"({"checkpoint_format": "gptq_v2"})").scheme_of(kModule)->zero_is_minus_one);
  EXPECT_EQ(with(R"({"group_size": 64})").scheme_of(kModule)->group_size, 64);
  EXPECT_THROW(with(R"({"bits": 8})"), Error);
  EXPECT_THROW(with(R"({"sym": true})"), Error);
  const std::string hf = R"({"quantization": {"quant_algo": "NVFP4"}})";
  EXPECT_THROW(read_texts({{}, config, hf, {}}), Error);
}

// An entry names the module itself, as the library that writes these configs has it.
TEST(QuantizationConfig, NamesOfCompressedTensorsAreExact) {
  const Quantization quantization = read(R"({"quant_method": "compressed-tensors",
    "format": "pack-quantized", "ignore": ["model.layers.3.mlp"], "config_groups": {"a": {"targets":
    ["Linear"], "weights": {"num_bits": 4, "type": "int"}}}})");
  EXPECT_NE(quantization.scheme_of(kModule), nullptr);
  EXPECT_EQ(quantization.scheme_of("model.layers.3.mlp"), nullptr);
}

TEST(QuantizationConfig, GptqOverridesKeepWhatTheyDoNotName) {
  const Quantization quantization = read(R"({"quant_method": "gptq", "bits": 4, "group_size": 128,
    "desc_act": true, "lm_head": true, "modules_in_block_to_quantize": [["mlp.down_proj"]],
    "dynamic": {"a": {"static_groups": false}}})");
  EXPECT_TRUE(quantization.scheme_of("a")->act_order);
  EXPECT_NE(quantization.scheme_of("lm_head"), nullptr);
}

// Python's json writes them as bare words.
TEST(QuantizationConfig, PythonsConstants) {
  const std::string text = R"({"a": Infinity, "b": [-Infinity, NaN], "c": "NaN \" Infinity",
    "quantization_config": {"quant_method": "fp8"}})";
  EXPECT_EQ(read_texts({{}, text, {}, {}}).method(), "fp8");
  EXPECT_THROW(read_texts({{}, R"({"a": Infinit})", {}, {}}), Error);
}

}  // namespace
}  // namespace heddle
