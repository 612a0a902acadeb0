// model_size() of a config, against the checkpoint that was packed, the cache's layout and the
// workspaces that launches are checked against.
#include "heddle/model_size.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "checkpoint/checkpoint_model.h"
#include "checkpoint/modules/config_files.h"
#include "checkpoint/output/convert.h"
#include "heddle/error.h"
#include "heddle/kv_cache.h"
#include "runtime/launch/gemm_launch.h"
#include "tests/decoder/small_model.h"

namespace heddle {
namespace {

struct SizeCase {
  const char* name;
  SmallModel model;
  bool gated = false;
  bool dense = false;
  int lm_head_bits = 0;
};

void PrintTo(const SizeCase& one, std::ostream* out) { *out << one.name; }

std::vector<SizeCase> size_cases() {
  std::vector<SizeCase> cases = {
      {"Awq", small_llama()},
      {"AwqGated", small_llama(), true},
      {"AwqDense", small_llama(), true, true},
      {"AwqHead", small_llama(), false, false, 8},
      {"GptqHead", small_llama(true), true, true},
      {"Tied", small_qwen3(false)},
      {"TiedDense", small_qwen3(false), false, true},
      {"TiedHead", small_qwen3(false), false, false, 4},
      {"ActOrder", small_qwen3(true), false, true},
  };
  for (const auto& [name, kind] : std::vector<std::pair<const char*, EightBits>>{
           {"Int8", EightBits::kInt8},
           {"Int8Zeros", EightBits::kInt8Zeros},
           {"Fp8", EightBits::kFp8},
           {"Fp8Static", EightBits::kFp8Static},
           {"Fp8Blocks", EightBits::kFp8Blocks},
           {"Fp8PowerBlocks", EightBits::kFp8PowerBlocks}}) {
    cases.push_back({name, small_eight_bits(kind), true, true});
  }
  return cases;
}

Model model_of(const SizeCase& one) {
  ModelConfigTexts texts;
  texts.config = one.model.config;
  texts.gated = one.gated;
  texts.dense = one.dense;
  texts.lm_head_bits = one.lm_head_bits;
  return model_from_config(texts);
}

// What `heddle repack` writes, and the model of its tensors with the facts of the config.
struct Packed {
  std::uint64_t bytes = 0;
  Model model;
};

Packed packed(const SizeCase& one) {
  const TemporaryFolder folder;
  one.model.write(folder);
  ConvertOptions options;
  options.pack.gated = one.gated;
  options.pack.dense = one.dense;
  options.pack.lm_head_bits = one.lm_head_bits;
  const std::string output = folder / "packed.safetensors";
  const Checkpoint checkpoint(folder.path());
  const CheckpointConfig config =
      read_checkpoint_config(read_config_files(folder / "config.json"), {});
  repack_checkpoint(checkpoint, config, output, options);
  Model model = model_of(one);
  Model of_tensors = model_of_checkpoint(checkpoint, config, options.pack);
  model.kernels = std::move(of_tensors.kernels);
  model.layers = std::move(of_tensors.layers);
  return {Checkpoint(output).bytes(), std::move(model)};
}

class ModelSizeTest : public ::testing::TestWithParam<SizeCase> {};

TEST_P(ModelSizeTest, WeightsAreThoseOfThePackedCheckpoint) {
  const Packed all = packed(GetParam());
  std::vector<Model> models = {all.model};
  // A config cannot tell that scales are FP32 where activations are not.
  const bool tells = std::string(GetParam().name).rfind("Int8", 0) != 0;
  if (tells) models.push_back(model_of(GetParam()));
  for (const Model& model : models) {
    const ModelSize size = model_size(model, {}, target_from_name("h200"), {3, 100});
    EXPECT_EQ(size.weight_bytes, all.bytes);
    EXPECT_TRUE(size.uncounted.empty()) << size.uncounted.front().name;
    EXPECT_EQ(size.bytes, size.weight_bytes + size.workspace_bytes);
  }
}

TEST_P(ModelSizeTest, TheWorkspaceIsTheMostOfAnyLaunch) {
  const Model model = model_of(GetParam());
  for (const char* name : {"h200", "a100"}) {
    const Target target = target_from_name(name);
    for (const std::int64_t sequences : {1, 8, 64}) {
      const ModelSize size = model_size(model, {}, target, {sequences, 1});
      if (!size.uncounted.empty()) continue;  // FP8 on an A100
      std::size_t most = 0;
      for (const ModelKernel& kernel : model.kernels) {
        const Plan plan = resolve(kernel.spec, target);
        for (std::int64_t m = 1; m <= sequences; ++m) {
          most = std::max(most, gemm_workspace_bytes(plan, m));
        }
      }
      EXPECT_EQ(size.workspace_bytes, most) << name << " " << sequences;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Small, ModelSizeTest, ::testing::ValuesIn(size_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ModelSize, CachesHaveWholePagesWithTheirScales) {
  const SmallModel small = small_llama();
  const Target target = target_from_name("h200");
  for (const char* kv :
       {R"({"dtype": "int8", "granularity": "head"})", R"({"dtype": "fp16"})",
        R"({"dtype": "int8", "granularity": "token", "page_size": 16})",
        R"({"dtype": "int4", "granularity": "group", "group_size": 32, "symmetric": false})",
        R"({"k": {"dtype": "int4", "granularity": "channel", "group_size": 128},
            "v": {"dtype": "int4"}, "page_size": 128})",
        R"({"dtype": "int8", "layout": "contiguous"})"}) {
    SCOPED_TRACE(kv);
    const Model cache = cache_model_from_config(small.config, kv);
    const ModelSize size = model_size({}, cache, target, {3, 100});
    const Spec& append = cache.kernels[0].spec;
    const bool paged = append.kv().layout == KvLayout::kPaged;
    const int page = paged ? append.kv().page_size : 100;
    const std::int64_t pages = paged ? 3 * ((100 + page - 1) / page) : 3;
    const KvCacheLayout layout = kv_cache_layout(append.kv(), 2, 64);
    const std::size_t one = layout.k.code_bytes(pages, page) + layout.k.scale_bytes(pages, page) +
                            layout.v.code_bytes(pages, page) + layout.v.scale_bytes(pages, page) +
                            layout.k.residual_bytes(3);
    EXPECT_EQ(size.cache_bytes, 2 * one);
    ASSERT_EQ(size.caches.size(), 1U);
    EXPECT_EQ(size.caches[0].count, 2);
    EXPECT_EQ(size.caches[0].each_in_window, one);
    EXPECT_EQ(size.workspace_bytes, resolve(cache.kernels[1].spec, target).max_workspace_bytes());
    EXPECT_EQ(size.weight_bytes, 0U);
  }
}

TEST(ModelSize, RefusesLoadsThatNoKernelTakes) {
  for (const ModelLoad load : {ModelLoad{0, 1}, {1025, 1}, {1, 0}, {1, (1 << 30) + 1}}) {
    try {
      model_size({}, {}, target_from_name("h200"), load);
      ADD_FAILURE() << load.sequences << " " << load.context;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "model.load");
    }
  }
}

std::string refusal_of(const std::string& config, const std::string& kv, const ModelLoad& load,
                       const char* code = "model.load") {
  try {
    ModelConfigTexts texts;
    texts.config = config;
    texts.plain_too = true;
    const Model cache = kv.empty() ? Model() : cache_model_from_config(config, kv);
    const ModelSize size =
        model_size(model_from_config(texts), cache, target_from_name("h200"), load);
    return std::to_string(size.bytes) + " bytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
}

TEST(ModelSize, RefusesWhatHasMoreBytesThanANumberHolds) {
  const std::string deep = R"({"model_type": "llama", "torch_dtype": "bfloat16",
      "hidden_size": 32768, "intermediate_size": 128, "num_hidden_layers": 4096, "vocab_size": 128,
      "num_attention_heads": 128, "num_key_value_heads": 128, "rms_norm_eps": 1e-5})";
  const ModelLoad most = {1024, std::int64_t{1} << 30};
  // Such a cache is more than attention takes before its bytes are more than a number holds.
  for (const char* const kv : {R"({"dtype": "bf16"})", R"({"dtype": "int8"})"}) {
    EXPECT_NE(refusal_of(deep, kv, most, "launch.size"), "");
  }
  EXPECT_NE(refusal_of(deep, "", most).find(" bytes"), std::string::npos);
  // 2^14 experts of 2^18 x 2^18 elements in every layer.
  const std::string wide = R"({"model_type": "mixtral", "torch_dtype": "bfloat16",
      "hidden_size": 262144, "intermediate_size": 262144, "num_hidden_layers": 4096,
      "vocab_size": 128, "num_attention_heads": 1024, "num_key_value_heads": 8,
      "num_local_experts": 16384, "num_experts_per_tok": 2, "rms_norm_eps": 1e-5})";
  EXPECT_NE(refusal_of(wide, "", {1, 1}).find("2^63"), std::string::npos);
}

