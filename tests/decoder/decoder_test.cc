// The host side of examples/decoder: what it launches, in which order, and what it refuses.
#include "tests/decoder/fake_decoder.h"

namespace heddle::testing {
namespace {

// The operations of launches, by the names of their kernels.
std::vector<std::string> operations(const std::vector<fake::Launch>& launches, bool captured) {
  std::vector<std::string> names;
  for (const fake::Launch& launch : launches) {
    if (launch.captured != captured) continue;
    for (const char* op : {"row", "gemm", "kv_append", "decode_attention", "moe"}) {
      if (launch.kernel.rfind(std::string("heddle_") + op, 0) != 0) continue;
      const bool is_phase = names.size() > 0 && names.back() == "moe" && op == names.back();
      if (!is_phase) names.emplace_back(op);  // experts are one operation of several launches
    }
  }
  return names;
}

void append_layer(std::vector<std::string>* to) {
  for (const char* op :
       {"gemm", "kv_append", "decode_attention", "gemm", "row", "gemm", "gemm", "row"}) {
    to->emplace_back(op);
  }
}

TEST_F(FakeDecoder, AStepIsOneGraph) {
  const ::Model model = open(small_llama(), "int8:head", 3);
  Decoder decoder(runtime(), model, 64, stream_->get());
  std::vector<std::string> expected = {"row"};
  append_layer(&expected);
  append_layer(&expected);
  expected.emplace_back("gemm");
  EXPECT_EQ(operations(fake::launches(), true), expected);
  EXPECT_EQ(operations(fake::launches(), false), std::vector<std::string>());
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(decoder.step({1, 2, 3}).size(), 3U * 96);
    EXPECT_EQ(fake::count("cuGraphLaunch"), i);
  }
  EXPECT_EQ(operations(fake::launches(), false), std::vector<std::string>());
}

// The router's gemm, then experts, in place of two matrices.
TEST_F(FakeDecoder, ExpertsStandBehindTheirRouter) {
  for (const SmallModel& small : {small_mixtral(), small_qwen3_moe(), small_gpt_oss()}) {
    const ::Model model = open(small, "int8:head", 3);
    const std::size_t before = fake::launches().size();
    Decoder decoder(runtime(), model, 64, stream_->get());
    std::vector<fake::Launch> launches = fake::launches();
    launches.erase(launches.begin(), launches.begin() + static_cast<std::ptrdiff_t>(before));
    std::vector<std::string> expected;
    for (int layer = 0; layer < 2; ++layer) {
      for (const char* op :
           {"row", "gemm", "kv_append", "decode_attention", "gemm", "row", "gemm", "moe"}) {
        expected.emplace_back(op);
      }
    }
    expected.insert(expected.end(), {"row", "gemm"});
    EXPECT_EQ(operations(launches, true), expected);
    decoder.read_prompts(ragged_prompts());
    EXPECT_EQ(decoder.step({1, 2, 3}).size(), 3U * 96);
  }
}

// Windows, sinks and biases are the specs' of the layers that have them.
TEST_F(FakeDecoder, LayersOfGptOssTakeTurns) {
  const ::Model model = open(small_gpt_oss(), "int8:head", 3);
  ASSERT_EQ(model.attentions.size(), 2U);
  EXPECT_EQ(model.attention(0).attend.decode_attention().window, 8);
  EXPECT_EQ(model.attention(0).attend_chunk.decode_attention().window, 8);
  EXPECT_EQ(model.attention(1).attend.decode_attention().window, 0);
  for (int layer = 0; layer < 2; ++layer) {
    EXPECT_TRUE(model.attention(layer).attend.decode_attention().sink_logits);
    for (const Matrix matrix : {kQkv, kO, kRouter}) {
      EXPECT_TRUE(model.linear(layer, matrix).gemm().epilogue.bias);
    }
    EXPECT_TRUE(model.experts(layer).moe().epilogue.bias);
  }
}

// A layer that the config has without experts is dense, with a width of its own.
TEST_F(FakeDecoder, SomeLayersMayBeDense) {
  const SmallModel dense = small_qwen3(false);
  SmallModel small = small_qwen3_moe();
  const std::string at = "model.layers.0.mlp.";
  const auto is_of_mlp = [&](const TestTensor& tensor) { return tensor.name.rfind(at, 0) == 0; };
  small.tensors.erase(std::remove_if(small.tensors.begin(), small.tensors.end(), is_of_mlp),
                      small.tensors.end());
  std::copy_if(dense.tensors.begin(), dense.tensors.end(), std::back_inserter(small.tensors),
               is_of_mlp);
  const std::string none = "\"mlp_only_layers\": []";
  const std::string inner = "\"intermediate_size\": 64";
  small.config.replace(small.config.find(none), none.size(), "\"mlp_only_layers\": [0]");
  small.config.replace(small.config.find(inner), inner.size(), "\"intermediate_size\": 256");
  const ::Model model = open(small, "int8:head", 3);
  EXPECT_FALSE(model.has_experts(0));
  EXPECT_TRUE(model.has_experts(1));
  EXPECT_EQ(model.inner(0), 256);
  Decoder decoder(runtime(), model, 64, stream_->get());
  EXPECT_EQ(
      operations(fake::launches(), true),
      (std::vector<std::string>{"row", "gemm", "kv_append", "decode_attention", "gemm", "row",
                                "gemm", "gemm", "row", "gemm", "kv_append", "decode_attention",
                                "gemm", "row", "gemm", "moe", "row", "gemm"}));
}

// As without weights, of the config alone.
TEST_F(FakeDecoder, AConfigHasTheSameSpecsOfExperts) {
  for (const SmallModel& small : {small_mixtral(), small_gpt_oss()}) {
    const auto specs_of = [](const ::Model& model) {
      std::vector<std::string> specs;
      for (const Spec& spec : model.specs()) {
        if (spec.op() == Op::kMoe) specs.push_back(spec.canonical_json());
      }
      return specs;
    };
    const TemporaryFolder config;
    write_file(config / "config.json", small.config);
    const std::vector<std::string> specs = specs_of(::Model(config.path(), "int8:head", 3));
    EXPECT_EQ(specs.size(), 1U);
    EXPECT_EQ(specs, specs_of(open(small, "int8:head", 3)));
  }
}

TEST_F(FakeDecoder, LmHeadMayBeQuantised) {
  const ::Model model = open(small_llama(true), "int8:head", 3);
  EXPECT_EQ(model.head.gemm().weight.bits, 4);
  EXPECT_EQ(model.head.gemm().output_dtype(), DType::kFp32);
  Decoder decoder(runtime(), model, 64, stream_->get());
  EXPECT_EQ(operations(fake::launches(), true).size(), 18U);
}

// Up to the keys and values of the last layer, twice for the longest prompt's twelve tokens.
TEST_F(FakeDecoder, PromptsGoThroughTheLayersInChunks) {
  const ::Model model = open(small_qwen3(true), "int8:head", 3);
  Decoder decoder(runtime(), model, 64, stream_->get());
  std::vector<std::string> chunk = {"row"};
  append_layer(&chunk);
  chunk.emplace_back("gemm");
  chunk.emplace_back("kv_append");
  std::vector<std::string> expected = chunk;
  expected.insert(expected.end(), chunk.begin(), chunk.end());
  decoder.read_prompts(ragged_prompts());
  EXPECT_EQ(operations(fake::launches(), false), expected);
  decoder.read_prompts({{1}, {2}, {3}});
  EXPECT_EQ(operations(fake::launches(), false), expected) << "one token is for step() alone";
}

TEST_F(FakeDecoder, RefusesTokensAndLengths) {
  const ::Model model = open(small_llama(), "fp16", 1);
  Decoder decoder(runtime(), model, 4, stream_->get());
  EXPECT_THROW(decoder.step({96}), std::runtime_error);
  EXPECT_THROW(decoder.step({-1}), std::runtime_error);
  EXPECT_THROW(decoder.step({1, 2}), std::runtime_error);
  EXPECT_THROW(decoder.read_prompts({{1}, {2}}), std::runtime_error);
  EXPECT_THROW(decoder.read_prompts({{1, 2, 3, 4, 5}}), std::runtime_error);
  decoder.read_prompts({{1, 2, 3}});
  decoder.step({3});
  decoder.step({3});
  EXPECT_THROW(decoder.step({3}), std::runtime_error) << "the fifth token has no page";
}

// What the launches would need and the example does not have.
TEST_F(FakeDecoder, RefusesScalesThatAreGiven) {
  const ::Model model = open(small_llama(), "fp8_e4m3", 1);
  EXPECT_EQ(code_of([&] { Decoder(runtime(), model, 4, stream_->get()); }), "launch.missing");
}

TEST_F(FakeDecoder, RefusesTensorsOfAnotherType) {
  const auto with_bf16 = [](const std::string& name) {
    SmallModel small = small_llama();
    for (TestTensor& tensor : small.tensors) {
      if (tensor.name == name) tensor.type = TensorType::kBf16;
    }
    return small;
  };
  for (const std::string name : {"model.norm.weight", "model.embed_tokens.weight"}) {
    const ::Model model = open(with_bf16(name), "int8:head", 1);
    try {
      const Decoder decoder(runtime(), model, 4, stream_->get());
      FAIL() << name;
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()).rfind(name + " has another type", 0), 0U) << error.what();
    }
  }
  EXPECT_EQ(code_of([&] { open(with_bf16("lm_head.weight"), "int8:head", 1); }),
            "checkpoint.not_converted");
}

