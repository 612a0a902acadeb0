#include "tools/gpu_harness/attention_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "generator/decode/float16.h"
#include "heddle/inspect/plan.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/attention_device.h"
#include "tools/gpu_harness/helper_kernels.h"
#include "tools/gpu_harness/poison.h"

namespace heddle {
namespace {

// Result of one launch: the output between guards, and the sums.
struct Outcome {
  std::vector<std::uint16_t> out;
  std::vector<float> log_sums;
  bool guards_intact = false;
};

Outcome launch_once(const Kernel& kernel, const DeviceAttention& device, std::size_t elements,
                    const OwnedStream& stream) {
  const DecodeAttentionSpec& spec = kernel.plan().spec.decode_attention();
  DeviceBuffer out(2 * elements + 2 * kGuardBytes);
  DeviceBuffer sums(elements / static_cast<std::size_t>(spec.shape.head_dim) * sizeof(float));
  out.fill(kGuardByte, stream);
  sums.fill(kGuardByte, stream);
  DecodeAttentionArgs args = device.args();
  args.out = out.memory(kGuardBytes, 2 * elements);
  if (spec.log_sum_exp) args.log_sum_exp = sums.memory();
  DecodeAttentionKernel(kernel).launch(args, stream.get());
  std::vector<unsigned char> bytes(out.bytes());
  out.download(bytes.data(), 0, bytes.size(), stream);
  Outcome outcome;
  outcome.out.resize(elements);
  std::copy_n(bytes.begin() + kGuardBytes, 2 * elements,
              reinterpret_cast<unsigned char*>(outcome.out.data()));
  outcome.log_sums.resize(sums.bytes() / sizeof(float));
  sums.download(outcome.log_sums.data(), 0, sums.bytes(), stream);
  const auto is_poison = [](unsigned char byte) { return byte == kGuardByte; };
  outcome.guards_intact = std::all_of(bytes.begin(), bytes.begin() + kGuardBytes, is_poison) &&
                          std::all_of(bytes.end() - kGuardBytes, bytes.end(), is_poison);
  return outcome;
}

double largest_difference(const std::vector<float>& got, const std::vector<double>& expected) {
  double most = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isinf(expected[i]) && double{got[i]} == expected[i]) continue;
    const double difference = std::fabs(double{got[i]} - expected[i]);
    if (!(difference <= most)) most = difference;
  }
  return most;
}

}  // namespace

std::string AttentionCheck::fault() const {
  if (passed()) return {};
  if (!guards_intact) return "writes outside of its output";
  if (!(error < limit)) {
    return fmt::format("wrong results, relative error {:.2e}, limit {:.1e}", error, limit);
  }
  if (!(log_sum_error < log_sum_limit)) {
    return fmt::format("wrong logarithms of sums, by up to {:.2e}", log_sum_error);
  }
  return "not the same bits from run to run";
}

AttentionCheck check_attention(const Kernel& kernel, const AttentionProblem& problem,
                               const ExpectedAttention& expected) {
  const cuda::CurrentContext context;
  const OwnedStream stream;
  const DecodeAttentionSpec& spec = kernel.plan().spec.decode_attention();
  const DeviceAttention device(kernel.plan(), problem, stream);
  const Outcome first = launch_once(kernel, device, problem.q.size(), stream);
  const Outcome second = launch_once(kernel, device, problem.q.size(), stream);
  AttentionCheck check;
  check.guards_intact = first.guards_intact && second.guards_intact;
  check.repeatable = first.out == second.out;
  const Float16Format format = float16_format(spec.activation);
  double wrong = 0;
  double size = 0;
  for (std::size_t i = 0; i < expected.out.size(); ++i) {
    const double difference = float16_to_double(format, first.out[i]) - expected.out[i];
    wrong += difference * difference;
    size += expected.out[i] * expected.out[i];
  }
  check.error = size > 0 ? std::sqrt(wrong / size) : std::sqrt(wrong);
  check.limit = spec.activation == DType::kBf16 ? 4e-3 : 6e-4;
  check.log_sum_limit = log_sum_limit(spec);
  if (spec.log_sum_exp)
    check.log_sum_error = largest_difference(first.log_sums, expected.log_sum_exp);
  return check;
}

std::vector<std::uint16_t> run_attention(const Kernel& kernel, const AttentionProblem& problem) {
  const cuda::CurrentContext context;
  const OwnedStream stream;
  const DeviceAttention device(kernel.plan(), problem, stream);
  return launch_once(kernel, device, problem.q.size(), stream).out;
}

std::vector<std::uint16_t> run_attention_after_late_writes(const Kernel& kernel,
                                                           const AttentionProblem& problem) {
  const cuda::CurrentContext context;
  const OwnedStream stream;
  const HelperKernels helpers;
  const DeviceAttention device(kernel.plan(), problem, stream);
  const std::size_t count = problem.lengths.size();
  std::vector<std::int32_t> words(problem.lengths.begin(), problem.lengths.end());
  words.insert(words.end(), problem.block_table.begin(), problem.block_table.end());
  const DeviceBuffer to_come = to_device(words, stream);
  // Before: every sequence as long as can be, of pages in another order.
  std::fill_n(words.begin(), count, std::numeric_limits<std::int32_t>::max());
  std::reverse(words.begin() + static_cast<std::ptrdiff_t>(count), words.end());
  const DeviceBuffer late = to_device(words, stream);
  const DeviceBuffer out(2 * problem.q.size());
  DecodeAttentionArgs args = device.args();
  args.out = out.memory();
  args.lengths = late.memory();
  args.cache.block_table = late.memory(count * sizeof(std::int32_t));
  stream.synchronize();
  helpers.copy_late(to_come.get(), late.get(), words.size(), stream);
  DecodeAttentionKernel(kernel).launch(args, stream.get());
  std::vector<std::uint16_t> bits(problem.q.size());
  out.download(bits.data(), 0, out.bytes(), stream);
  return bits;
}

std::vector<std::int32_t> ragged_lengths(const DecodeAttentionSpec& spec) {
  const int page = std::max(2, spec.kv.page_size);
  return {0, 1, page - 1, page, page + 1, 31, 32, 33, 700, 0, 129, 5};
}

AttentionCheck check_attention(const Kernel& kernel, std::uint32_t seed) {
  const DecodeAttentionSpec& spec = kernel.plan().spec.decode_attention();
  const AttentionProblem problem = make_attention_problem(spec, ragged_lengths(spec), seed);
  return check_attention(kernel, problem, expected_attention(spec, problem));
}

}  // namespace heddle
