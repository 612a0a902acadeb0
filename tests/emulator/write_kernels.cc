// Writes the kernels of a kind of cases as C++.
//
// usage: write_kernels KIND FOLDER FILES
// KIND: a name of kKinds
#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/emulator/attention_cases.h"
#include "tests/emulator/codes_cases.h"
#include "tests/emulator/gemm_cases.h"
#include "tests/emulator/invariant_cases.h"
#include "tests/emulator/kernel_writer.h"
#include "tests/emulator/kv_append_cases.h"
#include "tests/emulator/moe_cases.h"
#include "tests/emulator/row_cases.h"
#include "tests/emulator/weight_op_cases.h"
#include "tests/emulator/wgmma_bytes_cases.h"
#include "tests/emulator/wgmma_cases.h"

namespace heddle {
namespace {

template <auto kCases>
std::vector<Plan> plans_of() {
  std::vector<Plan> plans;
  for (const auto& one : kCases()) plans.push_back(one.plan());
  return plans;
}

// Members as in KernelFamily.
struct Kind {
  std::string name;
  std::string header;
  std::string type;
  std::vector<std::string> templates;
  std::vector<Plan> (*plans)();
};

const Kind kKinds[] = {
    {"stream", "gemm", "GemmOnCpu", {"stream/stream.cuh"}, plans_of<stream_cases>},
    {"stream_bytes",
     "stream_bytes",
     "StreamBytesOnCpu",
     {"stream/decoded_bytes.cuh"},
     plans_of<stream_bytes_cases>},
    {"gemv", "gemv", "GemmOnCpu", {"gemv/gemv.cuh"}, plans_of<gemv_cases>},
    {"bulk", "bulk", "BulkKernel", {"tiles/bulk.cuh"}, plans_of<bulk_cases>},
    {"wgmma", "wgmma", "WgmmaKernel", {"warpgroup/warpgroup.cuh"}, plans_of<wgmma_cases>},
    {"wgmma_bytes",
     "wgmma_bytes",
     "WgmmaBytesKernel",
     {"warpgroup/bytes.cuh"},
     plans_of<wgmma_bytes_cases>},
    {"wgmma_decoded",
     "wgmma_bytes",
     "WgmmaBytesKernel",
     {"warpgroup/decoded_bytes.cuh"},
     plans_of<wgmma_decoded_cases>},
    {"wgmma_blocks",
     "wgmma_bytes",
     "WgmmaBlocksKernel",
     {"warpgroup/bytes.cuh"},
     plans_of<wgmma_blocks_cases>},
    {"codes",
     "codes",
     "CodesOnCpu",
     {"gemv/gemv.cuh", "stream/stream.cuh", "tiles/tiles.cuh"},
     plans_of<codes_cases>},
    {"codes_bulk", "codes", "CodesBulkKernel", {"tiles/bulk.cuh"}, plans_of<codes_bulk_cases>},
    {"codes_byte_tiles",
     "codes",
     "CodesByteTilesKernel",
     {"byte_tiles/byte_tiles.cuh"},
     plans_of<codes_byte_tiles_cases>},
    {"codes_wgmma",
     "codes",
     "CodesWgmmaKernel",
     {"warpgroup/warpgroup.cuh"},
     plans_of<codes_wgmma_cases>},
    {"codes_bytes",
     "codes",
     "CodesBytesKernel",
     {"warpgroup/bytes.cuh"},
     plans_of<codes_bytes_cases>},
    {"codes_blocks",
     "codes",
     "CodesBlocksKernel",
     {"warpgroup/bytes.cuh"},
     plans_of<codes_blocks_cases>},
    {"invariant_gemm",
     "invariant",
     "GemmOnCpu",
     {"stream/stream.cuh", "tiles/tiles.cuh"},
     invariant_plans<InvariantKind::kGemm>},
    {"invariant_bulk",
     "invariant",
     "BulkKernel",
     {"tiles/bulk.cuh"},
     invariant_plans<InvariantKind::kBulk>},
    {"invariant_wgmma",
     "invariant",
     "WgmmaKernel",
     {"warpgroup/warpgroup.cuh"},
     invariant_plans<InvariantKind::kWgmma>},
    {"invariant_bytes",
     "invariant",
     "WgmmaBytesKernel",
     {"warpgroup/bytes.cuh", "warpgroup/decoded_bytes.cuh"},
     invariant_plans<InvariantKind::kWgmmaBytes>},
    {"invariant_blocks",
     "invariant",
     "WgmmaBlocksKernel",
     {"warpgroup/bytes.cuh"},
     invariant_plans<InvariantKind::kWgmmaBlocks>},
    {"invariant_byte_tiles",
     "invariant",
     "ByteTilesOnCpu",
     {"byte_tiles/byte_tiles.cuh"},
     invariant_plans<InvariantKind::kByteTiles>},
    {"invariant_moe",
     "invariant",
     "MoeOnCpu",
     {"experts/experts.cuh", "few_experts/few_experts.cuh", "stream_experts/stream_experts.cuh"},
     invariant_plans<InvariantKind::kMoe>},
    {"invariant_moe_wgmma",
     "invariant",
     "MoeByWgmmaOnCpu",
     {"warpgroup_experts/warpgroup_experts.cuh"},
     invariant_plans<InvariantKind::kMoeWgmma>},
    {"mma", "gemm", "GemmOnCpu", {"tiles/tiles.cuh"}, plans_of<mma_cases>},
    {"byte_tiles",
     "byte_tiles",
     "ByteTilesOnCpu",
     {"byte_tiles/byte_tiles.cuh"},
     plans_of<byte_tiles_cases>},
    {"attention",
     "attention",
     "AttentionKernel",
     {"decode_attention/decode_attention.cuh"},
     plans_of<attention_cases>},
    {"kv_append",
     "kv_append",
     "KvAppendOnCpu",
     {"kv_append/kv_append.cuh"},
     plans_of<kv_append_cases>},
    {"moe", "moe", "MoeOnCpu", {"experts/experts.cuh"}, plans_of<moe_cases>},
    {"moe_wgmma",
     "moe",
     "MoeByWgmmaOnCpu",
     {"warpgroup_experts/warpgroup_experts.cuh"},
     plans_of<moe_wgmma_cases>},
    {"moe_few", "moe", "MoeOnCpu", {"few_experts/few_experts.cuh"}, plans_of<moe_few_cases>},
    {"moe_stream",
     "moe",
     "MoeOnCpu",
     {"stream_experts/stream_experts.cuh"},
     plans_of<moe_stream_cases>},
    {"row", "row", "RowKernel", {"row_transform/row_transform.cuh"}, plans_of<row_cases>},
    {"repack", "weight_op", "RepackOnCpu", {"repack/repack.cuh"}, plans_of<repack_cases>},
    {"quantize",
     "weight_op",
     "QuantizeOnCpu",
     {"quantize_weight/quantize_blocks.cuh", "quantize_weight/quantize_rows.cuh",
      "quantize_weight/quantize_weight.cuh"},
     plans_of<quantize_cases>},
    {"dequantize",
     "weight_op",
     "DequantizeOnCpu",
     {"dequantize/dequantize_awq.cuh", "dequantize/dequantize_gptq.cuh",
      "dequantize/dequantize_packed.cuh", "dequantize/dequantize_swizzled.cuh"},
     plans_of<dequantize_cases>},
};

KernelFamily family_of(std::string_view name) {
  for (const Kind& kind : kKinds) {
    if (kind.name == name) return {kind.name, kind.header, kind.type, kind.templates, kind.plans()};
  }
  throw std::invalid_argument("no such kind of kernels");
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    heddle::write_kernels(heddle::family_of(argv[1]), argv[2], std::stoi(argv[3]));
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
  return 0;
}
