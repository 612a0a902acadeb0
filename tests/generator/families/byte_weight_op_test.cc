// Operations on weights that are multiplied as they are, in the order swizzle_128b: which are
// taken, by which kernels, and what quantize_weights() makes of blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "dequantize/config.h"
#include "generator/decode/decode_plan.h"
#include "generator/decode/float16.h"
#include "generator/families/configuration.h"
#include "generator/families/dequantize/dequantize_config.h"
#include "generator/families/fields.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "heddle/weights.h"
#include "quantize_weight/config.h"
#include "tests/byte_gemm.h"
#include "tests/generator/families/weight_op_plans.h"

namespace heddle {
namespace {

constexpr Op kOps[] = {Op::kDequantize, Op::kQuantizeWeight};

WeightOpSpec rows(DType dtype) { return weight_op_of(byte_gemm(264, 416, dtype)); }
WeightOpSpec blocks() { return weight_op_of(block_gemm(264, 416)); }

TEST(ByteWeightOp, EveryTargetServesWhatAGemmTakes) {
  for (const Op op : kOps) {
    for (const char* target : {"sm_75", "a100", "rtx4090", "h200", "b200"}) {
      for (const DType dtype : {DType::kInt8, DType::kFp8E4m3, DType::kFp8E5m2}) {
        for (const DType scale : {DType::kFp16, DType::kBf16, DType::kFp32}) {
          WeightOpSpec spec = rows(dtype);
          spec.weight.scale_dtype = scale;
          EXPECT_EQ(refused_fields(op, spec, target), Pointers{}) << target;
        }
      }
      EXPECT_EQ(refused_fields(op, blocks(), target), Pointers{}) << target;
    }
  }
  WeightOpSpec tensor = rows(DType::kInt8);
  tensor.weight.group_size = kPerTensor;
  EXPECT_EQ(refused_fields(Op::kDequantize, tensor), Pointers{});
  EXPECT_EQ(refused_fields(Op::kQuantizeWeight, tensor), Pointers{"/weight/group_size"});
}

TEST(ByteWeightOp, OthersAreRefusedByName) {
  const struct {
    std::string pointer;
    std::function<void(WeightOpSpec&)> change;
    bool of_blocks = false;
  } cases[] = {
      {"/weight/type", [](WeightOpSpec& s) { s.weight.type = WeightType::kUint; }},
      {"/weight/group_size", [](WeightOpSpec& s) { s.weight.group_size = 32; }},
      {"/weight/zero_point", [](WeightOpSpec& s) { s.weight.zero_point = ZeroPoint::kInt; }},
      {"/weight/tensor_scale", [](WeightOpSpec& s) { s.weight.tensor_scale = true; }},
      {"/weight/scale_dtype", [](WeightOpSpec& s) { s.weight.scale_dtype = DType::kE8m0; }},
      {"/weight/group_size", [](WeightOpSpec& s) { s.weight.group_size = 32; }, true},
      {"/weight/scale_dtype", [](WeightOpSpec& s) { s.weight.scale_dtype = DType::kFp16; }, true},
      {"/weight/interleave", [](WeightOpSpec& s) { s.weight.interleave = Interleave::kFragment; },
       true},
      {"/weight/group_offset", [](WeightOpSpec& s) { s.weight.group_offset = 32; }, true},
      {"/shape/n",
       [](WeightOpSpec& s) {
         s.shape.n = 384;
         s.gated = true;
       },
       true},
  };
  for (const auto& one : cases) {
    for (const Op op : kOps) {
      WeightOpSpec spec = one.of_blocks ? blocks() : rows(DType::kInt8);
      one.change(spec);
      const Pointers pointers = refused_fields(op, spec);
      EXPECT_NE(std::find(pointers.begin(), pointers.end(), one.pointer), pointers.end())
          << to_string(op) << ' ' << one.pointer;
    }
  }
  WeightOpSpec ordered = rows(DType::kInt8);
  ordered.act_order = true;
  EXPECT_EQ(refused_fields(Op::kDequantize, ordered), Pointers{"/source/act_order"});
}

// Their codes are unsigned.
TEST(ByteWeightOp, CheckpointsHaveNoSuchOrder) {
  WeightOpSpec spec = rows(DType::kInt8);
  spec.weight.type = WeightType::kUint;
  spec.format = CheckpointFormat::kGptq;
  for (const Op op : {Op::kRepack, Op::kDequantize}) {
    EXPECT_EQ(refused_fields(op, spec), Pointers{"/weight/interleave"}) << to_string(op);
  }
  spec.weight.interleave = Interleave::kFragment;
  spec.weight.group_size = spec.weight.group_rows = kBlockRows;
  spec.shape.k = 512;
  EXPECT_EQ(refused_fields(Op::kRepack, spec), Pointers{"/weight/group_rows"});
}

bool renders(const Plan& plan, const std::string& function) {
  return render(plan, 0).text.find("heddle::" + function + "<heddle::Config") != std::string::npos;
}

TEST(ByteWeightOp, DequantizeDecodesCodesThatLieTogether) {
  for (const WeightOpSpec& spec : {rows(DType::kInt8), rows(DType::kFp8E5m2), blocks()}) {
    const Plan plan = weight_op_plan(Op::kDequantize, spec);
    EXPECT_EQ(plan.decode->request.order, ElementOrder::kLinear);
    EXPECT_EQ(plan.decode.elements(), device::DequantizeSwizzledConfig::kLaneColumns);
    EXPECT_EQ(prove_decode_plan(plan.decode).mismatches, 0U);
    EXPECT_TRUE(renders(plan, "dequantize_swizzled"));
    const auto config = std::get<device::DequantizeSwizzledConfig>(
        config_of<DequantizeConfig>(plan.kernels.front()));
    EXPECT_EQ(config.tiles.rows * config.tiles.columns,
              device::kDequantizeWarps * device::Chunk::kRows * device::Chunk::kColumns);
  }
}

TEST(ByteWeightOp, QuantizeMakesNoWords) {
  const Plan of_rows = weight_op_plan(Op::kQuantizeWeight, rows(DType::kInt8));
  EXPECT_EQ(of_rows.decode.elements(), 0);
  EXPECT_TRUE(renders(of_rows, "quantize_rows"));
  EXPECT_EQ(of_rows.kernels.front().shared_bytes, 16 * 16) << "an entry for each row";

  const Plan of_blocks = weight_op_plan(Op::kQuantizeWeight, blocks());
  EXPECT_TRUE(renders(of_blocks, "quantize_blocks"));
  EXPECT_EQ(of_blocks.kernels.front().shared_bytes, 16) << "one for all";
  EXPECT_EQ(of_blocks.launch(0, {}).grid_x, 3U) << "blocks of 128 rows";
  EXPECT_EQ(of_blocks.launch(0, {}).grid_y, 4U);
}

TEST(ByteWeightOp, RowsOfWAreFoundBothWays) {
  for (const bool gated : {false, true}) {
    WeightOpSpec spec = rows(DType::kInt8);
    spec.shape.n = 64;
    spec.gated = gated;
    const Plan plan = weight_op_plan(Op::kQuantizeWeight, spec);
    const auto& packed = config_of<device::QuantizeWeightConfig>(plan.kernels.front()).packed;
    for (int row = 0; row < 64; ++row) {
      EXPECT_EQ(packed.packed_row(packed.row_of_w(row, 64), 64), row) << gated;
    }
  }
}

TEST(ByteWeightOp, PacksWhatAGemmReads) {
  for (const GemmSpec& gemm : {byte_gemm(264, 416, DType::kInt8), block_gemm(264, 416)}) {
    const Spec packed = Spec::from_weight_op(Op::kQuantizeWeight, weight_op_of(gemm));
    EXPECT_NO_THROW(check_packed_weights(Spec::from_gemm(gemm), packed));
    EXPECT_NO_THROW(
        check_packed_weights(Spec::from_weight_op(Op::kDequantize, weight_op_of(gemm)), packed));
    GemmSpec other = gemm;
    other.weight.type = WeightType::kE5m2;
    EXPECT_THROW(check_packed_weights(Spec::from_gemm(other), packed), Error);
  }
}

// The last blocks have fewer rows and columns. A value that is not finite marks its block alone.
TEST(ByteWeightOp, ABlockOfWSharesAScale) {
  const WeightOpSpec spec = blocks();
  const std::int64_t n = spec.shape.n;
  const std::int64_t k = spec.shape.k;
  std::vector<std::uint16_t> w(static_cast<std::size_t>(n * k), 0x3C00);  // 1
  const auto at = [&](std::int64_t row, std::int64_t column) -> std::uint16_t& {
    return w[static_cast<std::size_t>(row * k + column)];
  };
  at(127, 127) = float16_from_double(kBinary16, -896);
  at(128, 0) = float16_from_double(kBinary16, 224);
  at(0, 128) = 0x7C00;  // infinity
  at(263, 415) = float16_from_double(kBinary16, 1792);
  const QuantizedWeights weights = quantize_weights(spec, w);
  std::vector<float> scales(weights.scales.size() / sizeof(float));
  std::memcpy(scales.data(), weights.scales.data(), weights.scales.size());
  ASSERT_EQ(scales.size(), 3U * 4U);
  const auto code = [&](std::int64_t row, std::int64_t column) {
    return weights.codes[static_cast<std::size_t>(row * k + column)];
  };
  EXPECT_EQ(scales[0], 2.0F);
  EXPECT_EQ(code(127, 127), 0xFE) << "-448";
  EXPECT_EQ(code(0, 0), 0x30) << "0.5";
  EXPECT_EQ(scales[4], 0.5F) << "of the row below";
  EXPECT_TRUE(std::isnan(scales[1]));
  EXPECT_EQ(code(0, 129), 0);
  EXPECT_EQ(scales[11], 4.0F);
  EXPECT_EQ(code(263, 415), 0x7E);
  EXPECT_EQ(code(255, 415), code(0, 255 + 128)) << "1 over 1 / 448: blocks of ones";
}

}  // namespace
}  // namespace heddle
