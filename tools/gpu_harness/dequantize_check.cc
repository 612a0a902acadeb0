#include "tools/gpu_harness/dequantize_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "heddle/inspect/plan.h"
#include "heddle/weight_kernels.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/device_source.h"
#include "tools/gpu_harness/expected_weight.h"
#include "tools/gpu_harness/poison.h"

namespace heddle {
namespace {

constexpr unsigned char kPoisonByte = kPoisonWeight & 0xFF;

bool guards_intact(const DeviceBuffer& w, const OwnedStream& stream) {
  std::array<unsigned char, 2 * kGuardBytes> guards{};
  w.download(guards.data(), 0, kGuardBytes, stream);
  w.download(guards.data() + kGuardBytes, w.bytes() - kGuardBytes, kGuardBytes, stream);
  return std::all_of(guards.begin(), guards.end(),
                     [](unsigned char c) { return c == kPoisonByte; });
}

void compare_weights(const WeightOpSpec& spec, const std::vector<std::uint16_t>& got,
                     const std::vector<std::uint16_t>& expected, DequantizeCheck* check) {
  const auto k = static_cast<std::size_t>(spec.shape.k);
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (same_weight(spec.dtype, got[i], expected[i])) continue;
    if (check->mismatches++ > 0) continue;
    check->first_mismatch =
        fmt::format("W[{}, {}] is 0x{:04x}, expected 0x{:04x}", i / k, i % k, got[i], expected[i]);
  }
}

}  // namespace

DequantizeCheck check_dequantize(const Kernel& kernel, const SourceTensors& source,
                                 const std::vector<std::uint16_t>& expected) {
  const cuda::CurrentContext context;
  const OwnedStream stream;
  const WeightOpSpec& spec = kernel.plan().spec.weight_op();
  const DeviceSource on_device(source, stream);
  DeviceBuffer w(2 * expected.size() + 2 * kGuardBytes);
  w.fill(kPoisonByte, stream);
  DequantizeArgs args;
  args.source = on_device.get();
  args.w = w.memory(kGuardBytes, 2 * expected.size());
  DequantizeKernel(kernel).launch(args, stream.get());
  std::vector<std::uint16_t> got(expected.size());
  w.download(got.data(), kGuardBytes, 2 * got.size(), stream);

  DequantizeCheck check;
  check.weights = expected.size();
  check.guards_intact = guards_intact(w, stream);
  compare_weights(spec, got, expected, &check);
  return check;
}

DequantizeCheck run_dequantize(const Kernel& kernel, std::uint32_t seed) {
  const DequantizeProblem problem = make_dequantize_problem(kernel.plan().spec.weight_op(), seed);
  return check_dequantize(kernel, problem.source, problem.expected);
}

DequantizeCheck run_dequantize(Runtime& runtime, const Spec& spec, std::uint32_t seed) {
  const cuda::CurrentContext context;
  return run_dequantize(runtime.kernel(spec), seed);
}

}  // namespace heddle
