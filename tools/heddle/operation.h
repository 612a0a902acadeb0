// What `heddle run` and `heddle bench` do for operations that are no gemm.
#ifndef HEDDLE_TOOLS_HEDDLE_OPERATION_H_
#define HEDDLE_TOOLS_HEDDLE_OPERATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/runtime.h"
#include "heddle/spec.h"
#include "tools/gpu_harness/attention_bench.h"
#include "tools/gpu_harness/graph_timer.h"
#include "tools/heddle/options.h"

namespace heddle {

struct OperationOptions {
  std::string target;
  CompileOptions compile;
  std::vector<std::int64_t> m = {};  // of row_transform
  std::uint32_t seed = 1;
  bool json = false;
  std::vector<AttentionLoad> loads = {};  // to time decode_attention with; none: the usual ones
  TimingBudget budget = {};               // to time with
};

// Both return the exit code and throw Error. Precondition: the operation is no gemm.
int run_operation(const Spec& spec, const OperationOptions& options);
int bench_operation(const Spec& spec, const OperationOptions& options);
// Both for dequantize, on a runtime that is there.
int run_dequantize_op(Runtime& runtime, const Spec& spec, const OperationOptions& options);
int bench_dequantize_op(Runtime& runtime, const Spec& spec, const OperationOptions& options);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_OPERATION_H_
