#include "tests/runtime/fake_device.h"
#include "tools/gpu_harness/operations/row_transform/behind_bench.h"

namespace heddle {
namespace {

class RowBehindBenchTest : public testing::FakeDevice {
 protected:
  RowBehindTiming bench(std::int64_t columns) {
    Runtime runtime(options_);
    RowTransformSpec rows;
    rows.shape = {columns, 1, 8};
    rows.input = DType::kFp16;
    rows.output.dtype = RowDtype::kFp16;
    rows.residual = true;
    rows.norm = {NormType::kRms, 1e-5F};
    return bench_rows_behind(runtime.kernel<GemmKernel>(testing::gemm_spec()),
                             runtime.kernel<RowTransformKernel>(Spec::from_row_transform(rows)), 1);
  }
};

TEST_F(RowBehindBenchTest, TellsWhatTheRowsAdd) {
  const RowBehindTiming timing = bench(256);
  EXPECT_GE(timing.gemm_us, 1 - 1e-3);
  EXPECT_NEAR(timing.added_us(), 1, 1e-3);
  EXPECT_EQ(fake::live_device_bytes(), 0U);
}

TEST_F(RowBehindBenchTest, RefusesRowsThatTheGemmDoesNotWrite) {
  try {
    bench(512);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "harness.behind");
  }
}

}  // namespace
}  // namespace heddle
