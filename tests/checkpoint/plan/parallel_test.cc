// Ranks of tensor parallelism: together they have every row and column once, where the layer is
// split.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <string>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/output/convert.h"
#include "generator/layout/groups.h"
#include "heddle/error.h"
#include "heddle/spec.h"
#include "heddle/weights.h"
#include "tests/checkpoint/quantised_formats.h"

namespace heddle {
namespace {

constexpr std::size_t kGroup = 128;

class ParallelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    config_ = config_of(Storage::kGptq, 4, kGroup, true);
    config_.model_type = "llama";
    config_.heads = 8;
    config_.kv_heads = 2;
  }

  const Layer& add(const std::string& name, std::size_t n, std::size_t k, bool act_order = false) {
    Layer layer = random_layer(n, k, kGroup, 4, act_order, static_cast<unsigned>(layers_.size()));
    for (TestTensor& one : gptq(layer, name, true)) tensors_.push_back(std::move(one));
    return layers_.emplace_back(std::move(layer));
  }
  void add_values(const std::string& name, std::size_t count) {
    std::vector<std::uint16_t> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint16_t>(1 + i);
    tensors_.push_back({name, TensorType::kF16, {std::ssize(values)}, bytes_of_values(values)});
  }

  ConvertReport repack(std::int64_t rank, std::int64_t size, bool fuse = true) {
    write_tensors(folder_ / "a.safetensors", tensors_);
    ConvertOptions options;
    options.pack.fuse = fuse;
    options.pack.parallel = {rank, size};
    return repack_checkpoint(Checkpoint(folder_ / "a.safetensors"), config_,
                             folder_ / "b.safetensors", options);
  }
  GemmSpec spec(const std::string& layer) {
    const SafetensorsFile file(folder_ / "b.safetensors");
    return Spec::parse(file.header().metadata.at(layer + ".heddle")).gemm();
  }
  std::vector<std::uint16_t> values(const std::string& name) {
    const std::vector<std::uint8_t> bytes = Checkpoint(folder_ / "b.safetensors").read(name);
    std::vector<std::uint16_t> values(bytes.size() / 2);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  // Row r of what was written is row rows[r] of `layer`, from column `first` on.
  void expect_part(const std::string& name, const Layer& layer,
                   const std::vector<std::size_t>& rows, std::size_t first,
                   std::size_t offset_in_output = 0) {
    const GemmSpec gemm = spec(name);
    const std::vector<std::uint8_t> bytes =
        Checkpoint(folder_ / "b.safetensors").read(name + ".heddle");
    const QuantizedWeights got = unpack_weights(gemm, bytes.data(), bytes.size());
    const auto k = static_cast<std::size_t>(gemm.shape.k);
    const auto groups = static_cast<std::size_t>(groups_along_k(gemm.weight, gemm.shape.k));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t c = 0; c < k; ++c) {
        const std::size_t at = r + offset_in_output;
        const auto group =
            static_cast<std::size_t>(group_of_column(gemm.weight, static_cast<std::int64_t>(c)));
        const std::size_t meta = rows[r] * layer.groups() + (first + c) / kGroup;
        std::uint16_t scale = 0;
        std::memcpy(&scale, &got.scales[2 * (at * groups + group)], 2);
        ASSERT_EQ(got.codes[at * k + c], layer.codes[rows[r] * layer.k + first + c])
            << r << " " << c;
        ASSERT_EQ(scale, layer.scales[meta]) << r << " " << c;
        ASSERT_EQ(got.zeros[at * groups + group], layer.zeros[meta]) << r << " " << c;
      }
    }
  }

  TemporaryFolder folder_;
  CheckpointConfig config_;
  std::vector<TestTensor> tensors_;
  std::deque<Layer> layers_;
};

std::vector<std::size_t> run(std::size_t first, std::size_t count) {
  std::vector<std::size_t> rows(count);
  for (std::size_t i = 0; i < count; ++i) rows[i] = first + i;
  return rows;
}

