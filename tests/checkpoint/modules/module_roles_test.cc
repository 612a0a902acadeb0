// What a module is for, by its name: only linear layers become GEMMs.
#include "checkpoint/modules/module_roles.h"

#include <algorithm>

#include "checkpoint/checkpoint_model.h"
#include "checkpoint/modules/config_files.h"
#include "checkpoint/output/convert.h"
#include "heddle/model.h"
#include "tests/checkpoint/plain_cases.h"

namespace heddle {
namespace {

using Strings = std::vector<std::string>;
constexpr const char* kTied = R"(, "tie_word_embeddings": true)";
// Codes of four bits in groups of 32; `targets` of the one group.
std::string packed_config(const std::string& targets = R"("Linear", "Embedding")") {
  return R"(, "quantization_config": {"quant_method": "compressed-tensors",
            "format": "pack-quantized", "ignore": ["lm_head"], "config_groups": {"group_0": {
            "targets": [)" +
         targets + R"(], "weights": {"num_bits": 4, "type": "int", "strategy": "group",
                                     "group_size": 32, "symmetric": false}}}})";
}

class ModuleRolesTest : public PlainCase {
 protected:
  CheckpointConfig config() const {
    return read_checkpoint_config(read_config_files(folder_ / "config.json"), {});
  }
  Model model(const PackOptions& options = {}) const {
    return model_of_checkpoint(Checkpoint(folder_.path()), config(), options);
  }
  static const ModelLayer* row_of(const Model& model, const std::string& name) {
    const auto found = std::find_if(model.layers.begin(), model.layers.end(),
                                    [&](const ModelLayer& layer) { return layer.name == name; });
    return found == model.layers.end() ? nullptr : &*found;
  }
  Layer add_packed(const std::string& module, std::size_t n, std::size_t k) {
    Layer layer = random_layer(n, k, 32, 4, false, static_cast<unsigned>(n + k));
    append(compressed(layer, module), &tensors_);
    return layer;
  }
  static std::string joined(const Strings& notes) {
    std::string text;
    for (const std::string& note : notes) text += note + '\n';
    return text;
  }
};

TEST_F(ModuleRolesTest, ANameTellsTheRole) {
  const struct {
    const char* module;
    ModuleRole role;
  } rows[] = {{"model.embed_tokens", ModuleRole::kEmbedding},
              {"model.language_model.embed_tokens_per_layer", ModuleRole::kEmbedding},
              {"transformer.wte", ModuleRole::kEmbedding},
              {"transformer.wpe", ModuleRole::kEmbedding},
              {"embeddings.token_type_embeddings", ModuleRole::kEmbedding},
              {"visual.pos_embed", ModuleRole::kEmbedding},
              {"vision_tower.patch_embedder.position_embedding_table", ModuleRole::kEmbedding},
              {"lm_head", ModuleRole::kLinear},
              {"model.layers.0.self_attn.q_proj", ModuleRole::kLinear},
              {"model.layers.7.mlp.experts.3.down_proj", ModuleRole::kLinear},
              {"model.layers.7.mlp.gate", ModuleRole::kLinear},
              {"model.layers.7.mlp.experts.gate_up_proj", ModuleRole::kLinear},
              {"model.layers.0.self_attn.q_norm", ModuleRole::kNorm},
              {"model.layers.0.input_layernorm", ModuleRole::kNorm},
              {"transformer.ln_f", ModuleRole::kNorm},
              {"model.layers.0.self_attn.k_scale", ModuleRole::kCacheScale},
              {"model.layers.0.self_attn.v_proj.v_scale", ModuleRole::kCacheScale},
              {"model.layers.0.self_attn.v_proj.output_scale", ModuleRole::kCacheScale},
              {"model.layers.0.self_attn.prob_output_scale", ModuleRole::kCacheScale},
              {"model.layers.0.self_attn.k_zero_point", ModuleRole::kCacheScale},
              {"model.layers.0.self_attn.k_proj.kv_cache_scale", ModuleRole::kCacheScale},
              {"model.layers.0.self_attn.k_bmm_quantizer._amax", ModuleRole::kCacheScale},
              {"model.layers.0.mlp.up_proj.output_scale", ModuleRole::kUnknown},
              {"model.layers.0.linear_attn.conv1d", ModuleRole::kConvolution},
              {"visual.patch_embed.proj", ModuleRole::kConvolution},
              {"model.layers.0.self_attn.q_proj.lora_A", ModuleRole::kAdapter},
              {"base.q_proj.lora_B.default", ModuleRole::kAdapter},
              {"visual.blocks.0.attn.qkv", ModuleRole::kTowerOrExtra},
              {"multi_modal_projector.linear_1", ModuleRole::kTowerOrExtra},
              {"model.layers.0.mystery", ModuleRole::kUnknown}};
  for (const auto& row : rows) {
    EXPECT_EQ(role_of_module(CheckpointConfig(), row.module), row.role) << row.module;
  }
}

