#include "tools/gpu_harness/row_check.h"

#include <algorithm>

#include "heddle/inspect/plan.h"
#include "runtime/context.h"
#include "tools/gpu_harness/row_device.h"

namespace heddle {
namespace {

constexpr int kSpare = 24;  // elements between rows

void check_once(const RowTransformKernel& kernel, int spare, std::uint32_t seed,
                const OwnedStream& stream, RowCheck* check) {
  const RowTransformSpec& spec = kernel.plan().spec.row_transform();
  const RowProblem problem = make_row_problem(spec, check->m, spare, seed);
  const ExpectedRows expected = expected_rows(spec, problem);
  DeviceRows device(problem, stream);
  kernel.launch(device.args(), stream.get());
  const std::vector<std::uint16_t> y = device.y(stream);
  const std::vector<std::uint16_t> residual = device.residual(stream);
  double worst = 0;
  const std::string fault = fault_of_rows(spec, problem, expected, y, residual, &worst);
  if (check->mismatch.empty()) check->mismatch = fault;
  check->worst = std::max(check->worst, worst);
  check->guards_intact = check->guards_intact && device.guards_intact(spec.shape.columns, stream);
  device.reset(stream);
  kernel.launch(device.args(), stream.get());
  check->repeatable =
      check->repeatable && device.y(stream) == y && device.residual(stream) == residual;
}

}  // namespace

std::string RowCheck::fault() const {
  if (passed()) return {};
  if (!guards_intact) return "writes outside of its output";
  if (!mismatch.empty()) return "wrong results: " + mismatch;
  return "not the same bits from run to run";
}

RowCheck check_rows(const RowTransformKernel& kernel, std::int64_t m, std::uint32_t seed) {
  const cuda::CurrentContext context;
  const OwnedStream stream;
  RowCheck check;
  check.m = m;
  check.kernel = kernel.plan().kernel_for(m);
  check.guards_intact = check.repeatable = true;
  for (const int spare : {0, kSpare}) check_once(kernel, spare, seed, stream, &check);
  return check;
}

}  // namespace heddle
