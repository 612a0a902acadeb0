#include "tools/gpu_harness/dequantize_bench.h"

#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/weight_kernels.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/bench_data.h"
#include "tools/gpu_harness/dequantize_problem.h"
#include "tools/gpu_harness/device_source.h"

namespace heddle {
namespace {

constexpr std::size_t kMostBuffers = 1024;  // of tiny matrices

struct Buffers {
  DeviceSource source;
  DeviceBuffer w;
};

}  // namespace

DequantizeTiming bench_dequantize(Runtime& runtime, const Spec& spec, const TimingBudget& budget) {
  const cuda::CurrentContext context;
  const auto kernel = runtime.kernel<DequantizeKernel>(spec);
  const HelperKernels helpers;
  const OwnedStream stream;
  const WeightOpSpec& weight_op = spec.weight_op();
  const SourceTensors source = make_any_source(weight_op);
  DequantizeTiming timing;
  timing.read_bytes = source.bytes();
  timing.written_bytes = 2 * static_cast<std::uint64_t>(weight_op.shape.n) *
                         static_cast<std::uint64_t>(weight_op.shape.k);

  std::vector<Buffers> rotation;
  for (std::size_t bytes = 0; bytes <= kRotationBytes && rotation.size() < kMostBuffers;
       bytes += timing.read_bytes + timing.written_bytes) {
    rotation.push_back({DeviceSource(source, stream), DeviceBuffer(timing.written_bytes)});
  }
  const auto round = static_cast<int>(rotation.size());
  timing.us = time_in_graph(stream, round, budget, [&](int i) {
    const Buffers& buffers = rotation[static_cast<std::size_t>(i) % rotation.size()];
    DequantizeArgs args;
    args.source = buffers.source.get();
    args.w = buffers.w.memory();
    kernel.launch(args, stream.get());
  });

  std::vector<const DeviceBuffer*> sources;
  std::vector<const DeviceBuffer*> outputs;
  for (const Buffers& buffers : rotation) {
    sources.push_back(&buffers.source.buffer());
    outputs.push_back(&buffers.w);
  }
  timing.stream = fastest_stream(helpers, stream, sources, outputs, budget);
  return timing;
}

}  // namespace heddle
