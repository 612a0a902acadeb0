// model_size() of a config, against the checkpoint that was packed, the cache's layout and the
// workspaces that launches are checked against.
#include "heddle/model_size.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "checkpoint/checkpoint_model.h"
#include "checkpoint/config_files.h"
#include "checkpoint/convert.h"
#include "heddle/error.h"
#include "heddle/kv_cache.h"
#include "runtime/gemm_launch.h"
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

}  // namespace
}  // namespace heddle
