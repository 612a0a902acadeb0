// quantize_weight and dequantize of weights that are multiplied as they are, in the order
// swizzle_128b, on the GPU: bit for bit against the host. Skips where there is no GPU.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/byte_gemm.h"
#include "tests/gpu/operation_fixture.h"

namespace heddle {
namespace {

WeightOpSpec op_of(const GemmSpec& gemm, bool gated) {
  WeightOpSpec spec;
  spec.shape = {gemm.shape.n, gemm.shape.k};
  spec.weight = gemm.weight;
  spec.gated = gated;
  return spec;
}

class ByteWeightOpGpu : public WeightOpGpu {};

TEST_F(ByteWeightOpGpu, EveryTypeAndScale) {
  for (const Op op : {Op::kDequantize, Op::kQuantizeWeight}) {
    for (const DType type : {DType::kInt8, DType::kFp8E4m3, DType::kFp8E5m2}) {
      for (const DType scale : {DType::kFp16, DType::kBf16, DType::kFp32}) {
        for (const bool gated : {false, true}) {
          GemmSpec gemm = byte_gemm(gated ? 272 : 264, 1056, type);
          gemm.weight.scale_dtype = scale;
          add_both(op, op_of(gemm, gated));
          gemm.weight.group_size = kPerTensor;
          if (op == Op::kDequantize) add_both(op, op_of(gemm, gated));
        }
      }
    }
  }
}

// Steps of one chunk to many, row blocks and chunks that W does not fill.
TEST_F(ByteWeightOpGpu, RaggedRows) {
  for (const Op op : {Op::kDequantize, Op::kQuantizeWeight}) {
    for (const std::int64_t n : {8, 16, 24, 1032}) {
      for (const std::int64_t k : {32, 96, 160, 480, 4096}) {
        add_both(op, op_of(byte_gemm(n, k, DType::kInt8), false));
      }
    }
  }
}

TEST_F(ByteWeightOpGpu, Blocks) {
  for (const Op op : {Op::kDequantize, Op::kQuantizeWeight}) {
    for (const WeightType type : {WeightType::kE4m3, WeightType::kE5m2}) {
      for (const auto& [n, k] :
           {std::pair{8, 32}, {136, 416}, {200, 1056}, {1024, 1024}, {2112, 7168}}) {
        GemmSpec gemm = block_gemm(n, k);
        gemm.weight.type = type;
        add_both(op, op_of(gemm, false));
        if (n % 256 == 0) add_both(op, op_of(gemm, true));
      }
    }
  }
}

}  // namespace
}  // namespace heddle
