// Writes the kernels of decoder_plans() as C++, for the GPU of the fake driver.
//
// usage: write_emulated_kernels KIND FOLDER FILES
// KIND: decoder_tiles, decoder_attention, decoder_append, decoder_rows, decoder_experts or
// decoder_few_experts
#include <fmt/core.h>

#include <string>

#include "tests/decoder/emulated_gpu.h"
#include "tests/decoder/emulated_kernels.h"
#include "tests/emulator/kernel_writer.h"

int main(int argc, char** argv) try {
  if (argc != 4) return 2;
  heddle::testing::take_emulated_gpu();
  heddle::DecoderPlans plans = heddle::decoder_plans();
  const std::string kind = argv[1];
  heddle::KernelFamily family{kind, "emulated", "", {}, {}, "decoder"};
  if (kind == "decoder_tiles") {
    family.type = "GemmOnCpu";
    family.paths = {"tiles/tiles.cuh"};
    family.plans = plans.tiles;
  } else if (kind == "decoder_attention") {
    family.type = "AttentionKernel";
    family.paths = {"decode_attention/decode_attention.cuh"};
    family.plans = plans.attention;
  } else if (kind == "decoder_append") {
    family.type = "KvAppendOnCpu";
    family.paths = {"kv_append/kv_append.cuh"};
    family.plans = plans.append;
  } else if (kind == "decoder_rows") {
    family.type = "RowKernel";
    family.paths = {"row_transform/row_transform.cuh"};
    family.plans = plans.rows;
  } else if (kind == "decoder_experts") {
    family.type = "MoeOnCpu";
    family.paths = {"experts/experts.cuh"};
    family.plans = plans.experts;
  } else if (kind == "decoder_few_experts") {
    family.type = "MoeOnCpu";
    family.paths = {"few_experts/few_experts.cuh"};
    family.plans = plans.few_experts;
  } else {
    return 2;
  }
  heddle::write_kernels(family, argv[2], std::stoi(argv[3]));
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
