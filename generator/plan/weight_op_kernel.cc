#include "generator/plan/weight_op_kernel.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle {
namespace {

constexpr int kReservedSharedBytes = 1024;  // by CUDA, of each block

std::string group_text(int group_size) {
  if (group_size == kPerChannel) return "channel";
  if (group_size == kPerTensor) return "tensor";
  return fmt::format("g{}", group_size);
}

std::string codes_text(const WeightSpec& weight) {
  const std::string zero = weight.zero_point == ZeroPoint::kNone ? "" : "z";
  switch (weight.type) {
    case WeightType::kUint:
      return fmt::format("u{}{}", weight.bits, zero);
    case WeightType::kInt:
      return fmt::format("s{}{}", weight.bits, zero);
    default:
      return std::string(to_string(weight.type));
  }
}

}  // namespace

std::string weight_op_kernel_name(const Spec& spec, std::string_view source) {
  const WeightOpSpec& op = spec.weight_op();
  return fmt::format("heddle_{}_{}_{}_n{}_k{}_{}", to_string(spec.op()), source,
                     codes_text(op.weight), op.shape.n, op.shape.k,
                     group_text(op.weight.group_size));
}

int blocks_that_fit(const Target& target, const TileKernel& kernel, int most) {
  const int by_threads = target.threads_per_sm / kernel.threads;
  const int by_shared = target.shared_per_sm / (kernel.shared_bytes + kReservedSharedBytes);
  return std::max(1, std::min({most, by_threads, by_shared}));
}

}  // namespace heddle
