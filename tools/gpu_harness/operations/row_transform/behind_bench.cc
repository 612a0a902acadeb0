#include "tools/gpu_harness/operations/row_transform/behind_bench.h"

#include <fmt/format.h>

#include <tuple>

#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "heddle/weights.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/operations/gemm/tensors.h"
#include "tools/gpu_harness/operations/gemm/weight_copies.h"
#include "tools/gpu_harness/timing/rotation.h"

namespace heddle {
namespace {

void check_fits(const GemmSpec& gemm, const RowTransformSpec& rows) {
  if (gemm.output_columns() == rows.x_columns() && gemm.output_dtype() == rows.input) return;
  throw Error(
      ErrorCategory::kUsage, "harness.behind",
      fmt::format("the GEMM writes {} columns of {}, and the rows are made of {} columns of {}",
                  gemm.output_columns(), to_string(gemm.output_dtype()), rows.x_columns(),
                  to_string(rows.input)));
}

}  // namespace

RowBehindTiming bench_rows_behind(const GemmKernel& gemm, const RowTransformKernel& rows,
                                  std::int64_t m, const TimingBudget& budget) {
  const GemmSpec& gemm_spec = gemm.plan().spec.gemm();
  const RowTransformSpec& spec = rows.plan().spec.row_transform();
  check_fits(gemm_spec, spec);
  const cuda::CurrentContext context;
  const OwnedStream stream;
  const HelperKernels helpers;
  const GemmTensors tensors = make_gemm_tensors(gemm, m, kBenchSeed, helpers, stream);
  const WeightCopies weights(gemm_spec, helpers, stream);
  const std::vector<DeviceBuffer>& copies = weights.packed();
  const auto bytes = static_cast<std::size_t>(m * spec.shape.columns);
  const DeviceBuffer y(bytes * static_cast<std::size_t>(bytes_of(spec.output.dtype)));
  DeviceBuffer residual(spec.residual ? 2 * bytes : 0);
  residual.fill(0, stream);
  DeviceBuffer vectors(static_cast<std::size_t>(2 * spec.shape.columns));
  vectors.fill(0, stream);
  const DeviceBuffer tensor_scale = to_device(std::vector<float>{1}, stream);
  const DeviceBuffer scales(row_scale_bytes(spec, m));
  const DeviceBuffer zero_points(
      spec.output.symmetric ? 0 : static_cast<std::size_t>(m) * sizeof(std::int32_t));
  stream.synchronize();

  const auto gemm_args = [&](std::size_t i) {
    return tensors.args(m, copies[i % copies.size()].memory());
  };
  RowTransformArgs row_args;
  row_args.x = gemm_args(0).y;
  row_args.y = y.memory();
  row_args.residual = residual.memory();
  if (spec.norm.type != NormType::kNone) row_args.weight = vectors.memory();
  if (spec.norm.bias) row_args.bias = vectors.memory();
  if (spec.output.pre_scale) row_args.pre_scale = vectors.memory();
  if (spec.output.granularity == RowGranularity::kTensor) {
    row_args.tensor_scale = tensor_scale.memory();
  }
  row_args.scales = scales.memory();
  row_args.zero_points = zero_points.memory();
  row_args.m = m;
  const int round = static_cast<int>(copies.size());
  const TimedRound alone{
      round, [&](int i) { gemm.launch(gemm_args(static_cast<std::size_t>(i)), stream.get()); }};
  const TimedRound pairs{2 * round, [&](int i) {
                           if (i % 2 == 1) return rows.launch(row_args, stream.get());
                           gemm.launch(gemm_args(static_cast<std::size_t>(i / 2)), stream.get());
                         }};
  RowBehindTiming timing;
  std::tie(timing.gemm_us, timing.pair_us) = time_in_turns(stream, alone, pairs, budget);
  timing.pair_us *= 2;  // of two launches
  return timing;
}

}  // namespace heddle
