#include "generator/families/gemv/candidates.h"

#include <algorithm>
#include <set>
#include <utility>

#include "gemv/config.h"
#include "generator/families/all.h"
#include "generator/families/blocks_that_fit.h"
#include "generator/families/gemm_config.h"
#include "generator/families/gemm_kernel.h"
#include "generator/families/refuse.h"
#include "generator/families/scale_mode.h"
#include "generator/families/tile_fields.h"
#include "generator/spec/weight_meaning.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

using device::GemvConfig;
using A = KernelArgument;

constexpr int kTokenTile = 8;        // tokens of a matrix instruction, all of which are the same
constexpr int kMostBlocksOfSm = 16;  // of every GPU
constexpr int kMostWarps = 16;  // more leave a thread fewer registers than the weights ahead want
// Fewer warps than this only where a warp has few chunks all the same.
constexpr int kFewWarps = 4, kFewChunks = 4;
constexpr int kUsualAhead = 2, kMostAhead = 4;
constexpr int kMostSplit = 4;
// Blocks for each SM up to which K is shared: more of them keep all SMs busy as they are.
constexpr int kSplitTurns = 2;

// Registers of a thread, besides those of the words that it holds: for sums, fragments and
// addresses; for widths that are decoded several tiles at a time; for sums of X and the zero points
// that meet them; and for floats of 8 bits, whose conversion is an instruction from sm_89 on only.
// Found by compiling (CompileGemv, of every kernel); the compiler may take fewer.
constexpr int kOtherRegisters = 96, kLongUnitRegisters = 12, kFloatZeroRegisters = 56,
              kFloat8Registers = 16;

int registers_of(const WeightSpec& weight, const GemvConfig& c) {
  int registers = 2 * weight.bits * c.ahead + kOtherRegisters;
  if (weight.bits % 4 != 0) registers += kLongUnitRegisters;
  if (weight.zero_point == ZeroPoint::kFloat) registers += kFloatZeroRegisters;
  if (!is_integer(weight.type) && weight.bits == 8) registers += kFloat8Registers;
  return registers;
}

class Candidates {
 public:
  Candidates(const GemmRequest& gemm, const MRange& m)
      : spec_(gemm.spec), target_(gemm.target), m_(m) {
    base_.weights = packed_weights(spec_, gemm.layout);
    base_.shape = weight_shape(spec_, gemm.layout);
    base_.scaling.mode = scale_mode_of_entries(spec_, gemm.layout, kTokenTile);
    base_.epilogue = epilogue_of(spec_);
    base_.pre_scale = takes_pre_scale(spec_);
    base_.turing = spec_.path == Path::kTuring || !has_async_copies(target_);
  }

  std::vector<PlannedKernel> all() {
    const device::WeightShape& shape = base_.shape;
    for (int split = 1; split <= kMostSplit; ++split) {
      const bool can = split == 1 || (2 * split <= shape.chunks &&
                                      shape.row_blocks <= device::Workspace::kCounterBytes / 4);
      // Rows too long for one block are shared, too.
      const bool helps = split == 1 || kernels_.empty() ||
                         shape.row_blocks * split <= kSplitTurns * target_.sm_count;
      if (!can || !helps) break;
      add_split(split);
    }
    return std::move(kernels_);
  }

 private:
  // As many warps as leave none of them fewer chunks than others, but where K does not come out
  // even: more would wait for those that have the most.
  void add_split(int split) {
    GemvConfig c = base_;
    c.split_k = split;
    std::set<int> counts;
    for (int of_warp = 1; of_warp <= c.block_chunks(); ++of_warp) {
      const auto warps = static_cast<int>(device::ceil_div(c.block_chunks(), of_warp));
      if (warps <= kMostWarps && (warps >= kFewWarps || of_warp <= kFewChunks)) {
        counts.insert(warps);
      }
    }
    for (const int warps : counts) {
      c.warps_k = warps;
      for (const int ahead : std::set<int>{std::min(kUsualAhead, c.warp_chunks()),
                                           std::min(kMostAhead, c.warp_chunks())}) {
        c.ahead = ahead;
        add(c);
      }
    }
  }

  void add(const GemvConfig& c) {
    const int by_registers =
        target_.registers_per_sm / (c.threads() * registers_of(spec_.weight, c));
    if (by_registers == 0 || c.shared_bytes() > target_.shared_per_block) return;
    const auto of_sm = static_cast<int>(device::ceil_div(c.blocks(), target_.sm_count));
    PlannedKernel kernel = gemm_candidate(*gemv_family(), m_, c);
    kernel.blocks_per_sm = blocks_that_fit(target_, c.threads(), c.shared_bytes(),
                                           std::min({of_sm, by_registers, kMostBlocksOfSm}));
    kernel.starts_early = has_dependent_launch(target_);
    kernel.arguments = {A::kX,        A::kWeights,  A::kY,         A::kBias,
                        A::kResidual, A::kPreScale, A::kWorkspace, A::kM};
    add_output_arguments(spec_, kernel);
    kernels_.push_back(std::move(kernel));
  }

  const GemmSpec& spec_;
  const Target& target_;
  const MRange m_;
  GemvConfig base_{};  // what all candidates have
  std::vector<PlannedKernel> kernels_;
};

}  // namespace

std::vector<Problem> gemv_exclusions(const GemmSpec& spec, const MRange& m) {
  Reasons reasons;
  reasons.unless(m.max == 1, "/shape/m/1", "it serves one token", spec.shape.m_max, 1);
  refuse_found_scales(spec, reasons);
  if (spec.path == Path::kHopper) {
    refuse_path(spec, "it has no bulk copies, which the path hopper stands for",
                "\"turing\", \"ampere\", \"auto\"", reasons);
  }
  reasons.unless(!sets_any(spec.tile), "/tile", "the spec sets a tile, which it does not have", "",
                 "no tile");
  return reasons.take();
}

std::vector<PlannedKernel> gemv_candidates(const GemmRequest& gemm, const MRange& m) {
  return Candidates(gemm, m).all();
}

std::vector<Problem> gemv_refusals(const GemmRequest& gemm) {
  Reasons reasons;
  reasons.unless(false, "/shape/k",
                 "the token and the scales of such long rows do not fit into the shared memory",
                 gemm.spec.shape.k, "shorter rows");
  return reasons.take();
}

}  // namespace heddle
