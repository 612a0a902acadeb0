// repack and quantize_weight: their bytes must be those that the host packs, and they are timed
// beside a plain copy of as many bytes.
#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <utility>

#include "heddle/inspect/plan.h"
#include "heddle/operations.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/operations/weight_ops/device_source.h"
#include "tools/gpu_harness/operations/weight_ops/weight_ops.h"
#include "tools/gpu_harness/timing/rotation.h"
#include "tools/gpu_harness/timing/stream.h"

namespace heddle {
namespace {

constexpr unsigned char kAnyByte = 0x35;

// 16-bit floats by their bits: `one` is 1.0's, `largest` the largest finite one's.
class RandomBits {
 public:
  RandomBits(DType dtype, std::uint32_t seed)
      : one_(dtype == DType::kBf16 ? 0x3F80 : 0x3C00),
        largest_(dtype == DType::kBf16 ? 0x7F7F : 0x7BFF),
        random_(seed) {}

  std::uint32_t any() { return random_(); }
  // The next bits of a run of the given kind.
  std::uint16_t next(std::uint32_t kind) {
    const std::uint32_t bits = random_();
    const std::uint32_t sign = bits & 0x8000;
    switch (kind) {
      case 0:
        return static_cast<std::uint16_t>(sign);
      case 1:
        return static_cast<std::uint16_t>(bits % one_);  // no negative one
      case 2:
        return static_cast<std::uint16_t>(0x8000 | bits % one_);
      case 3:
        return static_cast<std::uint16_t>(sign | (bits >> 16 & 0x7F));  // subnormals
      case 4:
        return static_cast<std::uint16_t>(sign | largest_);
      case 5:
        return static_cast<std::uint16_t>(bits);
      default:
        return static_cast<std::uint16_t>(sign | (one_ - (bits >> 16 & 0x07FF)));
    }
  }

 private:
  std::uint32_t one_;
  std::uint32_t largest_;
  std::mt19937 random_;
};

// W[N, K] in spec.dtype: mostly numbers about zero, and groups of all that is special: zeros, one
// sign only, subnormals, the largest values, random bits with infinities and NaN among them.
std::vector<std::uint16_t> random_matrix(const WeightOpSpec& spec, std::uint32_t seed) {
  constexpr std::size_t kRun = 16;
  constexpr std::uint32_t kRunKinds = 40;  // most of them ordinary
  RandomBits values(spec.dtype, seed);
  std::vector<std::uint16_t> w(static_cast<std::size_t>(spec.shape.n * spec.shape.k));
  const std::size_t run = spec.weight.group_size > 0
                              ? static_cast<std::size_t>(spec.weight.group_size)
                              : static_cast<std::size_t>(spec.shape.k);
  for (std::size_t first = 0; first < w.size(); first += run) {
    // One kind for the group, and now and then another for a part of it.
    const std::uint32_t kind = values.any() % kRunKinds;
    for (std::size_t part = first; part < std::min(first + run, w.size()); part += kRun) {
      const std::uint32_t own = values.any() % 64 == 0 ? values.any() % 5 : kind;
      for (std::size_t i = part; i < part + kRun; ++i) w[i] = values.next(own);
    }
  }
  return w;
}

// By quantize_weights() and pack_weights(). Throws Error.
std::vector<std::uint8_t> quantize_on_host(const WeightOpSpec& spec,
                                           const std::vector<std::uint16_t>& w) {
  return pack_weights(gemm_spec_of(spec), quantize_weights(spec, w));
}

// Packed weights that must have these bytes. Two poisons show a byte that is not written.
class PackingProblem : public CheckedLaunch {
 public:
  using Launch = std::function<void(const DeviceOutput& packed, const OwnedStream& stream)>;

  PackingProblem(std::vector<std::uint8_t> expected, Launch launch)
      : expected_(std::move(expected)), launch_(std::move(launch)), packed_(expected_.size()) {}

  std::vector<Output> outputs() override { return {{&packed_, expected_.size()}}; }
  std::vector<unsigned char> poisons() const override { return {0xFF, 0x5A}; }
  void launch(const OwnedStream& stream) override { launch_(packed_.memory(), stream); }
  void compare(const Written& written, unsigned char, const OwnedStream&, Check* check) override {
    check->compared = 0;  // the same bytes each time
    count_mismatches(written[0], expected_, 0, check);
    check->wrong = mismatch_text(*check);
  }

