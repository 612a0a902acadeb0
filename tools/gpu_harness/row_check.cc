#include "tools/gpu_harness/row_check.h"

#include <algorithm>

#include "heddle/inspect/plan.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/row_device.h"

namespace heddle {
namespace {

constexpr int kSpare = 24;  // elements between rows

void check_once(const RowTransformKernel& kernel, int spare, std::uint32_t seed,
                const OwnedStream& stream, RowCheck* check) {
  const RowTransformSpec& spec = kernel.plan().spec.row_transform();
  const RowProblem problem = make_row_problem(spec, check->m, spare, seed);
  const ExpectedRows expected = expected_rows(spec, problem);
  DeviceRows device(spec, problem, stream);
  kernel.launch(device.args(), stream.get());
  const WrittenRows written = device.written(stream);
  double worst = 0;
  const std::string fault = fault_of_rows(spec, problem, expected, written, &worst);
  if (check->mismatch.empty()) check->mismatch = fault;
  check->worst = std::max(check->worst, worst);
  check->guards_intact = check->guards_intact && device.guards_intact(stream);
  device.reset(stream);
  kernel.launch(device.args(), stream.get());
  check->repeatable = check->repeatable && device.written(stream) == written;
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
