#include "runtime/launch/row_transform_launch.h"

#include <cstdint>

#include "generator/operations/launch_size.h"
#include "heddle/weights.h"
#include "runtime/launch/byte_pointers.h"
#include "runtime/launch/group_scales.h"
#include "runtime/launch/kernel_state.h"
#include "runtime/launch/launch_checks.h"

namespace heddle {
namespace {

// Precondition: Y has scales of groups.
GroupScales group_scales(const RowTransformSpec& spec) noexcept {
  return {spec.groups(), spec.output.scale_dtype, spec.output.scale_layout};
}

}  // namespace

void check_scale_stride(const RowTransformSpec& spec, std::int64_t m, std::int64_t stride) {
  if (spec.output.granularity == RowGranularity::kGroup) {
    group_scales(spec).check_stride("scale_stride", m, stride);
  } else {
    check_no_scale_stride("scale_stride", stride);
  }
}

namespace {

std::size_t y_bytes(const RowTransformSpec& spec, const RowTransformArgs& args) {
  const std::int64_t columns = spec.shape.columns;
  return byte_count((args.m - 1) * stride_or_dense(args.y_stride, columns) + columns,
                    bytes_of(spec.output.dtype));
}

struct NamedMemory {
  const char* name;
  MemoryRows rows;
};

void refuse_overlaps(const RowTransformSpec& spec, const RowTransformArgs& args) {
  const std::int64_t columns = spec.shape.columns;
  const auto vector = [&](const DeviceInput& memory) {
    return memory_rows(memory, 1, 0, columns, spec.input);
  };
  const std::int64_t element = bytes_of(spec.output.dtype);
  const std::size_t zero_bytes = byte_count(args.m, sizeof(std::int32_t));
  const NamedMemory x{"x",
                      memory_rows(args.x, args.m, args.x_stride, spec.x_columns(), spec.input)};
  const NamedMemory outputs[] = {
      {"residual", memory_rows(args.residual, args.m, 0, columns, spec.input)},
      {"y",
       {args.y.data, args.m, columns * element, stride_or_dense(args.y_stride, columns) * element}},
      {"scales", memory_bytes(args.scales.data, row_scale_bytes(spec, args.m, args.scale_stride))},
      {"zero_points", memory_bytes(args.zero_points.data, zero_bytes)}};
  const NamedMemory inputs[] = {
      {"weight", vector(args.weight)},
      {"bias", vector(args.bias)},
      {"pre_scale", vector(args.pre_scale)},
      {"tensor_scale", memory_bytes(args.tensor_scale.data, sizeof(float))}};
  for (const NamedMemory& output : outputs) {
    // check_in_place() is for Y that is X.
    if (output.rows.data != args.y.data || args.x.data != args.y.data) {
      refuse_overlap(output.name, output.rows, x.name, x.rows);
    }
    for (const NamedMemory& input : inputs) {
      refuse_overlap(input.name, input.rows, output.name, output.rows);
    }
    for (const NamedMemory& other : outputs) {
      if (&other > &output) refuse_overlap(output.name, output.rows, other.name, other.rows);
    }
  }
}

void check_in_place(const RowTransformSpec& spec, const RowTransformArgs& args) {
  const auto refuse = [](const char* why) { refuse_launch("launch.overlap", why); };
  if (args.residual.data != nullptr) {
    if (args.residual.data == args.x.data) refuse("residual is x");
    if (args.residual.data == args.y.data) refuse("residual is y: it gets the sums, y the norm");
  }
  if (args.x.data != args.y.data) return;
  if (spec.output.is_quantized()) {
    refuse("y is x, of which it has other bytes: a row would overwrite another one");
  }
  if (spec.gate.order == GateOrder::kInterleaved) {
    refuse("y is x, whose elements an interleaved gate reads elsewhere than it writes");
  }
  if (args.m > 1 && stride_or_dense(args.x_stride, spec.x_columns()) !=
                        stride_or_dense(args.y_stride, spec.shape.columns)) {
    refuse("y is x with another stride: a row would overwrite another one");
  }
}

}  // namespace

std::size_t row_scale_bytes(const RowTransformSpec& spec, std::int64_t m,
                            std::int64_t scale_stride) noexcept {
  if (m == 0) return 0;
  switch (spec.output.granularity) {
    case RowGranularity::kNone:
    case RowGranularity::kTensor:
      return 0;
    case RowGranularity::kToken:
      return byte_count(m, sizeof(float));
    case RowGranularity::kGroup:
      break;
  }
  return group_scales(spec).bytes(m, scale_stride);
}

void validate(const Plan& plan, const RowTransformArgs& args) {
  const RowTransformSpec& spec = plan.spec.row_transform();
  const RowOutputSpec& output = spec.output;
  const std::int64_t columns = spec.shape.columns;
  const std::size_t row_bytes = byte_count(columns, bytes_of(spec.input));
  if (args.m == 0) return;
  check_m(plan.spec.m_range(), args.m);
  check_stride(args.x_stride, spec.x_columns(), "x_stride");
  check_stride(args.y_stride, columns, "y_stride");
  check_scale_stride(spec, args.m, args.scale_stride);
  check_required(args.x, strided_bytes(args.m, args.x_stride, spec.x_columns(), spec.input), "x");
  check_required(args.y, y_bytes(spec, args), "y");
  check_wanted(args.residual, spec.residual, strided_bytes(args.m, 0, columns, spec.input),
               "residual");
  check_wanted(args.weight, spec.norm.type != NormType::kNone, row_bytes, "weight");
  check_wanted(args.bias, spec.norm.bias, row_bytes, "bias");
  check_wanted(args.pre_scale, output.pre_scale, row_bytes, "pre_scale");
  check_wanted(args.tensor_scale, output.granularity == RowGranularity::kTensor, sizeof(float),
               "tensor_scale", alignof(float));
  const std::size_t scales = row_scale_bytes(spec, args.m, args.scale_stride);
  check_wanted(args.scales, scales != 0, scales, "scales");
  check_wanted(args.zero_points, !output.symmetric, byte_count(args.m, sizeof(std::int32_t)),
               "zero_points");
  check_in_place(spec, args);
  refuse_overlaps(spec, args);
}

RowTransformParameters row_transform_parameters(const Plan& plan,
                                                const RowTransformArgs& args) noexcept {
  const RowTransformSpec& spec = plan.spec.row_transform();
  return {bytes(args.x),
          bytes(args.residual),
          bytes(args.weight),
          bytes(args.bias),
          bytes(args.pre_scale),
          floats(args.tensor_scale),
          bytes(args.y),
          bytes(args.scales),
          static_cast<int*>(args.zero_points.data),
          stride_bytes(args.x_stride, spec.x_columns(), spec.input),
          stride_or_dense(args.y_stride, spec.shape.columns) * bytes_of(spec.output.dtype),
          group_scales(spec).stride_of(args.m, args.scale_stride),
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

}  // namespace heddle
