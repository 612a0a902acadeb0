#include <fmt/format.h>

#include <utility>

#include "generator/decode/encode_moves.h"
#include "generator/layout/rounding_rule.h"
#include "generator/plan/quantize_span.h"
#include "generator/plan/resolve.h"
#include "generator/plan/weight_op_kernel.h"

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

}  // namespace

void resolve_quantize_weight(Plan& plan) {
  refuse(plan.spec, plan.target);
  const WeightOpSpec& spec = plan.spec.weight_op();
  // The order inside a word does not depend on what codes decode to.
  plan.decode = derive_decode_plan(decode_request(spec.weight, DType::kFp16));
  plan.layout = weight_layout(spec.shape, spec.weight);
  const Span span = quantize_span(plan.layout, spec.weight);
  TileKernel kernel;
  kernel.role = KernelRole::kQuantizeWeight;
  kernel.name = weight_op_kernel_name(plan.spec, to_string(spec.dtype));
  kernel.tile_rows = WeightLayout::kRowBlock;
  kernel.tile_columns = span.chunks * WeightLayout::kChunkK;
  kernel.threads = span.step_chunks * kChunkThreads;
  kernel.shared_bytes = span.step_chunks * WeightLayout::kRowBlock * WeightLayout::kChunkK +
                        span.groups * WeightLayout::kRowBlock * kEntryBytes;
  kernel.blocks_per_sm = blocks_that_fit(plan.target, kernel, kThreadsOfAnSm / kernel.threads);
  plan.tile_kernels = {kernel};
  plan.reasons = {
      fmt::format("a block takes 16 rows and {} columns: whole chunks that are whole groups",
                  kernel.tile_columns),
      fmt::format("{} chunks at a time, 128 threads to a chunk", span.step_chunks),
      "W is read twice, the second time from the caches: a scale is needed before the first code"};
}

}  // namespace heddle
