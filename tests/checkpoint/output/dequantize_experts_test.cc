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

}  // namespace
}  // namespace heddle
