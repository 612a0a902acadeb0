#include "runtime/row_transform_launch.h"

#include <fmt/core.h>

#include <cstdint>

#include "heddle/weights.h"
#include "runtime/byte_pointers.h"
#include "runtime/kernel_state.h"
#include "runtime/launch_checks.h"

namespace heddle {
namespace {

void check_m(const RowShape& shape, std::int64_t m) {
  if (m == 0 || (m >= shape.m_min && m <= shape.m_max)) return;
  refuse_launch("launch.m", fmt::format("m = {} is outside of the spec's shape.m, {} to {}", m,
                                        shape.m_min, shape.m_max));
}

// Refuses outputs that overlap what is read. Rows with a stride may interleave, so only their
// pointers are compared.
void check_overlaps(const RowTransformSpec& spec, const RowTransformArgs& args) {
  const std::int64_t columns = spec.shape.columns;
  const DenseRows x = dense_rows(args.x, args.m, args.x_stride, spec.x_columns(), spec.input);
  const DenseRows y = dense_rows(args.y, args.m, args.y_stride, columns, spec.output);
  const DenseRows residual = dense_rows(args.residual, args.m, 0, columns, spec.input);
  const DenseRows weight = dense_rows(args.weight, 1, 0, columns, spec.input);
  const DenseRows bias = dense_rows(args.bias, 1, 0, columns, spec.input);
  refuse_overlap("residual", residual, "x", x);
  refuse_overlap("residual", residual, "y", y);
  refuse_overlap("weight", weight, "y", y);
  refuse_overlap("weight", weight, "residual", residual);
  refuse_overlap("bias", bias, "y", y);
  refuse_overlap("bias", bias, "residual", residual);
  const auto refuse = [](const char* why) { refuse_launch("launch.overlap", why); };
  if (args.residual.data != nullptr) {
    if (args.residual.data == args.x.data) refuse("residual is x");
    if (args.residual.data == args.y.data) refuse("residual is y: it gets the sums, y the norm");
  }
  if (args.x.data != args.y.data) return refuse_overlap("x", x, "y", y);
  if (spec.gate.order == GateOrder::kInterleaved) {
    refuse("y is x, whose elements an interleaved gate reads elsewhere than it writes");
  }
  if (args.m > 1 &&
      stride_or_dense(args.x_stride, spec.x_columns()) != stride_or_dense(args.y_stride, columns)) {
    refuse("y is x with another stride: a row would overwrite another one");
  }
}

}  // namespace

void validate(const Plan& plan, const RowTransformArgs& args) {
  const RowTransformSpec& spec = plan.spec.row_transform();
  const std::int64_t columns = spec.shape.columns;
  const std::size_t row_bytes = byte_count(columns, bytes_of(spec.input));
  check_m(spec.shape, args.m);
  if (args.m == 0) return;
  check_stride(args.x_stride, spec.x_columns(), "x_stride");
  check_stride(args.y_stride, columns, "y_stride");
  check_required(args.x, strided_bytes(args.m, args.x_stride, spec.x_columns(), spec.input), "x");
  check_required(args.y, strided_bytes(args.m, args.y_stride, columns, spec.output), "y");
  check_wanted(args.residual, spec.residual, strided_bytes(args.m, 0, columns, spec.input),
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
          stride_bytes(args.x_stride, spec.x_columns(), spec.input),
          stride_bytes(args.y_stride, spec.shape.columns, spec.output),
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