// The family's row goes before names that models share.
TEST_F(ModuleRolesTest, AFamilyKnowsItsModules) {
  write("", "gpt_neox");
  EXPECT_EQ(role_of_module(config(), "embed_out"), ModuleRole::kLinear);
  EXPECT_EQ(role_of_module(config(), "gpt_neox.embed_in"), ModuleRole::kEmbedding);
  write("", "qwen3_next");
  EXPECT_EQ(role_of_module(config(), "model.layers.0.linear_attn.conv1d"),
            ModuleRole::kConvolution);
  EXPECT_EQ(role_of_module(config(), "model.layers.0.linear_attn.in_proj_ba"), ModuleRole::kLinear);
}

TEST_F(ModuleRolesTest, AQuantisedTableIsNoGemm) {
  const Layer table = add_packed("model.embed_tokens", 96, 64);
  add_packed(std::string(kLayer) + "mlp.down_proj", 64, 96);
  write(packed_config(), "llama", "float16");
  const CheckpointReader reader = open({});
  EXPECT_EQ(names_of(reader), Strings{std::string(kLayer) + "mlp.down_proj"});
  ASSERT_EQ(reader.unserved().size(), 1U);
  EXPECT_EQ(reader.unserved()[0].name, "model.embed_tokens");
  EXPECT_NE(reader.unserved()[0].reason.find("table of embeddings"), std::string::npos);
  for (const char* part : {".weight_packed", ".weight_scale", ".weight_shape"}) {
    EXPECT_TRUE(has_tensor(reader, std::string("model.embed_tokens") + part)) << part;
  }
  const Model made = model();
  ASSERT_NE(row_of(made, "embed_tokens"), nullptr);
  EXPECT_LT(row_of(made, "embed_tokens")->kernel, 0);
  ASSERT_EQ(made.unserved.size(), 1U);
  CheckpointOptions kept;
  kept.choice.keep = {"model.embed_tokens"};
  EXPECT_TRUE(open(kept).unserved().empty());

  const std::string plain = folder_ / "plain.out";
  dequantize_checkpoint(Checkpoint(folder_.path()), config(), plain, {});
  std::vector<std::uint16_t> values;
  for (std::size_t row = 0; row < table.n; ++row) {
    for (std::size_t k = 0; k < table.k; ++k) values.push_back(table.value(row, k));
  }
  const SafetensorsFile written(plain);
  const auto& tensors = written.header().tensors;
  const auto found = std::find_if(tensors.begin(), tensors.end(), [](const TensorInfo& tensor) {
    return tensor.name == "model.embed_tokens.weight";
  });
  ASSERT_NE(found, tensors.end());
  std::vector<std::uint16_t> read(values.size());
  ASSERT_EQ(found->bytes, read.size() * 2);
  written.read(*found, 0, read.data(), found->bytes);
  EXPECT_EQ(read, values);
}

