#include <fmt/format.h>

#include "generator/decode/encode_moves.h"
#include "generator/families/all.h"
#include "generator/families/repack/text.h"
#include "generator/families/tile_kernel.h"
#include "generator/families/weight_op_kernel.h"
#include "generator/planner/refuse_if_any.h"

namespace heddle {
namespace {

// A block's threads are as many as its rows: each takes one row of a GPTQ tensor, or one lane's
// share of a word of AWQ. Small blocks leave no tail at the end of a matrix; AWQ, with eight rows
// to a word, needs 256 of them for whole lines of memory.
int tile_rows(CheckpointFormat format) { return format == CheckpointFormat::kAwq ? 256 : 128; }

constexpr int kThreadsOfAnSm = 1024;  // 64 registers each

TileKernel plan_repack(Plan& plan) {
  refuse_if_any(plan.spec, refuse_weight_op(plan.spec, plan.target));
  const WeightOpSpec& spec = plan.spec.weight_op();
  // The order inside a word does not depend on what codes decode to.
  plan.decode = derive_decode_plan(decode_request(spec.weight, DType::kFp16));
  plan.layout = weight_layout(spec.shape, spec.weight);
  TileKernel kernel;
  kernel.name = weight_op_kernel_name(plan.spec, to_string(spec.format));
  kernel.tile_rows = tile_rows(spec.format);
  kernel.tile_columns = WeightLayout::kChunkK;
  kernel.threads = kernel.tile_rows;
  kernel.shared_bytes = kernel.tile_rows * WeightLayout::kChunkK;
  kernel.blocks_per_sm = blocks_that_fit(plan.target, kernel, kThreadsOfAnSm / kernel.threads);
  plan.reasons = {
      fmt::format("tiles of {} rows: {} words of a row of the checkpoint are whole lines of 128 "
                  "bytes",
                  kernel.tile_rows,
                  spec.format == CheckpointFormat::kAwq ? kernel.tile_rows / 8 : kernel.tile_rows),
      "codes stay in shared memory, a byte each, until a warp packs 16 rows of them: a lane then "
      "finds its 32 codes of 64 columns in two accesses",
      fmt::format("packing takes {:.3g} instructions per weight, one for all bits that travel the "
                  "same way",
                  encode_cost(plan.decode))};
  if (spec.act_order) {
    plan.reasons.emplace_back(
        "act-order: each code is gathered by its column; neighbouring lanes still read "
        "neighbouring words");
  }
  return kernel;
}

class Repack final : public TileKernelFamily {
 public:
  std::string_view name() const noexcept override { return "repack"; }
  bool plans(Op op) const noexcept override { return op == Op::kRepack; }
  void plan(Plan& plan) const override {
    plan.kernels = {
        planned(plan_repack(plan),
                {KernelArgument::kWeights, KernelArgument::kScales, KernelArgument::kZeros,
                 KernelArgument::kPermutation, KernelArgument::kPacked})};
  }
  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    return repack_text(plan, tile_kernel_of(kernel));
  }
};

}  // namespace

const Family* repack_family() {
  static const Repack family;
  return &family;
}

}  // namespace heddle
