#include "tests/gpu/gemm_fixture.h"
#include "tools/gpu_harness/operations/row_transform/behind_bench.h"

namespace heddle {
namespace {

class RowBehindGpu : public GemmGpu {
 protected:
  bool makes_kernels() const override { return false; }
};

TEST_F(RowBehindGpu, APairTakesLongerThanTheGemmAlone) {
  GemmSpec gemm = spec_of(1024, 4096, DType::kFp16, 128, ZeroPoint::kInt);
  gemm.shape.m_max = 8;
  RowTransformSpec rows;
  rows.shape = {1024, 1, 8};
  rows.input = DType::kFp16;
  rows.output.dtype = RowDtype::kFp16;
  rows.residual = true;
  rows.norm = {NormType::kRms, 1e-5F};
  const RowBehindTiming timing =
      bench_rows_behind(runtime().kernel<GemmKernel>(Spec::from_gemm(gemm)),
                        runtime().kernel<RowTransformKernel>(Spec::from_row_transform(rows)), 1);
  EXPECT_GT(timing.gemm_us, 0);
  EXPECT_GT(timing.added_us(), 0);
}

}  // namespace
}  // namespace heddle
