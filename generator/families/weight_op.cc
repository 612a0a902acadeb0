#include "generator/families/weight_op.h"

#include <fmt/format.h>

#include <utility>

#include "generator/families/kernel_name.h"
#include "generator/families/refuse.h"
#include "generator/target/capabilities.h"

namespace heddle {

std::vector<Problem> refuse_weight_op(const WeightOpSpec& op, const Target& target,
                                      std::string_view computed) {
  std::vector<Problem> problems;
  const int arch = target.arch();
  if (!has_tensor_cores(target)) {
    problems.push_back({"", fmt::format("no kernel serves target {}", target.name),
                        fmt::format("sm_{}", arch), "sm_75 and up", ""});
  }
  if (!computed.empty() && op.dtype == DType::kBf16 && !has_bf16(target)) {
    problems.push_back({std::string(computed),
                        fmt::format("{} (sm_{}) has no bfloat16 arithmetic", target.name, arch),
                        "\"bf16\"", "\"fp16\"", ""});
  }
  return problems;
}

std::string weight_op_kernel_name(const Spec& spec, std::string_view types) {
  const WeightOpSpec& op = spec.weight_op();
  return fmt::format("heddle_{}_{}_{}_n{}_k{}", to_string(spec.op()), types, weight_name(op.weight),
                     op.shape.n, op.shape.k);
}

}  // namespace heddle
