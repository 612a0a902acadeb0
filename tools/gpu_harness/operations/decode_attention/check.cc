#include "tools/gpu_harness/operations/decode_attention/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "generator/decode/float16.h"
#include "heddle/inspect/plan.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/device/helper_kernels.h"
#include "tools/gpu_harness/operations/decode_attention/bench.h"
#include "tools/gpu_harness/operations/decode_attention/device.h"

namespace heddle {

const StepPart& decode_attention_step();  // step.cc
namespace {

template <class Value>
std::vector<Value> values_in(const std::vector<std::uint8_t>& bytes) {
  std::vector<Value> values(bytes.size() / sizeof(Value));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
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

// The output between guards, and the logarithms of sums.
class AttentionLaunch : public CheckedLaunch {
 public:
  AttentionLaunch(const Kernel& kernel, const AttentionProblem& problem, const OwnedStream& stream)
      : kernel_(kernel),
        spec_(kernel.plan().spec.decode_attention()),
        problem_(problem),
        device_(kernel.plan(), problem, stream),
        out_(2 * problem.q.size()),
        log_sums_(spec_.log_sum_exp ? rows() * sizeof(float) : 0) {}

  std::vector<Output> outputs() override {
    return {{&out_, out_.bytes()}, {&log_sums_, log_sums_.bytes()}};
  }
  void launch(const OwnedStream& stream) override {
    DecodeAttentionArgs args = device_.args();
    args.out = out_.memory();
    args.log_sum_exp = log_sums_.memory();
    DecodeAttentionKernel(kernel_).launch(args, stream.get());
  }
  void compare(const Written& written, unsigned char, const OwnedStream&, Check* check) override {
    const ExpectedAttention expected = expected_attention(spec_, problem_);
    const std::vector<std::uint16_t> out = values_in<std::uint16_t>(written[0]);
    const Float16Format format = float16_format(spec_.activation);
    double wrong = 0;
    double size = 0;
    for (std::size_t i = 0; i < expected.out.size(); ++i) {
      const double difference = float16_to_double(format, out[i]) - expected.out[i];
      wrong += difference * difference;
      size += expected.out[i] * expected.out[i];
    }
    check->error = size > 0 ? std::sqrt(wrong / size) : std::sqrt(wrong);
    check->limit = spec_.activation == DType::kBf16 ? 4e-3 : 6e-4;
    const double of_sums = largest_difference(values_in<float>(written[1]), expected.log_sum_exp);
    if (!(of_sums < log_sum_limit(spec_))) {
      check->wrong = fmt::format("wrong logarithms of sums, by up to {:.2e}", of_sums);
    }
  }

 private:
  std::size_t rows() const {
    return problem_.q.size() / static_cast<std::size_t>(spec_.shape.head_dim);
  }

  const Kernel& kernel_;
  const DecodeAttentionSpec& spec_;
  const AttentionProblem& problem_;
  DeviceAttention device_;
  GuardedBuffer out_;
  GuardedBuffer log_sums_;
};

// Sequences without tokens, with one, around pages and tiles, and longer ones.
std::vector<std::int32_t> ragged_lengths(const DecodeAttentionSpec& spec) {
  const int page = std::max(2, spec.kv.page_size);
  return {0, 1, page - 1, page, page + 1, 31, 32, 33, 700, 0, 129, 5};
}

class DecodeAttentionHarness : public Harness {
 public:
  std::vector<Check> check(const Kernel& kernel, const CheckOptions& options) const override {
    const DecodeAttentionSpec& spec = kernel.plan().spec.decode_attention();
    return {
        check_attention(kernel, make_attention_problem(spec, ragged_lengths(spec), options.seed))};
  }
  Cells cells(const Check& check, const Plan& plan) const override {
    return {word("kernel", "KERNEL", plan.kernels.front().name),
            number("error", "ERROR", check.error, fmt::format("{:.3e}", check.error)),
            number("limit", "LIMIT", check.limit, fmt::format("{:.1e}", check.limit)),
            fact("repeatable", check.repeatable)};
  }
  BenchReport bench(Runtime& runtime, const std::vector<Spec>& specs,
                    const BenchOptions& options) const override {
    return bench_attention(runtime, specs.front(), options);
  }
  bool takes_loads() const override { return true; }
  bool has_candidates() const override { return true; }
  PlanTimes time_plans(Runtime& runtime, const std::vector<Plan>& plans, const LaunchSize& size,
                       const BenchOptions& options) const override {
    return bench_attention_plans(
        runtime, plans, {static_cast<int>(size.sequences), static_cast<int>(size.size)}, options);
  }
  const StepPart* step() const override { return &decode_attention_step(); }
};

}  // namespace

const Harness& decode_attention_harness() {
  static const DecodeAttentionHarness harness;
  return harness;
}

Check check_attention(const Kernel& kernel, const AttentionProblem& problem) {
  const cuda::CurrentContext context;
  const OwnedStream stream;
  AttentionLaunch launch(kernel, problem, stream);
  Check check;
  check_launch(launch, stream, &check);
  return check;
}

std::vector<std::uint16_t> run_attention(const Kernel& kernel, const AttentionProblem& problem) {
  const cuda::CurrentContext context;
  const OwnedStream stream;
  AttentionLaunch launch(kernel, problem, stream);
  const CheckedLaunch::Output out = launch.outputs().front();
  out.buffer->fill(kGuardByte, stream);
  launch.launch(stream);
  return values_in<std::uint16_t>(out.buffer->read(out.bytes, stream));
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

}  // namespace heddle