// A name means what the family's row says: Qwen's first w2 makes features, Mixtral's w2 takes them.
TEST_F(ParallelTest, NamesMeanWhatTheFamilySays) {
  config_.model_type = "qwen";
  const Layer& gate = add("transformer.h.0.mlp.w2", 64, 256);
  repack(1, 2, false);
  expect_part("transformer.h.0.mlp.w2", gate, run(32, 32), 0);
  tensors_.clear();
  config_.model_type = "mixtral";
  const Layer& down = add("model.layers.0.block_sparse_moe.experts.3.w2", 32, 512);
  repack(1, 2, false);
  expect_part("model.layers.0.block_sparse_moe.experts.3.w2", down, run(0, 32), 256);
  tensors_.clear();
  config_.model_type = "gpt2";  // attention's c_proj takes heads
  config_.heads = 6;
  const Layer& out = add("transformer.h.0.mlp.c_proj", 32, 512);
  repack(1, 4, false);
  expect_part("transformer.h.0.mlp.c_proj", out, run(0, 32), 128);
  add("transformer.h.0.attn.c_proj", 32, 512);
  EXPECT_THROW(repack(1, 4, false), Error);
}

// 8 heads of 16 rows, 2 of keys: with 4 ranks two have the same one.
TEST_F(ParallelTest, HeadsAndFeaturesAreSplitAlongN) {
  const Layer& q = add("self_attn.q_proj", 128, 256);
  const Layer& k = add("self_attn.k_proj", 32, 256);
  const Layer& v = add("self_attn.v_proj", 32, 256);
  const Layer& up = add("mlp.up_proj", 64, 256);
  add_values("self_attn.q_proj.bias", 128);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const ConvertReport report = repack(static_cast<std::int64_t>(rank), 4);
    EXPECT_EQ(report.layers, 2U);
    EXPECT_EQ(spec("self_attn.qkv_proj").shape.n, 32 + 16 + 16);
    expect_part("self_attn.qkv_proj", q, run(rank * 32, 32), 0);
    expect_part("self_attn.qkv_proj", k, run(rank / 2 * 16, 16), 0, 32);
    expect_part("self_attn.qkv_proj", v, run(rank / 2 * 16, 16), 0, 48);
    expect_part("mlp.up_proj", up, run(rank * 16, 16), 0);
    EXPECT_EQ(values("self_attn.qkv_proj.bias").at(0), 1 + rank * 32);
    EXPECT_EQ(values("self_attn.qkv_proj.bias").size(), 64U);
    EXPECT_EQ(SafetensorsFile(folder_ / "b.safetensors").header().metadata.at("heddle.tp"),
              std::to_string(rank) + "/4");
  }
}

// K = 320 in groups of 128: the second rank begins in column 32 of its first group, and the first
// ends inside of one.
TEST_F(ParallelTest, WhatTakesThemIsSplitAlongK) {
  const Layer& down = add("mlp.down_proj", 32, 320);
  add_values("mlp.down_proj.bias", 32);
  add_values("mlp.down_proj.pre_quant_scale", 320);
  repack(0, 2);
  EXPECT_EQ(spec("mlp.down_proj").weight.group_size, 32);
  EXPECT_EQ(spec("mlp.down_proj").weight.group_offset, 0);
  EXPECT_TRUE(spec("mlp.down_proj").epilogue.bias);
  expect_part("mlp.down_proj", down, run(0, 32), 0);
  EXPECT_EQ(values("mlp.down_proj.pre_quant_scale").size(), 160U);
  repack(1, 2);
  EXPECT_EQ(spec("mlp.down_proj").weight.group_size, 128);
  EXPECT_EQ(spec("mlp.down_proj").weight.group_offset, 32);
  EXPECT_FALSE(spec("mlp.down_proj").epilogue.bias);
  EXPECT_EQ(Checkpoint(folder_ / "b.safetensors").find("mlp.down_proj.bias"), nullptr);
  expect_part("mlp.down_proj", down, run(0, 32), 160);
  EXPECT_EQ(values("mlp.down_proj.pre_quant_scale").at(0), 1 + 160);
}