// Whatever the form of its codes.
TEST_F(ModuleRolesTest, ATableOfBytesIsNoGemmEither) {
  tensors_ = {
      {"model.embed_tokens.weight", TensorType::kF8E4M3, {96, 64}, some_bytes(96 * 64, 0x7F)},
      {"model.embed_tokens.weight_scale", TensorType::kF32, {96, 1}, some_floats(96)},
      {"model.layers.0.mlp.up_proj.weight", TensorType::kF8E4M3, {80, 64}, some_bytes(5120, 0x7F)},
      {"model.layers.0.mlp.up_proj.weight_scale", TensorType::kF32, {80, 1}, some_floats(80)}};
  write();
  EXPECT_EQ(names_of(open({})), Strings{"model.layers.0.mlp.up_proj"});
  ASSERT_EQ(open({}).unserved().size(), 1U);
  // The head has the same rows.
  write(kTied);
  const CheckpointReader tied = open({});
  EXPECT_EQ(names_of(tied), (Strings{"lm_head", "model.layers.0.mlp.up_proj"}));
  CheckpointOptions rank;
  rank.parallel = {1, 2};
  const CheckpointReader tied_rank = open(rank);
  tensors_[0].name = "lm_head.weight";
  tensors_[1].name = "lm_head.weight_scale";
  write();
  const CheckpointReader own = open({});
  EXPECT_EQ(packed(tied, layer_of(tied, "lm_head")), packed(own, layer_of(own, "lm_head")));
  const CheckpointReader own_rank = open(rank);
  EXPECT_EQ(layer_of(tied_rank, "lm_head").spec.gemm().shape.n, 48);
  EXPECT_EQ(layer_of(tied_rank, "lm_head").spec.canonical_json(),
            layer_of(own_rank, "lm_head").spec.canonical_json());
}

TEST_F(ModuleRolesTest, AHeadThatSharesAQuantisedTable) {
  const Layer table = add_packed("model.embed_tokens", 96, 64);
  write(packed_config() + kTied, "llama", "float16");
  const CheckpointReader tied = open({});
  ASSERT_EQ(names_of(tied), Strings{"lm_head"});
  EXPECT_TRUE(has_tensor(tied, "model.embed_tokens.weight_packed")) << "it is looked up, too";
  EXPECT_EQ(tied.unserved().size(), 1U);
  EXPECT_NE(joined(tied.notes()).find("lm_head has the quantised weights of model.embed_tokens"),
            std::string::npos);
  EXPECT_EQ(joined(open(dense()).notes()).find("no lm_head"), std::string::npos);
  CheckpointOptions eight;
  eight.lm_head_bits = 8;
  EXPECT_NE(refusal([&] { open(eight); }).find("quantised already"), std::string::npos);
  CheckpointOptions kept;
  kept.choice.keep = {"lm_head"};
  EXPECT_TRUE(open(kept).layers().empty());
  const std::vector<std::uint8_t> bytes = packed(tied, layer_of(tied, "lm_head"));
  const std::string spec = layer_of(tied, "lm_head").spec.canonical_json();
  const Model made = model();
  ASSERT_EQ(made.kernels.size(), 1U);
  EXPECT_EQ(made.kernels[0].spec.canonical_json(), spec);
  // The config alone says the same.
  const Model of_config = model_from_config(config_);
  const auto head =
      std::find_if(of_config.kernels.begin(), of_config.kernels.end(),
                   [](const ModelKernel& kernel) { return kernel.spec.name() == "lm_head"; });
  ASSERT_NE(head, of_config.kernels.end());
  EXPECT_EQ(head->spec.gemm().weight.bits, 4);
  EXPECT_NE(row_of(of_config, "embed_tokens"), nullptr);

  tensors_.clear();
  append(compressed(table, "lm_head"), &tensors_);
  std::string own = packed_config();
  own.replace(own.find(R"("lm_head")"), 9, "");
  write(own, "llama", "float16");
  const CheckpointReader other = open({});
  EXPECT_EQ(layer_of(other, "lm_head").spec.canonical_json(), spec);
  EXPECT_EQ(packed(other, layer_of(other, "lm_head")), bytes);
}

// A config that names tables says what their codes are.
TEST_F(ModuleRolesTest, ATableHasTheSchemeOfItsClass) {
  append(compressed(random_layer(96, 64, 32, 8, false), "model.embed_tokens"), &tensors_);
  add_packed(std::string(kLayer) + "mlp.down_proj", 64, 96);
  std::string two = packed_config(R"("Linear")");
  two.insert(two.rfind("}}"), R"(, "group_1": {"targets": ["Embedding"], "weights": {
      "num_bits": 8, "type": "int", "strategy": "group", "group_size": 32, "symmetric": false}})");
  write(two, "llama", "float16");
  EXPECT_EQ(open({}).unserved().size(), 1U);
}

