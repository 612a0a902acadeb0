#include "tools/heddle/run/device_check.h"

#include <fmt/format.h>

#include "heddle/error.h"
#include "heddle/target.h"
#include "tools/gpu_harness/harness.h"
#include "tools/heddle/shared/progress.h"

namespace heddle {

void require_device(Runtime* runtime, const std::string& target_name) {
  std::string wanted;
  if (!target_name.empty()) wanted = compiler_arch(target_from_name(target_name));
  std::string why_not;
  if (!runtime->has_device(&why_not)) {
    throw Error(ErrorCategory::kDriver, "tool.no_device", "this needs a GPU: " + why_not);
  }
  const Target device = runtime->device_target();
  if (wanted.empty() || compiler_arch(device) == wanted) return;
  throw Error(ErrorCategory::kDriver, "tool.other_device",
              fmt::format("--target {} is {}, but the GPU here, {}, is {}", target_name, wanted,
                          device.name, compiler_arch(device)));
}

void check_on_device(Runtime* runtime, bool show_progress, Build* build) {
  Progress progress(show_progress);
  for (std::size_t i = 0; i < build->operations.size(); ++i) {
    BuiltOperation& operation = build->operations[i];
    progress.show(fmt::format("[{}/{}] running the kernels of {}", i + 1, build->operations.size(),
                              operation.name));
    const Kernel kernel = runtime->load(operation.plan);
    for (const Check& check : harness_of(operation.plan.spec).check(kernel, {})) {
      const double share =
          static_cast<double>(check.mismatches) / static_cast<double>(check.compared);
      operation.checks.push_back(
          {check.m, check.compared == 0 ? check.error : share, check.fault()});
    }
  }
}

}  // namespace heddle
