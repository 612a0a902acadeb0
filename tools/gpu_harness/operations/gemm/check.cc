#include "tools/gpu_harness/operations/gemm/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "heddle/inspect/plan.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/device/cublas.h"
#include "tools/gpu_harness/operations/gemm/data.h"
#include "tools/gpu_harness/operations/gemm/report.h"

namespace heddle {

const StepPart& gemm_step();  // step.cc
namespace {

// Rounding the output alone gives about 2e-4 in FP16 and 1.7e-3 in BF16; rounding the scaled weight
// as well (ScaleMode::kWeight) up to 1.5 times that.
double error_limit(const GemmSpec& spec) {
  if (spec.has_byte_activations()) {
    const double rounding = spec.output_dtype() == DType::kFp32   ? 1e-6
                            : spec.has_byte_output()              ? 1e-6
                            : spec.output_dtype() == DType::kBf16 ? 4e-3
                                                                  : 5e-4;
    // The tensor cores keep some 14 bits of their sums of FP8: of 128 columns, or of all of K.
    const double sums = spec.activation == DType::kInt8                ? 0
                        : spec.accumulation == Accumulation::kPromoted ? 1e-3
                                                                       : 8e-3;
    return rounding + sums;
  }
  const bool bf16 = spec.activation == DType::kBf16 || spec.output_dtype() == DType::kBf16;
  return bf16 ? 4e-3 : 5e-4;
}

double cublas_error(const Cublas& cublas, const DeviceBuffer& weights, GemmData& problem,
                    std::int64_t m) {
  const GemmArgs args = problem.args(m);
  const GemmShape& shape = problem.spec().shape;
  if (problem.has_epilogue()) problem.make_reference(m, false);
  problem.poison_output();
  const DeviceBuffer x = problem.arranged_x(m);
  cublas.gemm(x.get(), weights.get(), args.y.data, static_cast<int>(m), static_cast<int>(shape.n),
              static_cast<int>(shape.k), problem.bf16());
  return problem.relative_error(m);
}

// A launch with M, whose reference is on the device.
class GemmLaunch : public CheckedLaunch {
 public:
  GemmLaunch(const GemmKernel& kernel, GemmData& problem, std::int64_t m)
      : kernel_(kernel), problem_(problem), m_(m) {}

  std::vector<Output> outputs() override { return {problem_.output(m_)}; }
  std::vector<unsigned char> poisons() const override { return {kNanByte, kNanByte}; }
  void restore(const OwnedStream&) override { problem_.poison_scales(); }
  void launch(const OwnedStream& stream) override {
    kernel_.launch(problem_.args(m_), stream.get());
  }
  void compare(const Written&, unsigned char, const OwnedStream&, Check* check) override {
    check->error = problem_.relative_error(m_);
  }

 private:
  const GemmKernel& kernel_;
  GemmData& problem_;
  std::int64_t m_;
};

class GemmHarness : public Harness {
 public:
  std::vector<Check> check(const Kernel& kernel, const CheckOptions& options) const override {
    return run_gemm(GemmKernel(kernel), options);
  }
  Cells cells(const Check& check, const Plan& plan) const override {
    Cells cells = kernel_cells(check, plan);
    cells.push_back(number("error", "ERROR", check.error, fmt::format("{:.3e}", check.error)));
    cells.push_back(number("limit", "LIMIT", check.limit, fmt::format("{:.1e}", check.limit)));
    const double baseline = check.cublas_error.value_or(0);
    cells.push_back(check.cublas_error ? number("cublas_error", "CUBLAS", baseline,
                                                fmt::format("{:.3e}", baseline))
                                       : number("", "CUBLAS", nullptr, "-"));
    cells.push_back(fact("repeatable", check.repeatable));
    return cells;
  }
  BenchReport bench(Runtime& runtime, const std::vector<Spec>& specs,
                    const BenchOptions& options) const override {
    return gemm_report(bench_gemm(runtime, specs, options.m, options), specs);
  }
  bool times_lists() const override { return true; }
  bool has_candidates() const override { return true; }
  PlanTimes time_plans(Runtime& runtime, const std::vector<Plan>& plans, const LaunchSize& size,
                       const BenchOptions& options) const override {
    const GemmBenchReport report = bench_gemm_plans(runtime, plans, {size.size}, options);
    PlanTimes times{report.read_tb_per_s, {}};
    for (const GemmTiming& row : report.rows) {
      times.rows.push_back({row.spec, row.kernel, row.us, row.floor_us});
    }
    return times;
  }
  const StepPart* step() const override { return &gemm_step(); }
};

}  // namespace

const Harness& gemm_harness() {
  static const GemmHarness harness;
  return harness;
}

Check check_gemm(const GemmKernel& kernel, GemmData& problem, std::int64_t m) {
  Check check;
  check.m = m;
  check.kernel = kernel.plan().kernel_for(m);
  check.limit = error_limit(problem.spec());
  problem.make_reference(m, true);
  GemmLaunch launch(kernel, problem, m);
  check_launch(launch, problem.stream(), &check);
  // A kernel that may add in any order is not asked for the same bits.
  if (!problem.spec().deterministic) check.repeatable = true;
  return check;
}

std::vector<Check> run_gemm(const GemmKernel& kernel, const CheckOptions& options) {
  const cuda::CurrentContext context;
  const std::vector<std::int64_t> m_list = m_list_of(kernel.plan(), options);
  GemmData problem(kernel, *std::max_element(m_list.begin(), m_list.end()), options.seed);
  std::unique_ptr<Cublas> cublas;
  DeviceBuffer rounded;
  const bool is_bytes = kernel.plan().spec.gemm().has_byte_activations();
  if (options.cublas && !is_bytes) cublas = Cublas::open(problem.stream(), nullptr);
  if (cublas) rounded = problem.rounded_weights();
  std::vector<Check> checks;
  for (const std::int64_t m : m_list) {
    checks.push_back(check_gemm(kernel, problem, m));
    if (cublas) checks.back().cublas_error = cublas_error(*cublas, rounded, problem, m);
  }
  return checks;
}

}  // namespace heddle
