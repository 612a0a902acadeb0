#include "tools/gpu_harness/row_bench.h"

#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/weights.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/bench_data.h"
#include "tools/gpu_harness/read_rate.h"

namespace heddle {
namespace {

// What one launch reads and writes of its own, behind each other.
struct Rows {
  std::size_t x = 0;  // bytes
  std::size_t y = 0;
  std::size_t residual = 0;
  std::size_t scales = 0;
  std::size_t zero_points = 0;

  // Bytes of a part in the buffer, so that the next one is aligned.
  static std::size_t room(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
  std::size_t bytes() const {
    return room(x) + room(y) + room(residual) + room(scales) + room(zero_points);
  }

  RowTransformArgs args(const DeviceBuffer& buffer) const {
    RowTransformArgs args;
    std::size_t at = 0;
    const auto next = [&](std::size_t bytes) -> DeviceOutput {
      if (bytes == 0) return {};
      at += room(bytes);
      return buffer.memory(at - room(bytes), bytes);
    };
    args.x = next(x);
    args.y = next(y);
    args.residual = next(residual);
    args.scales = next(scales);
    args.zero_points = next(zero_points);
    return args;
  }
};

Rows rows_of(const RowTransformSpec& spec, std::int64_t m) {
  const auto bytes = [&](std::int64_t columns, int element) {
    return static_cast<std::size_t>(m * columns * element);
  };
  Rows rows;
  rows.x = bytes(spec.x_columns(), bytes_of(spec.input));
  rows.y = bytes(spec.shape.columns, bytes_of(spec.output.dtype));
  if (spec.residual) rows.residual = bytes(spec.shape.columns, bytes_of(spec.input));
  rows.scales = row_scale_bytes(spec, m);
  if (!spec.output.symmetric) rows.zero_points = bytes(1, sizeof(std::int32_t));
  return rows;
}

RowTiming time_rows(const RowTransformKernel& kernel, std::int64_t m, double read_tb_per_s,
                    const OwnedStream& stream, const TimingBudget& budget) {
  const RowTransformSpec& spec = kernel.plan().spec.row_transform();
  const Rows rows = rows_of(spec, m);
  const bool norm = spec.norm.type != NormType::kNone;
  const std::size_t vector_bytes =
      static_cast<std::size_t>(spec.shape.columns * bytes_of(spec.input));
  const int vectors = (norm ? 1 : 0) + (spec.norm.bias ? 1 : 0) + (spec.output.pre_scale ? 1 : 0);
  RowTiming timing;
  timing.read_bytes = rows.x + rows.residual + vector_bytes * static_cast<std::size_t>(vectors);
  timing.written_bytes = rows.y + rows.residual + rows.scales + rows.zero_points;
  timing.floor_us =
      kernel.plan().target.launch_us +
      static_cast<double>(timing.read_bytes + timing.written_bytes) / read_tb_per_s * 1e-6;
  {
    DeviceBuffer weights(3 * vector_bytes);
    weights.fill(0, stream);
    const DeviceBuffer tensor_scale = to_device(std::vector<float>{1}, stream);
    std::vector<DeviceBuffer> buffers;
    for (std::size_t i = 0; i < copies_for(rows.bytes()); ++i) {
      buffers.emplace_back(rows.bytes());
      buffers.back().fill(0, stream);
    }
    stream.synchronize();
    const auto launch = [&](int i) {
      RowTransformArgs args = rows.args(buffers[static_cast<std::size_t>(i) % buffers.size()]);
      args.m = m;
      if (norm) args.weight = weights.memory(0, vector_bytes);
      if (spec.norm.bias) args.bias = weights.memory(vector_bytes, vector_bytes);
      if (spec.output.pre_scale) args.pre_scale = weights.memory(2 * vector_bytes, vector_bytes);
      if (spec.output.granularity == RowGranularity::kTensor) {
        args.tensor_scale = tensor_scale.memory();
      }
      kernel.launch(args, stream.get());
    };
    timing.us = time_in_graph(stream, static_cast<int>(buffers.size()), budget, launch);
  }
  timing.gb_per_s =
      static_cast<double>(timing.read_bytes + timing.written_bytes) / timing.us * 1e-3;
  time_stream(stream, budget, &timing);
  return timing;
}

}  // namespace

RowBenchReport bench_rows(const RowTransformKernel& kernel, const std::vector<std::int64_t>& m_list,
                          const TimingBudget& budget) {
  const cuda::CurrentContext context;
  const OwnedStream stream;
  RowBenchReport report;
  report.read_tb_per_s = read_rate(HelperKernels(), stream);
  for (const std::int64_t m : m_list) {
    report.rows.push_back(time_rows(kernel, m, report.read_tb_per_s, stream, budget));
  }
  return report;
}

}  // namespace heddle
