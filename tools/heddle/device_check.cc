#include "tools/heddle/device_check.h"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "heddle/error.h"
#include "heddle/target.h"
#include "tools/gpu_harness/attention_check.h"
#include "tools/gpu_harness/kv_append_check.h"
#include "tools/gpu_harness/quantize_check.h"
#include "tools/gpu_harness/repack_check.h"
#include "tools/gpu_harness/row_check.h"
#include "tools/heddle/progress.h"

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

std::string fault_of(const GemmCheck& check) {
  if (check.passed()) return {};
  if (!check.guards_intact) return "writes outside of its output";
  if (!(check.error < check.limit)) {
    return fmt::format("wrong results, relative error {:.2e}, limit {:.1e}", check.error,
                       check.limit);
  }
  return "not the same bits from run to run";
}

std::string fault_of(const DequantizeCheck& check) {
  if (check.passed()) return {};
  if (!check.guards_intact) return "writes outside of its output";
  return fmt::format("{} of {} weights are wrong: {}", check.mismatches, check.weights,
                     check.first_mismatch);
}

namespace {

std::vector<KernelCheck> run_operation(Runtime* runtime, const Plan& plan) {
  std::vector<KernelCheck> checks;
  const Kernel kernel = runtime->load(plan);
  if (plan.spec.op() == Op::kDequantize) {
    const DequantizeCheck check = run_dequantize(kernel);
    const double wrong = static_cast<double>(check.mismatches) / static_cast<double>(check.weights);
    checks.push_back({0, wrong, fault_of(check)});
    return checks;
  }
  if (plan.spec.op() == Op::kKvAppend) {
    const ByteCheck check = run_kv_append(kernel);
    const double wrong = static_cast<double>(check.mismatches) / static_cast<double>(check.bytes);
    checks.push_back({0, wrong, check.fault()});
    return checks;
  }
  if (plan.spec.op() == Op::kRepack || plan.spec.op() == Op::kQuantizeWeight) {
    const bool repack = plan.spec.op() == Op::kRepack;
    const ByteCheck check = repack ? run_repack(kernel) : run_quantize_weight(kernel);
    const double wrong = static_cast<double>(check.mismatches) / static_cast<double>(check.bytes);
    checks.push_back({0, wrong, check.fault()});
    return checks;
  }
  if (plan.spec.op() == Op::kDecodeAttention) {
    const AttentionCheck check = check_attention(kernel);
    checks.push_back({0, check.error, check.fault()});
    return checks;
  }
  if (plan.spec.op() == Op::kRowTransform) {
    for (const PlannedKernel& one : plan.kernels) {
      const RowCheck check = check_rows(RowTransformKernel(kernel), one.size_min);
      checks.push_back({check.m, check.worst, check.fault()});
    }
    return checks;
  }
  std::vector<std::int64_t> m_list;
  for (const PlannedKernel& kernel : plan.kernels) m_list.push_back(kernel.size_min);
  for (const GemmCheck& check : run_gemm(GemmKernel(kernel), m_list)) {
    checks.push_back({check.m, check.error, fault_of(check)});
  }
  return checks;
}

}  // namespace

void check_on_device(Runtime* runtime, bool show_progress, Build* build) {
  Progress progress(show_progress);
  for (std::size_t i = 0; i < build->operations.size(); ++i) {
    BuiltOperation& operation = build->operations[i];
    progress.show(fmt::format("[{}/{}] running the kernels of {}", i + 1, build->operations.size(),
                              operation.name));
    operation.checks = run_operation(runtime, operation.plan);
  }
}

}  // namespace heddle
