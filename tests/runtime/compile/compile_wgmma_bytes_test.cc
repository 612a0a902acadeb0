// GEMM with wgmma of tokens of eight bits: every tile, with what may surround the product, compiles
// without spills. Needs NVRTC, not a GPU.
#include "tests/byte_gemm.h"
#include "tests/runtime/compile_wgmma.h"

namespace heddle {
namespace {

class CompileWgmmaBytes : public CompileWgmma {};

// Nothing is decoded: every tile, alone, in pairs and in shares, with what may surround the
// product.
TEST_F(CompileWgmmaBytes, EightBits) {
  std::vector<Source> sources;
  int turn = 0;
  for (const DType dtype : {DType::kInt8, DType::kFp8E4m3, DType::kFp8E5m2}) {
    for (const auto& [m, n] : every_tile((dtype == DType::kInt8 ? 192 : 128) * 256)) {
      // One of three types in turn, and of FP8 one way to add.
      if (!every_kernel() && ++turn % 3 != static_cast<int>(dtype) % 3) continue;
      GemmSpec spec = byte_gemm(1032, 1280, dtype);
      if (dtype != DType::kInt8 && turn % 2 == 0) spec.accumulation = Accumulation::kFast;
      if (dtype == DType::kInt8) spec.activation_scale.symmetric = turn % 2 == 0;
      if (turn % 4 == 0) spec.epilogue = {true, Activation::kSilu, true};
      if (turn % 5 == 0) spec.output = DType::kFp32;
      spec.tile.m = m;
      spec.tile.n = n;
      add_tile(spec, turn, &sources);
    }
  }
  check(sources);
}

// Every tile, with what may surround the product.
TEST_F(CompileWgmmaBytes, Blocks) {
  std::vector<Source> sources;
  int turn = 0;
  for (const auto& [m, n] : every_tile()) {
    ++turn;
    GemmSpec spec = block_gemm(turn % 3 == 0 ? 1024 : 1032, 1280);
    if (turn % 2 == 0) spec.activation_scale.scale_dtype = RowScaleDtype::kE8m0;
    if (turn % 3 == 0) spec.epilogue = {true, Activation::kSilu, false, true};
    if (turn % 5 == 0) spec.output = DType::kFp32;
    spec.tile.m = m;
    spec.tile.n = n;
    add_tile(spec, turn, &sources);
  }
  check(sources);
}

// Every tile of weights of four bits, with sums of groups, of all of K, and promoted.
TEST_F(CompileWgmmaBytes, FourBits) {
  std::vector<Source> sources;
  int turn = 0;
  for (const DType dtype : {DType::kInt8, DType::kFp8E4m3}) {
    for (const auto& [m, n] : every_tile()) {
      for (const int group : {128, 32, kPerChannel}) {
        // One of the ways to scale in turn.
        if (!has_four_bit_tile(dtype, group, m, n)) continue;
        ++turn;
        if (!every_kernel() && (turn + m / 32) % 3 != 0) continue;
        GemmSpec spec = four_bit_gemm(turn % 3 == 0 ? 1024 : 1032, 1280, dtype, group);
        if (turn % 2 == 0) spec.weight.zero_point = ZeroPoint::kInt;
        if (turn % 5 == 0) spec.epilogue = {true, Activation::kSilu, true};
        if (turn % 3 == 0) spec.epilogue = {false, Activation::kSilu, false, true};
        if (turn % 7 == 0) spec.output = DType::kFp32;
        spec.tile.m = m;
        spec.tile.n = n;
        add_tile(spec, turn, &sources);
      }
    }
  }
  check(sources);
}

// Every tile that sums of all of K have, with short groups and long ones.
TEST_F(CompileWgmmaBytes, TwoLevels) {
  std::vector<Source> sources;
  int turn = 0;
  for (const auto& [m, n] : every_tile()) {
    for (const int group : {32, 128}) {
      if (!has_four_bit_tile(DType::kInt8, kPerChannel, m, n)) continue;
      ++turn;
      if (!every_kernel() && (turn + m / 32) % 4 != 0) continue;
      GemmSpec spec = two_level_gemm(turn % 3 == 0 ? 1024 : 1032, 1280, group);
      if (turn % 4 != 0) spec.weight.zero_point = ZeroPoint::kInt;
      if (turn % 5 == 0) spec.epilogue = {true, Activation::kSilu, true};
      if (turn % 3 == 0) spec.epilogue = {false, Activation::kSilu, false, true};
      if (turn % 7 == 0) spec.output = DType::kFp32;
      spec.tile.m = m;
      spec.tile.n = n;
      add_tile(spec, turn, &sources);
    }
  }
  check(sources);
}

}  // namespace
}  // namespace heddle
