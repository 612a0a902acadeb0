#include "generator/families/byte_tiles/candidates.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "generator/families/all.h"
#include "generator/families/blocks_that_fit.h"
#include "generator/families/gemm_config.h"
#include "generator/families/gemm_kernel.h"
#include "generator/families/mma_candidates.h"
#include "generator/families/refuse.h"
#include "generator/families/tile_fields.h"
#include "generator/spec/byte_meaning.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

using device::ByteTilesConfig;
using A = KernelArgument;

// With few tokens warps along K, a chunk each, keep the rows of a tile few, so that many SMs read
// W. With many, each has as many rows as tokens, so that it reads least for its products.
constexpr MmaWarps kFew[] = {{1024, 1, 8}, {512, 1, 4}, {512, 2, 4}, {256, 2, 2},
                             {256, 4, 2},  {128, 4, 1}, {128, 8, 1}};
constexpr MmaWarps kMany[] = {
    {128, 4, 1, 2}, {128, 2, 1, 2}, {128, 8, 1}, {128, 4, 1}, {256, 4, 2}};
// Up to so many tokens a tile is one of few.
constexpr int kFewTokens = 32;

// Registers of a thread for sums, those of a chunk that is promoted included.
int sum_registers(const ByteTilesConfig& c) {
  return (c.promotes ? 8 : 4) * c.row_tiles() * c.token_tiles();
}

class Candidates final : public MmaCandidates<ByteTilesConfig> {
 public:
  Candidates(const GemmRequest& gemm, const MRange& m, bool any_tile)
      : MmaCandidates(gemm, m, any_tile,
                      {.most_row_blocks = 16, .most_tokens_of_rounds = kMostTokens / 2}) {
    base_.scaling.mode = scale_mode_of_bytes(spec_);
    base_.by_registers = spec_.path == Path::kTuring || !has_async_copies(target_);
    base_.converts = spec_.activation != DType::kInt8 && !has_fp8_units(target_);
    base_.promotes =
        spec_.activation != DType::kInt8 && spec_.accumulation == Accumulation::kPromoted;
    base_.scale_per_token = spec_.activation_scale.granularity == RowGranularity::kToken;
    base_.token_zeros = !spec_.activation_scale.symmetric;
  }

 private:
  MmaTile tile_of(const ByteTilesConfig& c) const override {
    constexpr int kRun = WeightLayout::kChunkK;  // columns that a warp takes at a time
    return mma_tile(c, kRun, c.by_registers);
  }
  std::vector<MmaWarps> warp_counts(int tokens) const override {
    if (!leaves_warps_open(tile_)) return warps_of(tile_, {1, 2}, {1, 2, 4, 8}, any_tile_);
    if (tokens <= kFewTokens) return {std::begin(kFew), std::end(kFew)};
    return {std::begin(kMany), std::end(kMany)};
  }
  int most_blocks(const ByteTilesConfig& c) const override { return c.by_registers ? 1 : 2; }
  int most_stages(const ByteTilesConfig& c) const override {
    return c.by_registers ? 2 : kMostAsyncStages;
  }

  // Whether the compiler has registers for the sums, two sets of fragments, a stage that goes
  // through registers, and addresses, of which there are more where a thread copies much of a
  // stage. What these take was found by compiling (CompileByteTiles, of every kernel).
  bool fits_registers(const ByteTilesConfig& c, int blocks_per_sm) const {
    const int sets = c.converts ? 3 : 2;  // one set, and the same in FP16
    const int others = c.converts ? 96 : 40;
    const int fragments = sets * (4 * c.row_tiles() + 2 * c.token_tiles());
    constexpr int kUsualCopies = 24;  // of 16 bytes
    const int copies = c.stage_bytes() / (16 * c.threads());
    const int held = c.by_registers ? 4 * copies : std::max(copies - kUsualCopies, 0);
    return sum_registers(c) + fragments + held + others <=
           register_budget(target_, c.threads(), blocks_per_sm);
  }

  // A tile that may have no registers for its sums is built for one block of an SM at most.
  bool holds_sums(const ByteTilesConfig& c, int blocks_per_sm) const override {
    return fits_registers(c, blocks_per_sm) || (any_tile_ && blocks_per_sm == 1);
  }

  std::vector<Problem> problems_of(const ByteTilesConfig& c) const override {
    std::vector<Problem> problems = refuse_warps(tile_of(c));
    if (!problems.empty()) return problems;
    return refuse_tile_size(tile_of(c), c.shared_bytes(), sum_registers(c), spec_, target_, m_.max);
  }

  PlannedKernel kernel_of(const ByteTilesConfig& c, int blocks_per_sm) const override {
    PlannedKernel kernel = gemm_candidate(*byte_tiles_family(), m_, c);
    kernel.blocks_per_sm = blocks_per_sm;
    // As tiles of 16 bits: blocks that share an SM would leave others idle.
    kernel.starts_early = !c.by_registers && has_dependent_launch(target_) && blocks_per_sm == 1;
    kernel.arguments = {A::kX,        A::kWeights,   A::kXScales, A::kXZeroPoints, A::kY, A::kBias,
                        A::kResidual, A::kWorkspace, A::kM};
    add_output_arguments(spec_, kernel);
    return kernel;
  }
};

}  // namespace

std::vector<PlannedKernel> byte_tiles_candidates(const GemmRequest& gemm, const MRange& m) {
  return searched<Candidates>(gemm, m, true).take();
}

std::vector<Problem> byte_tiles_refusals(const GemmRequest& gemm, const MRange& m) {
  return searched<Candidates>(gemm, m, true).take_problems();
}

std::vector<Problem> byte_tiles_exclusions(const GemmSpec& spec, const Target& target) {
  Reasons reasons;
  reasons.unless(!spec.weight.has_blocks(), "/weight/group_rows",
                 "its sums meet scales of tokens and rows, not of blocks", spec.weight.group_rows,
                 "1, with a scale for each token or one for all");
  reasons.unless(!decodes_to_bytes(spec), "/weight/bits", "it multiplies weights of 8 bits",
                 spec.weight.bits, 8);
  const bool is_fp8 = spec.activation != DType::kInt8;
  if (spec.path == Path::kHopper) {
    refuse_path(spec, "it has no kernels of the path hopper", "\"ampere\", \"auto\"", reasons);
  } else if (spec.path == Path::kTuring && is_fp8) {
    refuse_path(spec, "the matrix instruction of the path turing has no FP8",
                "\"ampere\", \"auto\"", reasons);
  } else if (spec.path == Path::kAuto && is_hopper(target)) {
    // Its cost parameters are not measured for sm_90: it could be chosen and be slower.
    refuse_path(spec, "on sm_90 the spec has to ask for an older path: its time is not known there",
                is_fp8 ? "\"ampere\"" : "\"ampere\", \"turing\"", reasons);
  }
  return reasons.take();
}

}  // namespace heddle
