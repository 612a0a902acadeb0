#include "runtime/row_transform_launch.h"

#include <fmt/core.h>

#include <limits>

#include "heddle/weights.h"
#include "runtime/byte_pointers.h"
#include "runtime/kernel_state.h"
#include "runtime/launch_checks.h"

namespace heddle {
namespace {

constexpr std::int64_t kStrideStep = 8;  // elements: 16 bytes
constexpr std::int64_t kMostStride = std::numeric_limits<std::int32_t>::max();

void check_m(const RowShape& shape, std::int64_t m) {
  if (m == 0 || (m >= shape.m_min && m <= shape.m_max)) return;
  refuse_launch("launch.m", fmt::format("m = {} is outside of the spec's shape.m, {} to {}", m,
                                        shape.m_min, shape.m_max));
}

void check_stride(std::int64_t stride, std::int64_t row, const char* name) {
  if (stride == 0) return;
  if (stride >= row && stride <= kMostStride && stride % kStrideStep == 0) return;
  refuse_launch("launch.size",
                fmt::format("{} = {} is neither 0 nor a multiple of {} from {} to {}", name, stride,
                            kStrideStep, row, kMostStride));
}

std::int64_t stride_or(std::int64_t stride, std::int64_t row) { return stride == 0 ? row : stride; }

// What can be told from the pointers alone: parts of wider rows may lie between each other.
void check_overlaps(const RowTransformSpec& spec, const RowTransformArgs& args) {
  const auto refuse = [](const char* why) { refuse_launch("launch.overlap", why); };
  if (args.residual.data != nullptr) {
    if (args.residual.data == args.x.data) refuse("residual is x");
    if (args.residual.data == args.y.data)
      refuse("residual is y: it receives the sums, y the norm");
  }
  if (args.x.data != args.y.data || args.m == 0) return;
  if (spec.gate.order == GateOrder::kInterleaved) {
    refuse("y is x, whose elements an interleaved gate reads elsewhere than it writes");
  }
  if (args.m > 1 &&
      stride_or(args.x_stride, spec.x_columns()) != stride_or(args.y_stride, spec.shape.columns)) {
    refuse("y is x with another stride: a row would overwrite another one");
  }
}

// Bytes from the first element of the first row to the last one of the last row. Strides of fewer
// than 2^31 elements and rows that are counted in 31 bits fit.
std::size_t matrix_bytes(std::int64_t m, std::int64_t stride, std::int64_t row, DType dtype) {
  return m == 0 ? 0 : byte_count((m - 1) * stride_or(stride, row) + row, bytes_of(dtype));
}

}  // namespace

void validate(const Plan& plan, const RowTransformArgs& args) {
  const RowTransformSpec& spec = plan.spec.row_transform();
  const std::int64_t columns = spec.shape.columns;
  const std::size_t row_bytes = byte_count(columns, bytes_of(spec.input));
  check_m(spec.shape, args.m);
  check_stride(args.x_stride, spec.x_columns(), "x_stride");
  check_stride(args.y_stride, columns, "y_stride");
  check_required(args.x, matrix_bytes(args.m, args.x_stride, spec.x_columns(), spec.input), "x");
  check_required(args.y, matrix_bytes(args.m, args.y_stride, columns, spec.output), "y");
  check_wanted(args.residual, spec.residual, matrix_bytes(args.m, 0, columns, spec.input),
               "residual");
  check_wanted(args.weight, spec.norm.type != NormType::kNone, row_bytes, "weight");
  check_wanted(args.bias, spec.norm.bias, row_bytes, "bias");
  check_overlaps(spec, args);
}

RowTransformParameters row_transform_parameters(const Plan& plan,
                                                const RowTransformArgs& args) noexcept {
  const RowTransformSpec& spec = plan.spec.row_transform();
  return {bytes(args.x),
          bytes(args.residual),
          bytes(args.weight),
          bytes(args.bias),
          bytes(args.y),
          stride_or(args.x_stride, spec.x_columns()) * bytes_of(spec.input),
          stride_or(args.y_stride, spec.shape.columns) * bytes_of(spec.output),
          static_cast<int>(args.m)};
}

void launch(const Kernel::State& state, const RowTransformArgs& args, Stream stream) {
  validate(state.plan, args);
  if (args.m == 0) return;
  const RowTransformParameters parameters = row_transform_parameters(state.plan, args);
  ArgumentList arguments;
  arguments.set(KernelArgument::kParameters, &parameters);
  state.launch(state.plan.kernel_for(args.m), {args.m}, arguments, stream);
}

void RowTransformKernel::launch(const RowTransformArgs& args, Stream stream) const {
  heddle::launch(kernel().state(), args, stream);
}

}  // namespace heddle