TEST(ModelSize, OnlyPagesCanBeGivenUpBehindAWindow) {
  const std::string config = R"({"model_type": "mistral", "torch_dtype": "bfloat16",
      "hidden_size": 256, "intermediate_size": 640, "num_hidden_layers": 2, "vocab_size": 128,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "sliding_window": 128,
      "rms_norm_eps": 1e-5})";
  const auto size_with = [&](const char* kv) {
    return model_size({}, cache_model_from_config(config, kv), target_from_name("h200"), {1, 4096});
  };
  const auto says = [](const ModelSize& size, const char* part) {
    return std::any_of(size.assumptions.begin(), size.assumptions.end(),
                       [&](const std::string& what) { return what.find(part) != what.npos; });
  };
  const ModelSize paged = size_with(R"({"dtype": "int8"})");
  EXPECT_LT(paged.caches.at(0).each_in_window, paged.caches.at(0).each);
  EXPECT_TRUE(says(paged, "block table"));
  const ModelSize contiguous = size_with(R"({"dtype": "int8", "layout": "contiguous"})");
  EXPECT_EQ(contiguous.caches.at(0).each_in_window, contiguous.caches.at(0).each);
  EXPECT_FALSE(says(contiguous, "block table"));
  EXPECT_TRUE(says(contiguous, "a contiguous cache holds all tokens"));
}

}  // namespace
}  // namespace heddle