// Numbers of eight bytes are larger than what they would be read into.
TEST_F(FakeDecoder, RefusesSinksOfAnotherType) {
  for (const TensorType type : {TensorType::kI64, TensorType::kF64, TensorType::kI32}) {
    SmallModel small = small_gpt_oss();
    for (TestTensor& tensor : small.tensors) {
      if (tensor.name != "model.layers.1.self_attn.sinks") continue;
      tensor.type = type;
      tensor.bytes.assign(tensor.shape.at(0) * bytes_of(type), 0xFF);
    }
    const ::Model model = open(small, "int8:head", 1);
    try {
      const Decoder decoder(runtime(), model, 4, stream_->get());
      FAIL() << "was accepted";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), "model.layers.1.self_attn.sinks is " + std::string(to_string(type)) +
                                  "; served are F16, BF16 and F32");
    }
  }
}

// What the example says when the config has other text.
std::string refusal_of(const std::string& from, const std::string& to,
                       const TemporaryFolder& folder) {
  SmallModel small = small_llama();
  small.config.replace(small.config.find(from), from.size(), to);
  small.write(folder);
  try {
    static_cast<void>(::Model(folder.path(), "int8:head", 1).specs());
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

TEST_F(FakeDecoder, RefusesOtherModels) {
  const struct {
    const char *from, *to, *says;
  } cases[] = {
      {"\"llama\"", "\"gemma2\"", "the model type is \"gemma2\""},
      {"\"llama3\"", "\"dynamic\"", "rotations"},
  };
  for (const auto& wrong : cases) {
    const std::string what = refusal_of(wrong.from, wrong.to, folder_);
    EXPECT_NE(what.find(wrong.says), std::string::npos) << wrong.to << ": " << what;
  }
  EXPECT_THROW(open(small_llama(), "int8:head", 0), std::runtime_error);
  EXPECT_THROW(open(small_llama(), "int8:head", 65), std::runtime_error);
  EXPECT_EQ(code_of([&] { open(small_llama(), "int8:", 1); }), "kv.words");
}

// The table of families has none for models that are dense.
TEST_F(FakeDecoder, RefusesARouterThatItDoesNotKnow) {
  const ::Model model = open(small_llama(), "int8:head", 1);
  try {
    model.name_of_matrix(1, kRouter);
    FAIL() << "was accepted";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(
        error.what(),
        "model.layers.1 has experts; of the type \"llama\" only dense layers are served, and "
        "experts of mixtral, qwen3_moe, gpt_oss");
  }
}

// Buffers have the sides that the config says: matrices of other sides would give wrong tokens.
TEST_F(FakeDecoder, RefusesSidesThatContradictTheConfig) {
  for (const auto& [from, to] :
       {std::pair("\"num_attention_heads\": 4", "\"num_attention_heads\": 8"),
        std::pair("\"head_dim\": 64", "\"head_dim\": 96")}) {
    EXPECT_EQ(refusal_of(from, to, folder_),
              "model.layers.0.self_attn.qkv_proj makes 512 columns of 128; by config.json it makes "
              "768 of 128");
  }
}

// No kernel of experts takes factors of columns.
TEST_F(FakeDecoder, RefusesExpertsWithoutAKernel) {
  SmallModel small = small_mixtral();
  for (int expert = 0; expert < 8; ++expert) {
    small.tensors.push_back({"model.layers.0.block_sparse_moe.experts." + std::to_string(expert) +
                                 ".w2.pre_quant_scale",
                             TensorType::kF16,
                             {64},
                             std::vector<std::uint8_t>(128, 0x3C)});
  }
  const ::Model model = open(small, "int8:head", 1);
  try {
    static_cast<void>(model.specs());
    FAIL() << "was accepted";
  } catch (const std::runtime_error& error) {
    const std::string what = error.what();
    EXPECT_EQ(what.rfind("model.layers.0.block_sparse_moe.experts", 0), 0U) << what;
    EXPECT_NE(what.find("has no kernel: columns of X have factors"), std::string::npos) << what;
  }
}

TEST_F(FakeDecoder, RefusesALayerWithoutOneMatrix) {
  SmallModel lacking = small_llama();
  for (TestTensor& tensor : lacking.tensors) {
    const std::string part = "layers.1.self_attn.k_proj";
    const std::size_t at = tensor.name.find(part);
    if (at != std::string::npos) tensor.name.replace(at, part.size(), "layers.1.other.k_proj");
  }
  const ::Model model = open(lacking, "int8:head", 1);
  EXPECT_EQ(code_of([&] { model.specs(); }), "checkpoint.no_layer");
}

}  // namespace
}  // namespace heddle::testing
