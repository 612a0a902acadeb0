// Writes the kernels of stream_cases(), stream_bytes_cases(), bulk_cases(), wgmma_cases(),
// wgmma_bytes_cases(), wgmma_blocks_cases(), those of codes_cases.h, mma_cases(),
// byte_tiles_cases(), attention_cases(), kv_append_cases(), row_cases() or one of weight_op_cases.h
// as C++.
//
// usage: write_kernels KIND FOLDER FILES
// KIND: stream, stream_bytes, gemv, bulk, wgmma, wgmma_bytes, wgmma_blocks, wgmma_decoded, codes,
// codes_bulk, codes_byte_tiles, codes_wgmma, codes_bytes, codes_blocks, mma, byte_tiles, attention,
// kv_append, row, repack, quantize or dequantize
#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/emulator/attention_cases.h"
#include "tests/emulator/bulk_cases.h"
#include "tests/emulator/byte_tiles_cases.h"
#include "tests/emulator/codes_cases.h"
#include "tests/emulator/gemv_cases.h"
#include "tests/emulator/kernel_writer.h"
#include "tests/emulator/kv_append_cases.h"
#include "tests/emulator/mma_cases.h"
#include "tests/emulator/row_cases.h"
#include "tests/emulator/stream_bytes_cases.h"
#include "tests/emulator/stream_cases.h"
#include "tests/emulator/weight_op_cases.h"
#include "tests/emulator/wgmma_bytes_cases.h"
#include "tests/emulator/wgmma_cases.h"

namespace heddle {
namespace {

template <class Cases>
std::vector<Plan> plans_of(const Cases& cases) {
  std::vector<Plan> plans;
  for (const auto& one : cases) plans.push_back(one.plan());
  return plans;
}

KernelFamily family_of(std::string_view kind) {
  if (kind == "stream") {
    return {"stream", "gemm", "GemmOnCpu", {"stream/stream.cuh"}, plans_of(stream_cases())};
  }
  if (kind == "stream_bytes") {
    return {"stream_bytes",
            "stream_bytes",
            "StreamBytesOnCpu",
            {"stream/decoded_bytes.cuh"},
            plans_of(stream_bytes_cases())};
  }
  if (kind == "gemv") {
    return {"gemv", "gemv", "GemmOnCpu", {"gemv/gemv.cuh"}, plans_of(gemv_cases())};
  }
  if (kind == "bulk") {
    return {"bulk", "bulk", "BulkKernel", {"tiles/bulk.cuh"}, plans_of(bulk_cases())};
  }
  if (kind == "wgmma") {
    return {"wgmma", "wgmma", "WgmmaKernel", {"warpgroup/warpgroup.cuh"}, plans_of(wgmma_cases())};
  }
  if (kind == "wgmma_bytes") {
    return {"wgmma_bytes",
            "wgmma_bytes",
            "WgmmaBytesKernel",
            {"warpgroup/bytes.cuh"},
            plans_of(wgmma_bytes_cases())};
  }
  if (kind == "wgmma_decoded") {
    return {"wgmma_decoded",
            "wgmma_bytes",
            "WgmmaBytesKernel",
            {"warpgroup/decoded_bytes.cuh"},
            plans_of(wgmma_decoded_cases())};
  }
  if (kind == "wgmma_blocks") {
    return {"wgmma_blocks",
            "wgmma_bytes",
            "WgmmaBlocksKernel",
            {"warpgroup/bytes.cuh"},
            plans_of(wgmma_blocks_cases())};
  }
  if (kind == "codes") {
    return {"codes",
            "codes",
            "CodesOnCpu",
            {"gemv/gemv.cuh", "stream/stream.cuh", "tiles/tiles.cuh"},
            plans_of(codes_cases())};
  }
  if (kind == "codes_bulk") {
    return {
        "codes_bulk", "codes", "CodesBulkKernel", {"tiles/bulk.cuh"}, plans_of(codes_bulk_cases())};
  }
  if (kind == "codes_byte_tiles") {
    return {"codes_byte_tiles",
            "codes",
            "CodesByteTilesKernel",
            {"byte_tiles/byte_tiles.cuh"},
            plans_of(codes_byte_tiles_cases())};
  }
  if (kind == "codes_wgmma") {
    return {"codes_wgmma",
            "codes",
            "CodesWgmmaKernel",
            {"warpgroup/warpgroup.cuh"},
            plans_of(codes_wgmma_cases())};
  }
  if (kind == "codes_bytes") {
    return {"codes_bytes",
            "codes",
            "CodesBytesKernel",
            {"warpgroup/bytes.cuh"},
            plans_of(codes_bytes_cases())};
  }
  if (kind == "codes_blocks") {
    return {"codes_blocks",
            "codes",
            "CodesBlocksKernel",
            {"warpgroup/bytes.cuh"},
            plans_of(codes_blocks_cases())};
  }
  if (kind == "mma") {
    return {"mma", "gemm", "GemmOnCpu", {"tiles/tiles.cuh"}, plans_of(mma_cases())};
  }
  if (kind == "byte_tiles") {
    return {"byte_tiles",
            "byte_tiles",
            "ByteTilesOnCpu",
            {"byte_tiles/byte_tiles.cuh"},
            plans_of(byte_tiles_cases())};
  }
  if (kind == "attention") {
    return {"attention",
            "attention",
            "AttentionKernel",
            {"decode_attention/decode_attention.cuh"},
            plans_of(attention_cases())};
  }
  if (kind == "kv_append") {
    return {"kv_append",
            "kv_append",
            "KvAppendOnCpu",
            {"kv_append/kv_append.cuh"},
            plans_of(kv_append_cases())};
  }
  if (kind == "row") {
    return {"row", "row", "RowKernel", {"row_transform/row_transform.cuh"}, plans_of(row_cases())};
  }
  if (kind == "repack") {
    return {"repack", "weight_op", "RepackOnCpu", {"repack/repack.cuh"}, plans_of(repack_cases())};
  }
  if (kind == "quantize") {
    return {"quantize",
            "weight_op",
            "QuantizeOnCpu",
            {"quantize_weight/quantize_blocks.cuh", "quantize_weight/quantize_rows.cuh",
             "quantize_weight/quantize_weight.cuh"},
            plans_of(quantize_cases())};
  }
  if (kind == "dequantize") {
    return {"dequantize",
            "weight_op",
            "DequantizeOnCpu",
            {"dequantize/dequantize_awq.cuh", "dequantize/dequantize_gptq.cuh",
             "dequantize/dequantize_packed.cuh", "dequantize/dequantize_swizzled.cuh"},
            plans_of(dequantize_cases())};
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
