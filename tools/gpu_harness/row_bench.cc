#include "tools/gpu_harness/row_bench.h"

#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/weights.h"
#include "runtime/context.h"

namespace heddle {
namespace {

// X, the residual and Y of one launch, behind each other.
struct Rows {
  std::size_t x = 0;  // bytes
  std::size_t y = 0;
  std::size_t residual = 0;

  std::size_t bytes() const { return x + y + residual; }
};

Rows rows_of(const RowTransformSpec& spec, std::int64_t m) {
  const auto bytes = [&](std::int64_t columns, DType dtype) {
    return static_cast<std::size_t>(m * columns * bytes_of(dtype));
  };
  const std::size_t residual = spec.residual ? bytes(spec.shape.columns, spec.input) : 0;
  return {bytes(spec.x_columns(), spec.input), bytes(spec.shape.columns, spec.output), residual};
}

}  // namespace

PackingTiming bench_rows(const RowTransformKernel& kernel, std::int64_t m,
                         const TimingBudget& budget) {
  const cuda::CurrentContext context;
  const OwnedStream stream;
  const RowTransformSpec& spec = kernel.plan().spec.row_transform();
  const Rows rows = rows_of(spec, m);
  const bool norm = spec.norm.type != NormType::kNone;
  const std::size_t weight_bytes =
      norm ? static_cast<std::size_t>(spec.shape.columns * bytes_of(spec.input)) : 0;
  PackingTiming timing;
  timing.read_bytes = rows.x + rows.residual + weight_bytes * (spec.norm.bias ? 2 : 1);
  timing.written_bytes = rows.y + rows.residual;
  {
    DeviceBuffer weights(2 * weight_bytes);
    weights.fill(0, stream);
    std::vector<DeviceBuffer> buffers;
    for (int i = 0; i < rotation_copies(rows.bytes()); ++i) {
      buffers.emplace_back(rows.bytes());
      buffers.back().fill(0, stream);
    }
    stream.synchronize();
    const auto launch = [&](int i) {
      const DeviceBuffer& buffer = buffers[static_cast<std::size_t>(i) % buffers.size()];
      RowTransformArgs args;
      args.m = m;
      args.x = buffer.memory(0, rows.x);
      args.y = buffer.memory(rows.x, rows.y);
      if (spec.residual) args.residual = buffer.memory(rows.x + rows.y, rows.residual);
      if (norm) args.weight = weights.memory(0, weight_bytes);
      if (spec.norm.bias) args.bias = weights.memory(weight_bytes, weight_bytes);
      kernel.launch(args, stream.get());
    };
    timing.us = time_in_graph(stream, static_cast<int>(buffers.size()), budget, launch);
  }
  timing.gb_per_s =
      static_cast<double>(timing.read_bytes + timing.written_bytes) / timing.us * 1e-3;
  time_stream(stream, budget, &timing);
  return timing;
}

}  // namespace heddle
