// GEMM fed by bulk copies on the GPU: what a tile asks for, and what the planner takes.
#include "generator/target/capabilities.h"
#include "tests/gemm_tile.h"
#include "tests/gpu/gemm_fixture.h"

namespace heddle {
namespace {

const std::vector<std::int64_t> kBulkTokens{1, 2, 5, 8, 9, 15, 16, 17, 31, 32};

GemmSpec fed(std::int64_t n, std::int64_t k, DType dtype, int group, ZeroPoint zero,
             const TileSpec& tile) {
  GemmSpec spec = spec_of(n, k, dtype, group, zero);
  spec.shape.m_max = 32;
  spec.path = Path::kHopper;
  spec.tile = tile;
  return spec;
}

class BulkGpu : public GemmGpu {
 protected:
  void SetUp() override {
    GemmGpu::SetUp();
    if (!IsSkipped() && !is_hopper(target())) GTEST_SKIP() << "warps along N are for sm_90";
  }
};

TEST_F(BulkGpu, OfEveryTypeAndGroup) {
  constexpr int kGroups[] = {16, 32, 64, 128, 256, kPerChannel, kPerTensor};
  std::size_t i = 0;
  for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
    for (const int group : kGroups) {
      const DType dtype = rotate(kSixteenBitTypes, i++);
      check_in_turn(fed(1000, 2560, dtype, group, zero, tile_of(48, 512, 1, 4)), kBulkTokens);
    }
  }
}

TEST_F(BulkGpu, OfEveryWidth) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      GemmSpec spec = fed(264, 4096, bits % 2 == 0 ? DType::kFp16 : DType::kBf16, 128, zero,
                          tile_of(32, 512, 2, 4));
      spec.weight.bits = bits;
      check_in_turn(spec, kBulkTokens);
    }
  }
}

// Ends of N inside of a tile and of a row block, of K inside of a stage and inside of a chunk,
// warps without a row block or columns.
TEST_F(BulkGpu, OfRaggedShapes) {
  const TileSpec tiles[] = {tile_of(64, 512, 1, 8), tile_of(48, 256, 3, 4),
                            tile_of(112, 128, 7, 1)};
  std::size_t i = 0;
  for (const std::int64_t n : {8, 24, 136, 2120}) {
    for (const std::int64_t k : {32, 160, 896, 2208, 8320}) {
      check_in_turn(fed(n, k, DType::kFp16, 32, ZeroPoint::kInt, rotate(tiles, i++)),
                    {1, 7, 15, 30});
    }
  }
}

// As many as a tile has; warps with one row tile and with two.
TEST_F(BulkGpu, OfSixtyFourTokens) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    for (const int group : {32, 128, kPerChannel}) {
      for (const TileSpec& one : {tile_of(64, 256, 4, 2), tile_of(64, 256, 2, 4)}) {
        GemmSpec spec = fed(1000, 2208, dtype, group, ZeroPoint::kInt, one);
        if (group == 128) spec.shape.k = 2304;
        spec.shape.m_min = 33;
        spec.shape.m_max = 64;
        check_in_turn(spec, {33, 40, 63, 64});
      }
    }
  }
}

// K over the blocks of a cluster, in equal and unequal parts, of one stage and of more than the
// ring holds; vectors of sums that do not come out even.
TEST_F(BulkGpu, OfClustersThatShareK) {
  constexpr std::int64_t kColumns[] = {4096, 8320};
  for (const int split : {2, 3, 4, 5, 6, 7, 8}) {
    const std::int64_t k = rotate(kColumns, split);
    const std::int64_t other_k = rotate(kColumns, split + 1);
    GemmSpec spec = fed(1000, k, DType::kBf16, 32, ZeroPoint::kNone, tile_of(64, 512, 2, 4));
    spec.tile.split_k = split;
    check_in_turn(spec, kBulkTokens);
    spec = fed(264, other_k, DType::kFp16, 64, ZeroPoint::kInt, tile_of(48, 256, 1, 4));
    spec.tile.split_k = split;
    spec.tile.stages = 2;
    check_in_turn(spec, {9, 16, 20, 32});
    spec = fed(136, k, DType::kFp16, 32, ZeroPoint::kInt, tile_of(16, 256, 1, 2));
    spec.tile.split_k = split;
    check_in_turn(spec, {1, 8, 16});
    spec = fed(520, other_k, DType::kBf16, 128, ZeroPoint::kNone, tile_of(64, 256, 4, 2));
    spec.tile.split_k = split;
    spec.shape.m_min = 33;
    spec.shape.m_max = 64;
    check_in_turn(spec, {33, 47, 64});
  }
}