TEST_F(ModuleRolesTest, WhatIsNoLayerIsNotListed) {
  add_packed(std::string(kLayer) + "mlp.down_proj", 64, 96);
  const std::string attention = std::string(kLayer) + "self_attn.";
  tensors_.push_back({attention + "k_scale", TensorType::kBf16, {2, 1, 1}, some_bytes(4)});
  tensors_.push_back({attention + "v_scale", TensorType::kBf16, {2, 1, 1}, some_bytes(4)});
  tensors_.push_back({attention + "q_scale", TensorType::kF32, {1}, some_floats(1)});
  // One byte each: these are no codes without their scales.
  tensors_.push_back({attention + "k_zero_point", TensorType::kI8, {2, 1, 1}, some_bytes(2)});
  tensors_.push_back({attention + "v_zero_point", TensorType::kF8E4M3, {2, 1, 1}, some_bytes(2)});
  tensors_.push_back(some_halves(attention + "q_norm.weight", {4, 16}));
  tensors_.push_back(some_halves("visual.pos_embed.weight", {16, 64}));
  tensors_.push_back(some_halves("visual.position_embedding_table", {2, 16, 64}));
  tensors_.push_back(some_halves(attention + "q_proj.lora_A.weight", {8, 64}));
  write(packed_config(), "llama", "float16");
  const Model made = model();
  for (const char* none :
       {"k_scale", "v_scale", "q_norm", "pos_embed", "position_embedding_table"}) {
    EXPECT_EQ(row_of(made, none), nullptr) << none;
  }
  ASSERT_NE(row_of(made, "lora_A"), nullptr);
  EXPECT_NE(row_of(made, "lora_A")->reason.find("adapter"), std::string::npos);
  const CheckpointReader reader = open({});
  for (const TestTensor& tensor : tensors_) {
    if (tensor.name.find("down_proj") != std::string::npos) continue;
    const auto found = std::find_if(reader.tensors().begin(), reader.tensors().end(),
                                    [&](const auto& one) { return one.name == tensor.name; });
    ASSERT_NE(found, reader.tensors().end()) << tensor.name;
    EXPECT_EQ(read_in_pieces(reader, *found), tensor.bytes) << tensor.name;
  }
}

TEST_F(ModuleRolesTest, TheNoteSaysHowManyScalesACacheHas) {
  const std::string cache = R"("kv_cache_scheme": {"num_bits": 8, "type": "float"}, )";
  const struct {
    std::vector<std::int64_t> shape;
    bool config;
    const char* says;
  } cases[] = {{{1},
                true,
                "an FP8 key-value cache (its k_scale and v_scale tensors are copied): heddle "
                "build --kv fp8_e4m3:tensor makes"},
               {{2, 1, 1},
                true,
                "with one scale for each head (its k_scale and v_scale tensors are copied), "
                "and no cache of Heddle takes such scales as given: heddle build --kv "
                "fp8_e4m3:head finds its own"},
               {{2, 1, 16}, true, "with one scale for each channel"},
               {{3}, true, "with several scales for a layer"},
               {{1}, false, "whose type its config does not say"}};
  for (const auto& one : cases) {
    tensors_.clear();
    add_packed(std::string(kLayer) + "mlp.down_proj", 64, 96);
    std::size_t count = 1;
    for (const std::int64_t side : one.shape) count *= static_cast<std::size_t>(side);
    for (const char* name : {"self_attn.k_scale", "self_attn.v_scale"}) {
      tensors_.push_back(
          {std::string(kLayer) + name, TensorType::kF32, one.shape, some_floats(count)});
    }
    std::string quantised = packed_config();
    if (one.config) quantised.insert(quantised.find(R"("ignore")"), cache);
    write(quantised, "llama", "float16");
    const std::string notes = joined(open({}).notes());
    EXPECT_NE(notes.find(one.says), std::string::npos) << notes;
    EXPECT_EQ(notes.find(":tensor") != std::string::npos, count == 1 && one.config) << notes;
    const ConvertReport report =
        dequantize_checkpoint(Checkpoint(folder_.path()), config(), folder_ / "plain.out", {});
    EXPECT_NE(joined(report.notes).find(one.says), std::string::npos);
    EXPECT_EQ(report.copied, 2U);
    std::filesystem::remove(folder_ / "plain.out");
  }
}

