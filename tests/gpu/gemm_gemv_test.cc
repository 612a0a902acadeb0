// GEMM for one token on the GPU, whose weights go straight into registers: every kernel is asked
// for by itself, since the planner may take another family's.
#include <string>

#include "generator/families/gemm_family.h"
#include "tests/gpu/gemm_fixture.h"

namespace heddle {
namespace {

bool is_gemv(const PlannedKernel& kernel) { return kernel.family->name() == "gemv"; }

class GemvGpu : public GemmGpu {
 protected:
  // The predicted fastest of its kernels.
  void check_gemv(const GemmSpec& spec) { check_kernel(spec, is_gemv, {1}); }
  // Those with so many blocks along K.
  void check_split(const GemmSpec& spec, int split) {
    const std::string end = " split " + std::to_string(split);
    check_kernel(spec,
                 [&](const PlannedKernel& kernel) {
                   return is_gemv(kernel) && gemm_family_of(kernel).label(kernel).ends_with(end);
                 },
                 {1});
  }
  // All of them.
  void check_all(const GemmSpec& spec) {
    const Plan plan = resolve(Spec::from_gemm(spec), target());
    int count = 0;
    for (const Candidate& one : all_candidates(plan, {1, 1})) {
      if (!is_gemv(one.kernel)) continue;
      const std::string label = gemm_family_of(one.kernel).label(one.kernel);
      SCOPED_TRACE(label);
      ++count;
      check_kernel(spec,
                   [&](const PlannedKernel& kernel) {
                     return is_gemv(kernel) && gemm_family_of(kernel).label(kernel) == label;
                   },
                   {1});
    }
    EXPECT_GT(count, 0);
  }
};

GemmSpec one_token(std::int64_t n, std::int64_t k, DType dtype, int group, ZeroPoint zero) {
  GemmSpec spec = spec_of(n, k, dtype, group, zero);
  spec.shape.m_max = 1;
  return spec;
}

TEST_F(GemvGpu, EveryTypeAndGroup) {
  std::size_t i = 0;
  for (const int group : {16, 32, 64, 128, 256, kPerChannel, kPerTensor}) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt, ZeroPoint::kFloat}) {
      const DType dtype = rotate(kSixteenBitTypes, i++);
      if (group == kPerTensor && zero == ZeroPoint::kFloat) continue;
      check_gemv(one_token(1000, 2560, dtype, group, zero));
    }
  }
}

TEST_F(GemvGpu, EveryWidth) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt, ZeroPoint::kFloat}) {
      GemmSpec spec = one_token(1000, 4096, bits % 2 == 0 ? DType::kFp16 : DType::kBf16, 32, zero);
      spec.weight.bits = bits;
      check_gemv(spec);
    }
  }
}

// Ends of N inside of a row block, of K inside of a chunk; fewer chunks than warps, and warps with
// more chunks than others.
TEST_F(GemvGpu, RaggedShapes) {
  constexpr std::int64_t kRows[] = {8, 24, 136, 2120};
  std::size_t i = 0;
  for (const std::int64_t k : {32, 160, 896, 2208, 3584, 8320, 18944}) {
    for (int j = 0; j < 2; ++j) {  // a row block's end and a chunk's do not know of each other
      check_gemv(one_token(rotate(kRows, i++), k, DType::kFp16, 32, ZeroPoint::kInt));
    }
  }
}

// Warps, and chunks ahead, of the shapes that it is for.
TEST_F(GemvGpu, EveryCandidate) {
  for (const auto& [n, k] : {std::pair{896, 4864}, {4864, 896}, {1536, 1536}}) {
    check_all(one_token(n, k, DType::kFp16, 128, ZeroPoint::kNone));
  }
}

TEST_F(GemvGpu, BlocksThatShareK) {
  std::size_t i = 0;
  for (const int split : {2, 3, 4}) {
    for (const std::int64_t k : {1184, 2208, 4864}) {
      const GemmSpec specs[] = {one_token(136, k, DType::kFp16, 32, ZeroPoint::kInt),
                                one_token(520, k, DType::kBf16, 32, ZeroPoint::kFloat)};
      check_split(rotate(specs, i++), split);
    }
  }
}

// A warp copies X, and its scales, in several turns.
TEST_F(GemvGpu, LongRows) {
  for (const std::int64_t k : {28672, 57344}) {
    check_gemv(one_token(264, k, DType::kFp16, 32, ZeroPoint::kInt));
    check_gemv(one_token(264, k, DType::kBf16, 128, ZeroPoint::kNone));
  }
}

// More blocks than the GPU runs at a time.
TEST_F(GemvGpu, ManyRows) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    check_gemv(one_token(151936, 896, dtype, 128, ZeroPoint::kInt));
    check_gemv(one_token(28672, 4096, dtype, 64, ZeroPoint::kNone));
  }
}

TEST_F(GemvGpu, EveryOtherFormat) {
  GemmSpec nvfp4 = one_token(1000, 4096, DType::kFp16, 16, ZeroPoint::kNone);
  nvfp4.weight.type = WeightType::kE2m1;
  nvfp4.weight.scale_dtype = DType::kE4m3;
  nvfp4.weight.tensor_scale = true;
  check_gemv(nvfp4);
  nvfp4.activation = DType::kBf16;
  check_gemv(nvfp4);
  GemmSpec mxfp4 = one_token(1000, 4096, DType::kBf16, 32, ZeroPoint::kNone);
  mxfp4.weight.type = WeightType::kE2m1;
  mxfp4.weight.scale_dtype = DType::kE8m0;
  check_gemv(mxfp4);
  for (const int group : {128, kPerChannel}) {
    GemmSpec fp8 = one_token(1000, 4096, DType::kFp16, group, ZeroPoint::kNone);
    fp8.weight.type = WeightType::kE4m3;
    fp8.weight.bits = 8;
    check_gemv(fp8);
    fp8.weight.scale_dtype = DType::kFp32;
    check_gemv(fp8);
  }
  GemmSpec nf4 = one_token(1000, 4096, DType::kBf16, 64, ZeroPoint::kNone);
  nf4.weight.type = WeightType::kNf4;
  check_gemv(nf4);
  for (const int bits : {4, 8}) {
    GemmSpec trtllm = one_token(1000, 4096, DType::kFp16, 64, ZeroPoint::kNone);
    trtllm.weight.bits = bits;
    trtllm.weight.interleave = Interleave::kTrtllm;
    check_gemv(trtllm);
  }
}

TEST_F(GemvGpu, EverythingAround) {
  for (const bool act_order : {false, true}) {
    GemmSpec spec = one_token(520, 4096, DType::kBf16, 128, ZeroPoint::kInt);
    spec.epilogue = {true, Activation::kSilu, true};
    spec.pre_scale = true;
    spec.act_order = act_order;
    check_split(spec, 1);
    check_split(spec, 2);
  }
}

// The matrix instruction of sm_75, wherever this runs.
TEST_F(GemvGpu, ThePathTuring) {
  for (const int bits : {3, 4, 8}) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt, ZeroPoint::kFloat}) {
      GemmSpec spec = one_token(1000, 2208, DType::kFp16, 32, zero);
      spec.weight.bits = bits;
      spec.path = Path::kTuring;
      check_gemv(spec);
    }
  }
}

}  // namespace
}  // namespace heddle
