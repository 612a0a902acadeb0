#include "tools/gpu_harness/operations/row_transform/bench.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "generator/families/family.h"
#include "heddle/inspect/plan.h"
#include "heddle/weights.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/timing/rotation.h"
#include "tools/gpu_harness/timing/stream.h"

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

Timing time_rows(const RowTransformKernel& kernel, std::int64_t m, const OwnedStream& stream,
                 const TimingBudget& budget) {
  const RowTransformSpec& spec = kernel.plan().spec.row_transform();
  const Rows rows = rows_of(spec, m);
  const bool norm = spec.norm.type != NormType::kNone;
  const std::size_t vector_bytes =
      static_cast<std::size_t>(spec.shape.columns * bytes_of(spec.input));
  const int vectors = (norm ? 1 : 0) + (spec.norm.bias ? 1 : 0) + (spec.output.pre_scale ? 1 : 0);
  Timing timing;
  timing.read_bytes = rows.x + rows.residual + vector_bytes * static_cast<std::size_t>(vectors);
  timing.written_bytes = rows.y + rows.residual + rows.scales + rows.zero_points;
  {
    DeviceBuffer weights(3 * vector_bytes);
    weights.fill(0, stream);
    const DeviceBuffer tensor_scale = to_device(std::vector<float>{1}, stream);
    const std::vector<DeviceBuffer> buffers =
        rotating_buffers(copies_for(rows.bytes()), rows.bytes(), 0, stream);
    const auto launch = [&](int i) {
      RowTransformArgs args = rows.args(turn_of(buffers, static_cast<std::size_t>(i)));
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
  time_stream(stream, budget, &timing);
  return timing;
}

// Those of the usual numbers of rows that the spec has.
std::vector<std::int64_t> usual_rows(const MRange& range) {
  std::vector<std::int64_t> usual = {1, 16, 256, 4096};
  std::erase_if(usual, [&](std::int64_t m) { return m < range.min || m > range.max; });
  return usual.empty() ? std::vector{range.min} : usual;
}

}  // namespace

BenchReport bench_rows(const RowTransformKernel& kernel, const BenchOptions& options) {
  const cuda::CurrentContext context;
  const OwnedStream stream;
  const Plan& plan = kernel.plan();
  const double read_tb_per_s = read_rate(HelperKernels(), stream);
  BenchReport report;
  report.facts["read_tb_per_s"] = read_tb_per_s;
  for (const std::int64_t m : options.m.empty() ? usual_rows(plan.spec.m_range()) : options.m) {
    const Timing timing = time_rows(kernel, m, stream, options.budget);
    // A launch, and all bytes once at the rate of a streaming read.
    const double floor_us = plan.target.launch_us + timing.bytes() / read_tb_per_s * 1e-6;
    const PlannedKernel& planned = plan.kernels[plan.kernel_for(m)];
    Cells cells = {number("m", "M", m, fmt::format("{}", m)), fact("kernel", planned.name),
                   word("", "TILE", planned.family->tile_text(planned))};
    for (Cell& cell : stream_cells(timing)) cells.push_back(std::move(cell));
    cells.push_back(number("floor_us", "FLOOR us", floor_us, 2));
    cells.push_back(number("times_floor", "TIMES FLOOR", timing.us / floor_us, 2));
    report.rows.push_back(std::move(cells));
  }
  report.legend =
      stream_legend(plan.target) +
      fmt::format("FLOOR is a launch and the bytes at {:.2f} TB/s, a streaming read in this run\n",
                  read_tb_per_s);
  return report;
}

}  // namespace heddle