 private:
  std::vector<std::uint8_t> expected_;
  Launch launch_;
  GuardedBuffer packed_;
};

Check check_packing(std::vector<std::uint8_t> expected, PackingProblem::Launch launch,
                    const OwnedStream& stream) {
  PackingProblem problem(std::move(expected), std::move(launch));
  Check check;
  check_launch(problem, stream, &check);
  return check;
}

// The launches that a kernel of one of the two operations has, of its own inputs: number `i`, into
// these packed weights.
struct PackingLaunches {
  std::size_t read_bytes = 0;
  std::size_t copies = 0;
  std::function<void(std::size_t i, const DeviceOutput& packed)> launch;
};

class PackingHarness : public Harness {
 public:
  Cells cells(const Check& check, const Plan& plan) const override {
    return byte_cells(check, plan);
  }
  BenchReport bench(Runtime& runtime, const std::vector<Spec>& specs,
                    const BenchOptions& options) const override {
    const cuda::CurrentContext context;
    const Kernel kernel = runtime.kernel(specs.front());
    const OwnedStream stream;
    Timing timing;
    timing.written_bytes = kernel.plan().layout.total_bytes;
    {
      const PackingLaunches launches = inputs(kernel, timing.written_bytes, stream);
      timing.read_bytes = launches.read_bytes;
      const std::vector<DeviceBuffer> packed =
          rotating_buffers(launches.copies, timing.written_bytes, kAnyByte, stream);
      const auto launch = [&](int i) {
        const std::size_t at = static_cast<std::size_t>(i) % packed.size();
        launches.launch(at, packed[at].memory());
      };
      timing.us = time_in_graph(stream, static_cast<int>(launches.copies), options.budget, launch);
    }
    time_stream(stream, options.budget, &timing);
    BenchReport report;
    report.rows = {stream_cells(timing)};
    report.legend = stream_legend(kernel.plan().target);
    return report;
  }

 private:
  // Their content counts for little: no time depends on it.
  virtual PackingLaunches inputs(const Kernel& kernel, std::size_t packed_bytes,
                                 const OwnedStream& stream) const = 0;
};

class RepackHarness : public PackingHarness {
 public:
  std::vector<Check> check(const Kernel& kernel, const CheckOptions& options) const override {
    return {check_repack(kernel, random_tensors(kernel.plan().spec.weight_op(), options.seed))};
  }

 private:
  PackingLaunches inputs(const Kernel& kernel, std::size_t packed_bytes,
                         const OwnedStream& stream) const override {
    const SourceTensors tensors = random_tensors(kernel.plan().spec.weight_op(), kBenchSeed);
    const auto sources = std::make_shared<std::vector<DeviceSource>>();
    const std::size_t copies = copies_for(tensors.bytes() + packed_bytes);
    while (sources->size() < copies) sources->emplace_back(tensors, stream);
    return {tensors.bytes(), copies, [=, &kernel, &stream](std::size_t i, const DeviceOutput& to) {
              RepackKernel(kernel).launch(RepackArgs{(*sources)[i].get(), to}, stream.get());
            }};
  }
};

class QuantizeWeightHarness : public PackingHarness {
 public:
  std::vector<Check> check(const Kernel& kernel, const CheckOptions& options) const override {
    const cuda::CurrentContext context;
    const OwnedStream stream;
    const WeightOpSpec& spec = kernel.plan().spec.weight_op();
    const std::vector<std::uint16_t> w = random_matrix(spec, options.seed);
    const DeviceBuffer device = to_device(w, stream);
    return {check_packing(
        quantize_on_host(spec, w),
        [&](const DeviceOutput& packed, const OwnedStream& on) {
          QuantizeWeightKernel(kernel).launch(QuantizeWeightArgs{device.memory(), packed},
                                              on.get());
        },
        stream)};
  }

 private:
  PackingLaunches inputs(const Kernel& kernel, std::size_t packed_bytes,
                         const OwnedStream& stream) const override {
    const MatrixShape& shape = kernel.plan().spec.weight_op().shape;
    const auto bytes = static_cast<std::size_t>(shape.n * shape.k * 2);
    const std::size_t copies = copies_for(bytes + packed_bytes);
    const auto matrices = std::make_shared<std::vector<DeviceBuffer>>(
        rotating_buffers(copies, bytes, kAnyByte, stream));
    return {bytes, copies, [=, &kernel, &stream](std::size_t i, const DeviceOutput& to) {
              QuantizeWeightKernel(kernel).launch(QuantizeWeightArgs{(*matrices)[i].memory(), to},
                                                  stream.get());
            }};
  }
};

}  // namespace

const Harness& repack_harness() {
  static const RepackHarness harness;
  return harness;
}

const Harness& quantize_weight_harness() {
  static const QuantizeWeightHarness harness;
  return harness;
}

Check check_repack(const Kernel& kernel, const SourceTensors& tensors) {
  const cuda::CurrentContext context;
  const OwnedStream stream;
  const DeviceSource device(tensors, stream);
  return check_packing(
      pack_on_host(kernel.plan().spec.weight_op(), tensors),
      [&](const DeviceOutput& packed, const OwnedStream& on) {
        RepackKernel(kernel).launch(RepackArgs{device.get(), packed}, on.get());
      },
      stream);
}

}  // namespace heddle
