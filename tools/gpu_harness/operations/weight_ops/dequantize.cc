// dequantize: W must have the expected bits, and is timed beside a plain copy of the same buffers.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "generator/families/family.h"
#include "heddle/inspect/plan.h"
#include "heddle/operations.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/operations/weight_ops/dequantize_problem.h"
#include "tools/gpu_harness/operations/weight_ops/device_source.h"
#include "tools/gpu_harness/operations/weight_ops/weight_ops.h"
#include "tools/gpu_harness/timing/rotation.h"
#include "tools/gpu_harness/timing/stream.h"

namespace heddle {
namespace {

constexpr std::size_t kMostBuffers = 1024;  // of tiny matrices

class DequantizeLaunch : public CheckedLaunch {
 public:
  DequantizeLaunch(const Kernel& kernel, const SourceTensors& source,
                   const std::vector<std::uint16_t>& expected, const OwnedStream& stream)
      : kernel_(kernel), expected_(expected), source_(source, stream), w_(2 * expected.size()) {}

  std::vector<Output> outputs() override { return {{&w_, w_.bytes()}}; }
  std::vector<unsigned char> poisons() const override { return {kPoisonWeight & 0xFF}; }
  void launch(const OwnedStream& stream) override {
    DequantizeKernel(kernel_).launch({source_.get(), w_.memory()}, stream.get());
  }
  void compare(const Written& written, unsigned char, const OwnedStream&, Check* check) override {
    const WeightOpSpec& spec = kernel_.plan().spec.weight_op();
    const auto k = static_cast<std::size_t>(spec.shape.k);
    std::string first;
    check->compared = expected_.size();
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      std::uint16_t got = 0;
      std::memcpy(&got, &written[0][2 * i], sizeof got);
      if (same_weight(spec.dtype, got, expected_[i]) || check->mismatches++ > 0) continue;
      first =
          fmt::format("W[{}, {}] is 0x{:04x}, expected 0x{:04x}", i / k, i % k, got, expected_[i]);
    }
    if (check->mismatches == 0) return;
    check->wrong =
        fmt::format("{} of {} weights are wrong: {}", check->mismatches, check->compared, first);
  }

 private:
  const Kernel& kernel_;
  const std::vector<std::uint16_t>& expected_;
  DeviceSource source_;
  GuardedBuffer w_;
};

class DequantizeHarness : public Harness {
 public:
  std::vector<Check> check(const Kernel& kernel, const CheckOptions& options) const override {
    const DequantizeProblem problem =
        make_dequantize_problem(kernel.plan().spec.weight_op(), options.seed);
    return {check_dequantize(kernel, problem.source, problem.expected)};
  }
  Cells cells(const Check& check, const Plan& plan) const override {
    const PlannedKernel& kernel = plan.kernels.front();
    return {word("kernel", "KERNEL", kernel.name),
            word("", "TILE", kernel.family->tile_text(kernel)),
            number("weights", "WEIGHTS", check.compared, fmt::format("{}", check.compared)),
            number("mismatches", "WRONG", check.mismatches, fmt::format("{}", check.mismatches))};
  }
  BenchReport bench(Runtime& runtime, const std::vector<Spec>& specs,
                    const BenchOptions& options) const override;
};

BenchReport DequantizeHarness::bench(Runtime& runtime, const std::vector<Spec>& specs,
                                     const BenchOptions& options) const {
  const cuda::CurrentContext context;
  const auto kernel = runtime.kernel<DequantizeKernel>(specs.front());
  const HelperKernels helpers;
  const OwnedStream stream;
  const WeightOpSpec& spec = specs.front().weight_op();
  const SourceTensors tensors = make_any_source(spec);
  Timing timing;
  timing.read_bytes = tensors.bytes();
  timing.written_bytes = static_cast<std::size_t>(2 * spec.shape.n * spec.shape.k);
  const std::size_t copies =
      std::min(kMostBuffers, copies_for(timing.read_bytes + timing.written_bytes));
  std::vector<DeviceSource> tensors_of;
  std::vector<DeviceBuffer> w_of;
  std::vector<const DeviceBuffer*> sources;
  std::vector<const DeviceBuffer*> outputs;
  for (std::size_t i = 0; i < copies; ++i) {
    tensors_of.emplace_back(tensors, stream);
    w_of.emplace_back(timing.written_bytes);
  }
  for (std::size_t i = 0; i < copies; ++i) {
    sources.push_back(&tensors_of[i].buffer());
    outputs.push_back(&w_of[i]);
  }
  timing.us = time_in_graph(stream, static_cast<int>(copies), options.budget, [&](int i) {
    const std::size_t at = static_cast<std::size_t>(i) % copies;
    kernel.launch({tensors_of[at].get(), w_of[at].memory()}, stream.get());
  });
  timing.stream = fastest_stream(helpers, stream, sources, outputs, options.budget);

  BenchReport report;
  report.rows = {
      {word("kernel", "KERNEL", kernel.plan().kernels.front().name),
       number("read_bytes", "MB READ", timing.read_bytes, mb_text(timing.read_bytes)),
       number("written_bytes", "MB WRITTEN", timing.written_bytes, mb_text(timing.written_bytes)),
       number("us", "us", timing.us, 1), number("gb_per_s", "GB/s", timing.gb_per_s(), 0),
       number("stream_us", "STREAM us", timing.stream.us, 1),
       number("stream_gb_per_s", "STREAM GB/s", timing.stream_gb_per_s(), 0),
       fact("stream_words", timing.stream.shape.words),
       fact("stream_blocks_per_sm", timing.stream.shape.blocks_per_sm),
       number("ratio", "% OF STREAM", timing.stream_ratio(),
              fmt::format("{:.1f}", 100 * timing.stream_ratio()))}};
  return report;
}

}  // namespace

const Harness& dequantize_harness() {
  static const DequantizeHarness harness;
  return harness;
}

Check check_dequantize(const Kernel& kernel, const SourceTensors& source,
                       const std::vector<std::uint16_t>& expected) {
  const cuda::CurrentContext context;
  const OwnedStream stream;
  DequantizeLaunch launch(kernel, source, expected, stream);
  Check check;
  check_launch(launch, stream, &check);
  return check;
}

}  // namespace heddle
