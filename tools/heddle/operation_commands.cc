#include "tools/heddle/operation_commands.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "generator/spec/operation_list.h"
#include "heddle/gemm.h"
#include "heddle/row_transform.h"
#include "tools/gpu_harness/attention_check.h"
#include "tools/gpu_harness/byte_check.h"
#include "tools/gpu_harness/dequantize_check.h"
#include "tools/gpu_harness/gemm_check.h"
#include "tools/gpu_harness/kv_append_check.h"
#include "tools/gpu_harness/quantize_check.h"
#include "tools/gpu_harness/repack_check.h"
#include "tools/gpu_harness/row_check.h"
#include "tools/heddle/decode_attention.h"
#include "tools/heddle/faults.h"
#include "tools/heddle/kv_append.h"
#include "tools/heddle/packing.h"
#include "tools/heddle/row_transform.h"

namespace heddle {
namespace {

KernelCheck check_of(const ByteCheck& check) {
  const double wrong = static_cast<double>(check.mismatches) / static_cast<double>(check.bytes);
  return {0, wrong, check.fault()};
}

int time_packing(Runtime& runtime, const Spec& spec, const OperationOptions& options) {
  return bench_packing(runtime, spec, options.budget, options.json);
}

OperationCommands gemm_commands() {
  OperationCommands commands{};
  commands.check = [](const Kernel& kernel) {
    std::vector<std::int64_t> m_list;
    for (const PlannedKernel& one : kernel.plan().kernels) m_list.push_back(one.size_min);
    std::vector<KernelCheck> checks;
    for (const GemmCheck& check : run_gemm(GemmKernel(kernel), m_list)) {
      checks.push_back({check.m, check.error, fault_of(check)});
    }
    return checks;
  };
  return commands;
}

OperationCommands dequantize_commands() {
  OperationCommands commands{};
  commands.check = [](const Kernel& kernel) {
    const DequantizeCheck check = run_dequantize(kernel);
    const double wrong = static_cast<double>(check.mismatches) / static_cast<double>(check.weights);
    return std::vector<KernelCheck>{{0, wrong, fault_of(check)}};
  };
  commands.run = run_dequantize_op;
  commands.bench = bench_dequantize_op;
  return commands;
}

OperationCommands repack_commands() {
  OperationCommands commands{};
  commands.check = [](const Kernel& kernel) {
    return std::vector<KernelCheck>{check_of(run_repack(kernel))};
  };
  commands.run = [](Runtime& runtime, const Spec& spec, const OperationOptions& options) {
    const Kernel kernel = runtime.kernel(spec);
    return report(kernel, run_repack(kernel, options.seed), options.json);
  };
  commands.bench = time_packing;
  return commands;
}

OperationCommands quantize_weight_commands() {
  OperationCommands commands{};
  commands.check = [](const Kernel& kernel) {
    return std::vector<KernelCheck>{check_of(run_quantize_weight(kernel))};
  };
  commands.run = [](Runtime& runtime, const Spec& spec, const OperationOptions& options) {
    const Kernel kernel = runtime.kernel(spec);
    return report(kernel, run_quantize_weight(kernel, options.seed), options.json);
  };
  commands.bench = time_packing;
  return commands;
}

OperationCommands kv_append_commands() {
  OperationCommands commands{};
  commands.check = [](const Kernel& kernel) {
    return std::vector<KernelCheck>{check_of(run_kv_append(kernel))};
  };
  commands.run = [](Runtime& runtime, const Spec& spec, const OperationOptions& options) {
    const Kernel kernel = runtime.kernel(spec);
    return report(kernel, run_kv_append(kernel, options.seed), options.json);
  };
  commands.bench = [](Runtime& runtime, const Spec& spec, const OperationOptions& options) {
    return bench_kv_append(runtime, spec, options.budget, options.json);
  };
  return commands;
}

OperationCommands decode_attention_commands() {
  OperationCommands commands{};
  commands.check = [](const Kernel& kernel) {
    const AttentionCheck check = check_attention(kernel);
    return std::vector<KernelCheck>{{0, check.error, check.fault()}};
  };
  commands.run = [](Runtime& runtime, const Spec& spec, const OperationOptions& options) {
    return run_decode_attention(runtime, spec, options.seed, options.json);
  };
  commands.bench = [](Runtime& runtime, const Spec& spec, const OperationOptions& options) {
    return bench_decode_attention(runtime, spec, options.loads, options.budget, options.json);
  };
  commands.takes_loads = true;
  return commands;
}

OperationCommands row_transform_commands() {
  OperationCommands commands{};
  commands.check = [](const Kernel& kernel) {
    std::vector<KernelCheck> checks;
    for (const PlannedKernel& one : kernel.plan().kernels) {
      const RowCheck check = check_rows(RowTransformKernel(kernel), one.size_min);
      checks.push_back({check.m, check.worst, check.fault()});
    }
    return checks;
  };
  commands.run = [](Runtime& runtime, const Spec& spec, const OperationOptions& options) {
    return run_row_transform(runtime, spec, options.m, options.seed, options.json);
  };
  commands.bench = [](Runtime& runtime, const Spec& spec, const OperationOptions& options) {
    return bench_row_transform(runtime, spec, options.m, options.budget, options.json);
  };
  return commands;
}

}  // namespace

const OperationCommands& commands_of(const Spec& spec) {
#define HEDDLE_COMMANDS(name) name##_commands(),
#define HEDDLE_NO_FAMILY(name)
  static const OperationCommands all[] = {HEDDLE_OPERATIONS(HEDDLE_COMMANDS, HEDDLE_NO_FAMILY)};
#undef HEDDLE_NO_FAMILY
#undef HEDDLE_COMMANDS
  return all[static_cast<std::size_t>(spec.op())];
}

}  // namespace heddle
