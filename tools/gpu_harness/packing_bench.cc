#include "tools/gpu_harness/packing_bench.h"

#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/weight_kernels.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/bench_data.h"
#include "tools/gpu_harness/checkpoint_tensors.h"
#include "tools/gpu_harness/device_source.h"
#include "tools/gpu_harness/quantize_check.h"
#include "tools/gpu_harness/stream_bench.h"

namespace heddle {
namespace {

constexpr unsigned char kAnyByte = 0x35;

std::vector<DeviceBuffer> buffers(int count, std::size_t bytes, const OwnedStream& stream) {
  std::vector<DeviceBuffer> all;
  for (int i = 0; i < count; ++i) {
    all.emplace_back(bytes);
    all.back().fill(kAnyByte, stream);
  }
  stream.synchronize();
  return all;
}

}  // namespace

void time_stream(const OwnedStream& stream, const TimingBudget& budget, PackingTiming* timing) {
  // The copy takes whole words of 16 bytes.
  const std::size_t read = (timing->read_bytes + 15) / 16 * 16;
  const std::size_t written = (timing->written_bytes + 15) / 16 * 16;
  const int copies = static_cast<int>(copies_for(read + written));
  const std::vector<DeviceBuffer> from = buffers(copies, read, stream);
  const std::vector<DeviceBuffer> to = buffers(copies, written, stream);
  std::vector<const DeviceBuffer*> sources;
  std::vector<const DeviceBuffer*> outputs;
  for (int i = 0; i < copies; ++i) {
    sources.push_back(&from[static_cast<std::size_t>(i)]);
    outputs.push_back(&to[static_cast<std::size_t>(i)]);
  }
  timing->stream_us = fastest_stream(HelperKernels(), stream, sources, outputs, budget).us;
}

namespace {

// The kernel's inputs, many times over. Their content counts for little: no time depends on it.
class Inputs {
 public:
  Inputs(const Kernel& kernel, const OwnedStream& stream)
      : kernel_(kernel), spec_(kernel.plan().spec.weight_op()) {
    const std::size_t packed = kernel.plan().layout.total_bytes;
    if (kernel.plan().spec.op() == Op::kRepack) {
      const SourceTensors tensors = random_tensors(spec_, 1);
      sources_.emplace_back(tensors, stream);
      read_bytes_ = tensors.bytes();
      while (sources_.size() < copies_for(read_bytes_ + packed)) {
        sources_.emplace_back(tensors, stream);
      }
      copies_ = static_cast<int>(sources_.size());
    } else {
      read_bytes_ = static_cast<std::size_t>(spec_.shape.n * spec_.shape.k * 2);
      copies_ = static_cast<int>(copies_for(read_bytes_ + packed));
      matrices_ = buffers(copies_, read_bytes_, stream);
    }
    packed_ = buffers(copies_, packed, stream);
  }

  int copies() const { return copies_; }
  std::size_t read_bytes() const { return read_bytes_; }
  void launch(int i, const OwnedStream& stream) const {
    const auto at = static_cast<std::size_t>(i % copies_);
    const DeviceOutput packed = packed_[at].memory();
    if (sources_.empty()) {
      QuantizeWeightKernel(kernel_).launch(QuantizeWeightArgs{matrices_[at].memory(), packed},
                                           stream.get());
    } else {
      RepackKernel(kernel_).launch(RepackArgs{sources_[at].get(), packed}, stream.get());
    }
  }

 private:
  const Kernel& kernel_;
  const WeightOpSpec& spec_;
  std::vector<DeviceSource> sources_;
  std::vector<DeviceBuffer> matrices_;
  std::vector<DeviceBuffer> packed_;
  std::size_t read_bytes_ = 0;
  int copies_ = 1;
};

}  // namespace

PackingTiming bench_packing(Runtime& runtime, const Spec& spec, const TimingBudget& budget) {
  const cuda::CurrentContext context;
  const Kernel kernel = runtime.kernel(spec);
  const OwnedStream stream;
  PackingTiming timing;
  timing.written_bytes = kernel.plan().layout.total_bytes;
  {
    const Inputs inputs(kernel, stream);
    timing.read_bytes = inputs.read_bytes();
    timing.us =
        time_in_graph(stream, inputs.copies(), budget, [&](int i) { inputs.launch(i, stream); });
  }
  timing.gb_per_s =
      static_cast<double>(timing.read_bytes + timing.written_bytes) / timing.us * 1e-3;
  time_stream(stream, budget, &timing);
  return timing;
}

}  // namespace heddle