// A quantiser that calibrates the cache alone leaves a model of 16 bits.
TEST_F(ModuleRolesTest, AQuantisedCacheAloneIsAPlainModel) {
  const std::string ct = R"("quant_method": "compressed-tensors", "kv_cache_scheme": {
                            "num_bits": 8, "type": "float", "strategy": "tensor"}, )";
  for (const std::string& method :
       {ct + R"("format": "dense", "config_groups": {})", ct + R"("format": "dense")",
        ct + R"("format": "float-quantized", "config_groups": {})",
        std::string(R"("quant_method": "modelopt", "kv_cache_quant_algo": "FP8")"),
        std::string(R"("quant_method": "modelopt", "quant_algo": null,
                       "kv_cache_scheme": {"num_bits": 8, "type": "float"})"),
        std::string(R"("quant_method": "quark", "export": {"kv_cache_group": ["*k_proj"]},
                       "layer_quant_config": {"*k_proj": {"weight": null, "output_tensors": {
                         "dtype": "fp8_e4m3", "qscheme": "per_tensor"}}},
                       "global_quant_config": null)")}) {
    tensors_.clear();
    add_model();
    tensors_.push_back({std::string(kLayer) + "self_attn.k_scale", TensorType::kBf16, {1}, {1, 0}});
    write(R"(, "quantization_config": {)" + method + "}");
    EXPECT_EQ(code_of([&] { open({}); }), "checkpoint.not_quantised") << method;
    const CheckpointReader reader = open(dense());
    EXPECT_EQ(names_of(reader), (Strings{"lm_head", std::string(kLayer) + "mlp.gate_up_proj",
                                         std::string(kLayer) + "self_attn.o_proj",
                                         std::string(kLayer) + "self_attn.qkv_proj"}))
        << method;
    EXPECT_TRUE(has_tensor(reader, std::string(kLayer) + "self_attn.k_scale"));
    EXPECT_NE(joined(reader.notes()).find("--kv fp8_e4m3:tensor"), std::string::npos) << method;
    try {
      model_from_config(config_);
      ADD_FAILURE() << method;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "model.not_quantized") << error.what();
    }
    ModelConfigTexts texts;
    texts.config = config_;
    texts.dense = true;
    EXPECT_EQ(model_from_config(texts).kernels.size(), 5U) << method;
  }
}

TEST_F(ModuleRolesTest, ACodedLayerOfAnUnknownNameIsTold) {
  add_packed("model.layers.0.mystery", 64, 96);
  write(packed_config(), "llama", "float16");
  EXPECT_EQ(open({}).layers().size(), 1U);
  EXPECT_NE(joined(open({}).notes())
                .find("1 layers such as model.layers.0.mystery have names that "
                      "Heddle does not know"),
            std::string::npos);
  tensors_.clear();
  add_packed(std::string(kLayer) + "mlp.down_proj", 64, 96);
  add_packed("visual.blocks.0.mlp.fc1", 64, 96);
  write(packed_config(), "llama", "float16");
  EXPECT_EQ(joined(open({}).notes()).find("does not know"), std::string::npos);
}

// A convolution is one whatever the sides of its tensor.
TEST_F(ModuleRolesTest, AConvolutionOfThreeSidesIsNoStackOfExperts) {
  const std::string conv = "model.layers.0.linear_attn.conv1d";
  tensors_ = {{conv + ".weight", TensorType::kF8E4M3, {64, 32, 64}, some_bytes(131072, 0x7F)},
              {conv + ".weight_scale", TensorType::kF32, {64, 1, 1}, some_floats(64)}};
  write("", "qwen3_next");
  const CheckpointReader reader = open({});
  EXPECT_TRUE(reader.layers().empty());
  ASSERT_EQ(reader.unserved().size(), 1U);
  EXPECT_EQ(reader.unserved()[0].reason, "it is a convolution");
  dequantize_checkpoint(Checkpoint(folder_.path()), config(), folder_ / "plain.out", {});
  const SafetensorsFile written(folder_ / "plain.out");
  EXPECT_EQ(written.header().tensors.at(0).shape, (std::vector<std::int64_t>{64, 32, 64}));
}

}  // namespace
}  // namespace heddle
