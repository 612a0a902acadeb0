// Dequantized layers of experts that are not whole.
#include "checkpoint/modules/config.h"
#include "checkpoint/output/convert.h"
#include "tests/checkpoint/expert_stacks.h"

namespace heddle {
namespace {

// It reads each tensor by itself: what is there is right, and what is not there is told.
TEST_F(ExpertStacks, DequantizeTellsOfLayersThatAreNotWhole) {
  const std::string at = std::string(kQwenNames.at) + ".";
  struct Case {
    const char* lost;
    std::size_t layers;
    const char* note;
  };
  const Case cases[] = {
      {nullptr, 9, nullptr},
      {"1.up_proj", 8, "1 of 3 experts have no up_proj to pack: 1 (/num_experts is 3)"},
      {"2", 6, "1 of 3 experts have no gate_proj to pack: 2 (/num_experts is 3)"},
  };
  for (const Case& one : cases) {
    // Of an expert in 16 bits nothing is missing.
    for (const bool plain : {false, true}) {
      ExpertModel model = lone_experts(kQwenNames, ExpertForm::kGptq);
      std::size_t layers = one.layers;
      if (plain) {
        erase_module(at + "0.down_proj", &model);
        add_expert_module(ExpertForm::kBf16, at + "0.down_proj", kExpertHidden, kExpertInner, 1,
                          &model);
        --layers;
      }
      if (one.lost != nullptr) erase_module(at + one.lost, &model);
      write(model);
      const std::string output = folder_ / "plain.safetensors";
      const ConvertReport report =
          dequantize_checkpoint(Checkpoint(folder_ / "model.safetensors"),
                                read_checkpoint_config(model.config), output, {});
      std::filesystem::remove(output);
      EXPECT_EQ(report.layers, layers);
      EXPECT_EQ(report.notes.size(), one.note == nullptr ? 0U : 1U);
      if (one.note == nullptr) continue;
      EXPECT_TRUE(is_told(report.notes, std::string("layer \"") + kQwenNames.at +
                                            "\": " + one.note + "; what is there is written"))
          << report.notes.front();
    }
  }
  // All experts of a product.
  ExpertModel model = lone_experts(kQwenNames, ExpertForm::kGptq);
  for (const char* expert : {"0", "1", "2"}) {
    erase_module(at + expert + ".down_proj", &model);
  }
  write(model);
  const ConvertReport report = dequantize_checkpoint(Checkpoint(folder_ / "model.safetensors"),
                                                     read_checkpoint_config(model.config),
                                                     folder_ / "plain.safetensors", {});
  EXPECT_TRUE(is_told(report.notes, "no tensor of 1 linear layers")) << report.notes.size();
}

// What is written is read again as the same experts, biases among them.
TEST_F(ExpertStacks, DequantizedStacksKeepTheirBiases) {
  const std::string at = std::string(kGptOssAt) + ".";
  ExpertModel model;
  model.config = expert_config(kGptOssNames, R"({"quant_method": "mxfp4"})");
  const Values gate_up =
      add_mxfp4_stack(at + "gate_up_proj", 2 * kExpertInner, kExpertHidden, &model);
  const Values down = add_mxfp4_stack(at + "down_proj", kExpertHidden, kExpertInner, &model);
  for (const auto& [name, rows] :
       {std::pair{"gate_up_proj", 2 * kExpertInner}, {"down_proj", kExpertHidden}}) {
    TestTensor bias = stacked_bias(name, rows);
    for (std::size_t i = 0; i < bias.bytes.size(); i += 2) {
      bias.bytes[i] = static_cast<std::uint8_t>(i / 2 % 127);
    }
    model.tensors.push_back(std::move(bias));
  }
  write(model);
  const CheckpointReader quantised = open();
  const TemporaryFolder plain;
  dequantize_checkpoint(Checkpoint(folder_ / "model.safetensors"),
                        read_checkpoint_config(model.config), plain / "model.safetensors", {});
  write_file(plain / "config.json", expert_config(kGptOssNames, ""));
  CheckpointOptions options;
  options.dense = true;
  const CheckpointReader reader(plain.path(), options);
  EXPECT_TRUE(reader.tensors().empty());
  ASSERT_EQ(reader.experts().size(), 1U);
  const CheckpointExperts& again = reader.experts().front();
  EXPECT_TRUE(again.spec.moe().epilogue.bias);
  for (const char* name : {"gate_up_proj", "down_proj"}) {
    EXPECT_EQ(bias_values(reader, at + name), bias_values(quantised, at + name)) << name;
  }
  std::vector<Values> first;
  std::vector<Values> second;
  for (std::int64_t expert = 0; expert < kExperts; ++expert) {
    Values rows;  // all gates, then all ups
    for (const std::int64_t half : {0, 1}) {
      for (std::int64_t row = half; row < 2 * kExpertInner; row += 2) {
        const Values one = part_of_stack(gate_up, expert * 2 * kExpertInner + row, kExpertHidden);
        rows.insert(rows.end(), one.begin(), one.end());
      }
    }
    first.push_back(std::move(rows));
    second.push_back(part_of_stack(down, expert, kExpertHidden * kExpertInner));
  }
  expect_stack(reader, again.gate_up, first);
  expect_stack(reader, again.down, second);
}

}  // namespace
}  // namespace heddle