TEST_F(ParallelTest, FusedRowsAreSplitPartByPart) {
  const Layer& qkv = add("self_attn.qkv_proj", (8 + 2 + 2) * 16, 256);
  const Layer& gate_up = add("mlp.gate_up_proj", 64, 256);
  repack(1, 2);
  expect_part("self_attn.qkv_proj", qkv, run(64, 64), 0);
  expect_part("self_attn.qkv_proj", qkv, run(128 + 16, 16), 0, 64);
  expect_part("self_attn.qkv_proj", qkv, run(160 + 16, 16), 0, 80);
  expect_part("mlp.gate_up_proj", gate_up, run(16, 16), 0);
  expect_part("mlp.gate_up_proj", gate_up, run(32 + 16, 16), 0, 16);
}

// Heads first get the order of attention, [heads, 3, dim] to [3, heads, dim].
TEST_F(ParallelTest, InterleavedHeadsAreOrderedThenSplit) {
  const Layer& qkv = add("h.0.query_key_value", 8 * 3 * 16, 256);
  add_values("h.0.query_key_value.bias", 8 * 3 * 16);
  config_.kv_heads = 8;
  config_.fused_qkv = FusedQkv{"query_key_value", 8, 1};
  const auto rows = [](std::size_t first_head, std::size_t heads) {
    std::vector<std::size_t> list;
    for (std::size_t which = 0; which < 3; ++which) {
      for (std::size_t head = first_head; head < first_head + heads; ++head) {
        for (std::size_t i = 0; i < 16; ++i) list.push_back((head * 3 + which) * 16 + i);
      }
    }
    return list;
  };
  repack(0, 1);
  expect_part("h.0.query_key_value", qkv, rows(0, 8), 0);
  EXPECT_EQ(values("h.0.query_key_value.bias").at(16), 1 + 48);
  repack(1, 2);
  expect_part("h.0.query_key_value", qkv, rows(4, 4), 0);
  EXPECT_EQ(values("h.0.query_key_value.bias").at(0), 1 + 4 * 48);
}

TEST_F(ParallelTest, HeadsOfEveryNameAreSplit) {
  for (const auto& [type, head] :
       {std::pair{"internlm2", "output"}, std::pair{"chatglm", "transformer.output_layer"}}) {
    tensors_.clear();
    config_.model_type = type;
    config_.head_places = {{"model", head}};
    const Layer& layer = add(head, 64, 256);
    const ConvertReport report = repack(1, 2, false);
    expect_part(head, layer, run(32, 32), 0);
    EXPECT_TRUE(report.notes.empty());
  }
}

TEST_F(ParallelTest, LayersOfOtherNamesStayWhole) {
  const Layer& other = add("visual.else", 32, 256);
  const ConvertReport report = repack(1, 2);
  expect_part("visual.else", other, run(0, 32), 0);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_NE(report.notes[0].find("visual.else"), std::string::npos);
}

TEST_F(ParallelTest, WhatCannotBeSplitIsRefusedByName) {
  const auto refused = [&](std::int64_t size, const std::string& what) {
    try {
      repack(0, size);
      ADD_FAILURE() << what;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::kUnsupported);
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
    tensors_.clear();
  };
  add("down_proj", 32, 256, true);
  refused(2, "act-order");
  add("down_proj", 32, 320);
  refused(4, "320");
  add("up_proj", 33 * 8, 256);
  refused(5, "264 rows");
  add("q_proj", 128, 256);
  refused(3, "8 heads");
  config_.heads = 0;
  add("q_proj", 128, 256);
  refused(2, "heads");
  for (const char* type : {"deepseek_v3", "no_such_type"}) {  // not heads and features alone
    config_.model_type = type;
    add("w2", 128, 256);
    refused(2, std::string("model type \"") + type + '"');
  }
}

}  // namespace
}  // namespace heddle