// What follows the sums is done by the block that has the last word on them.
TEST_F(BulkGpu, OfClustersWithEverythingAround) {
  for (const int group : {32, 64, 128, kPerChannel}) {
    GemmSpec spec = fed(520, 4096, DType::kBf16, group, ZeroPoint::kInt, tile_of(64, 512, 2, 4));
    spec.epilogue = {true, Activation::kSilu, true};
    spec.tile.split_k = 3;
    check_in_turn(spec, kBulkTokens);
    spec.act_order = true;
    spec.pre_scale = true;
    check_in_turn(spec, kBulkTokens);
  }
}

// Shapes of few rows as models have them.
TEST_F(BulkGpu, OfClustersForFewRows) {
  for (const auto& [n, k] :
       {std::pair{1280, 8192}, {576, 7168}, {1536, 8960}, {1536, 7168}, {2560, 4096}}) {
    GemmSpec spec = fed(n, k, DType::kBf16, 128, ZeroPoint::kNone, tile_of(64, 256, 1, 4));
    spec.tile.split_k = 5;
    check_in_turn(spec, {9, 16, 32});
    spec.shape.m_min = 33;
    spec.shape.m_max = 64;
    spec.tile = tile_of(64, 256, 2, 4);
    spec.tile.split_k = 6;
    check_in_turn(spec, {33, 64});
  }
}

TEST_F(BulkGpu, WithEverythingAround) {
  GemmSpec spec = fed(520, 4096, DType::kBf16, 128, ZeroPoint::kInt, tile_of(64, 512, 2, 4));
  spec.epilogue = {true, Activation::kSilu, true};
  check_in_turn(spec, kBulkTokens);
  spec.act_order = true;
  spec.pre_scale = true;
  check_in_turn(spec, kBulkTokens);
  GemmSpec nvfp4 = fed(520, 4096, DType::kFp16, 16, ZeroPoint::kNone, tile_of(64, 512, 2, 4));
  nvfp4.weight.type = WeightType::kE2m1;
  nvfp4.weight.scale_dtype = DType::kE4m3;
  nvfp4.weight.tensor_scale = true;
  check_in_turn(nvfp4, kBulkTokens);
  GemmSpec mxfp4 = fed(520, 4096, DType::kBf16, 32, ZeroPoint::kNone, tile_of(64, 512, 1, 8));
  mxfp4.weight.type = WeightType::kE2m1;
  mxfp4.weight.scale_dtype = DType::kE8m0;
  check_in_turn(mxfp4, kBulkTokens);
  GemmSpec fp8 =
      fed(520, 4096, DType::kFp16, kPerChannel, ZeroPoint::kNone, tile_of(64, 256, 2, 4));
  fp8.weight.type = WeightType::kE4m3;
  fp8.weight.bits = 8;
  fp8.weight.scale_dtype = DType::kFp32;
  check_in_turn(fp8, kBulkTokens);
  GemmSpec trtllm = fed(520, 4096, DType::kFp16, 64, ZeroPoint::kNone, tile_of(64, 512, 2, 4));
  trtllm.weight.interleave = Interleave::kTrtllm;
  check_in_turn(trtllm, kBulkTokens);
}

// One round of blocks with so many row blocks each, the last of them ragged.
TEST_F(BulkGpu, ForEveryNumberOfRowBlocks) {
  for (int row_blocks = 1; row_blocks <= 14; ++row_blocks) {
    const bool fp16 = row_blocks % 2 == 0;
    GemmSpec spec = spec_of(16 * 132 * row_blocks - 8, 4096, fp16 ? DType::kFp16 : DType::kBf16,
                            128, fp16 ? ZeroPoint::kInt : ZeroPoint::kNone);
    spec.shape.m_max = 32;
    check_in_turn(spec, {{1, 8}, {9, 16}, {17, 32}}, is_bulk, {6, 9, 16, 17});
  }
  for (const std::int64_t n : {3584, 8192}) {
    GemmSpec spec = spec_of(n, 14848, DType::kFp16, 128, ZeroPoint::kNone);
    spec.shape.m_max = 16;
    check_in_turn(spec, {1, 3, 5, 8, 9, 16});
    spec.weight.bits = 8;
    check_in_turn(spec, {3, 16});
  }
}

}  // namespace
}  // namespace heddle
