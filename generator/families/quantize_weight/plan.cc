#include <fmt/format.h>

#include <utility>

#include "generator/decode/encode_moves.h"
#include "generator/families/all.h"
#include "generator/families/quantize_weight/quantize_span.h"
#include "generator/families/quantize_weight/text.h"
#include "generator/families/tile_kernel.h"
#include "generator/families/weight_op_kernel.h"
#include "generator/layout/rounding_rule.h"
#include "generator/planner/refuse_if_any.h"

namespace heddle {
namespace {

constexpr int kChunkThreads = 128;  // 16 columns of a row each
constexpr int kEntryBytes = 16;     // of shared memory, for a group of a row
constexpr int kThreadsOfAnSm = 1024;

void refuse(const Spec& spec, const Target& target) {
  std::vector<Problem> problems = refuse_weight_op(spec, target);
  for (Problem& problem : refuse_rounding(spec.weight_op().weight)) {
    problems.push_back(std::move(problem));
  }
  refuse_if_any(spec, std::move(problems));
}

TileKernel plan_quantize_weight(Plan& plan) {
  refuse(plan.spec, plan.target);
  const WeightOpSpec& spec = plan.spec.weight_op();
  // The order inside a word does not depend on what codes decode to.
  plan.decode = derive_decode_plan(decode_request(spec.weight, DType::kFp16));
  plan.layout = weight_layout(spec.shape, spec.weight);
  const Span span = quantize_span(plan.layout, spec.weight);
  TileKernel kernel;
  kernel.name = weight_op_kernel_name(plan.spec, to_string(spec.dtype));
  kernel.tile_rows = WeightLayout::kRowBlock;
  kernel.tile_columns = span.chunks * WeightLayout::kChunkK;
  kernel.threads = span.step_chunks * kChunkThreads;
  kernel.shared_bytes = span.step_chunks * WeightLayout::kRowBlock * WeightLayout::kChunkK +
                        span.groups * WeightLayout::kRowBlock * kEntryBytes;
  kernel.blocks_per_sm = blocks_that_fit(plan.target, kernel, kThreadsOfAnSm / kernel.threads);
  plan.reasons = {
      fmt::format("a block takes 16 rows and {} columns: whole chunks that are whole groups",
                  kernel.tile_columns),
      fmt::format("{} chunks at a time, 128 threads to a chunk", span.step_chunks),
      "W is read twice, the second time from the caches: a scale is needed before the first code"};
  return kernel;
}

class QuantizeWeight final : public TileKernelFamily {
 public:
  std::string_view name() const noexcept override { return "quantize_weight"; }
  bool plans(Op op) const noexcept override { return op == Op::kQuantizeWeight; }
  void plan(Plan& plan) const override {
    plan.kernels = {
        planned(plan_quantize_weight(plan), {KernelArgument::kW, KernelArgument::kPacked})};
  }
  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    return quantize_weight_text(plan, tile_kernel_of(kernel));
  }
};

}  // namespace

const Family* quantize_weight_family() {
  static const QuantizeWeight family;
  return &family;
}

}  // namespace heddle
