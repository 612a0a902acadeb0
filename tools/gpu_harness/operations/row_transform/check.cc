// row_transform: dense rows and rows that are parts of wider ones, against FP64.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "heddle/inspect/plan.h"
#include "heddle/operations.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/harness.h"
#include "tools/gpu_harness/operations/row_transform/bench.h"
#include "tools/gpu_harness/operations/row_transform/codes.h"
#include "tools/gpu_harness/operations/row_transform/problem.h"

namespace heddle {

const StepPart& row_transform_step();  // step.cc
namespace {

constexpr int kSpare = 24;  // elements between rows

template <class Value>
std::vector<Value> values_of(const std::vector<std::uint8_t>& bytes) {
  std::vector<Value> values(bytes.size() / sizeof(Value));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

bool is_poison(std::uint8_t byte) { return byte == kGuardByte; }

class RowLaunch : public CheckedLaunch {
 public:
  RowLaunch(const RowTransformKernel& kernel, const RowProblem& problem, const OwnedStream& stream)
      : kernel_(kernel),
        spec_(kernel.plan().spec.row_transform()),
        problem_(problem),
        x_(to_device(problem.x, stream)),
        weight_(to_device(problem.weight, stream)),
        bias_(to_device(problem.bias, stream)),
        pre_scale_(to_device(problem.pre_scale, stream)),
        y_(static_cast<std::size_t>(problem.m * problem.y_stride * bytes_of(spec_.output.dtype))),
        residual_(2 * problem.residual.size()),
        scales_(row_scale_bytes(spec_, problem.m, problem.scale_stride)),
        zero_points_(spec_.output.symmetric ? 0 : static_cast<std::size_t>(4 * problem.m)) {
    if (spec_.output.granularity == RowGranularity::kTensor) {
      tensor_scale_ = to_device(std::vector<float>{problem.tensor_scale}, stream);
    }
  }

  std::vector<Output> outputs() override {
    std::vector<Output> all;
    for (GuardedBuffer* buffer : {&y_, &residual_, &scales_, &zero_points_}) {
      all.push_back({buffer, buffer->bytes()});
    }
    return all;
  }
  void restore(const OwnedStream& stream) override {
    residual_.upload(problem_.residual.data(), residual_.bytes(), stream);
  }
  void launch(const OwnedStream& stream) override {
    RowTransformArgs args;
    args.x = x_.memory();
    args.y = y_.memory();
    args.x_stride = problem_.x_stride;
    args.y_stride = problem_.y_stride;
    args.residual = residual_.memory();
    args.weight = weight_.memory();
    args.bias = bias_.memory();
    args.m = problem_.m;
    args.pre_scale = pre_scale_.memory();
    args.tensor_scale = tensor_scale_.memory();
    args.scales = scales_.memory();
    args.scale_stride = problem_.scale_stride;
    args.zero_points = zero_points_.memory();
    kernel_.launch(args, stream.get());
  }
  void compare(const Written& written, unsigned char, const OwnedStream&, Check* check) override {
    const WrittenRows rows = {written[0], values_of<std::uint16_t>(written[1]), written[2],
                              values_of<std::int32_t>(written[3])};
    const ExpectedRows expected = expected_rows(spec_, problem_);
    double worst = 0;
    const std::string fault = fault_of_rows(spec_, problem_, expected, rows, &worst);
    if (check->wrong.empty() && !fault.empty()) check->wrong = "wrong results: " + fault;
    check->error = std::max(check->error, worst);
    check->guards_intact = check->guards_intact && gaps_intact(rows);
  }

 private:
  // Whether nothing was written between the rows of Y, and between the scales.
  bool gaps_intact(const WrittenRows& rows) const {
    const int element = bytes_of(spec_.output.dtype);
    for (std::int64_t row = 0; row < problem_.m; ++row) {
      const std::ptrdiff_t first = element * (row * problem_.y_stride + spec_.shape.columns);
      const std::ptrdiff_t next = element * (row + 1) * problem_.y_stride;
      if (!std::all_of(rows.y.begin() + first, rows.y.begin() + next, is_poison)) return false;
    }
    const std::vector<bool> written = written_scale_bytes(spec_, problem_);
    for (std::size_t i = 0; i < written.size(); ++i) {
      if (!written[i] && !is_poison(rows.scales[i])) return false;
    }
    return true;
  }

  const RowTransformKernel& kernel_;
  const RowTransformSpec& spec_;
  const RowProblem& problem_;
  DeviceBuffer x_, weight_, bias_, pre_scale_, tensor_scale_;
  GuardedBuffer y_, residual_, scales_, zero_points_;
};

class RowTransformHarness : public Harness {
 public:
  std::vector<Check> check(const Kernel& kernel, const CheckOptions& options) const override {
    const cuda::CurrentContext context;
    const OwnedStream stream;
    const RowTransformKernel rows(kernel);
    std::vector<Check> checks;
    for (const std::int64_t m : m_list_of(kernel.plan(), options)) {
      Check check;
      check.m = m;
      check.kernel = kernel.plan().kernel_for(m);
      for (const int spare : {0, kSpare}) {
        const RowProblem problem =
            make_row_problem(kernel.plan().spec.row_transform(), m, spare, options.seed);
        RowLaunch launch(rows, problem, stream);
        check_launch(launch, stream, &check);
      }
      checks.push_back(std::move(check));
    }
    return checks;
  }
  Cells cells(const Check& check, const Plan& plan) const override {
    Cells cells = kernel_cells(check, plan);
    const bool codes = plan.spec.row_transform().output.is_quantized();
    cells.push_back(number("worst", codes ? "CODES AWAY" : "OF TOLERANCE", check.error, 3));
    cells.push_back(fact("repeatable", check.repeatable));
    return cells;
  }
  BenchReport bench(Runtime& runtime, const std::vector<Spec>& specs,
                    const BenchOptions& options) const override {
    return bench_rows(runtime.kernel<RowTransformKernel>(specs.front()), options);
  }
  const StepPart* step() const override { return &row_transform_step(); }
};

}  // namespace

const Harness& row_transform_harness() {
  static const RowTransformHarness harness;
  return harness;
}

}  // namespace heddle
