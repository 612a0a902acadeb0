#include "generator/families/tiles/candidates.h"

#include <algorithm>

#include "generator/families/all.h"
#include "generator/families/blocks_that_fit.h"
#include "generator/families/gemm_config.h"
#include "generator/families/gemm_kernel.h"
#include "generator/families/mma_candidates.h"
#include "generator/families/shared_memory.h"
#include "generator/families/tile_fields.h"
#include "generator/families/tiles/read_ahead.h"
#include "generator/families/tiles/refuse.h"
#include "generator/families/tiles/sums.h"
#include "generator/families/tiles/warps.h"
#include "generator/spec/weight_meaning.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

using device::Feeder;
using device::TilesConfig;
using A = KernelArgument;

// Stages of weights that may be ahead of the tokens, of rows of so many stages and more; integers
// of few bits are decoded no faster than the memory brings them.
constexpr int kStagesAhead = 2, kLongRowStages = 8, kFewBits = 3;

// The newest feeder that the target and the spec have.
Feeder feeder_of(const GemmSpec& spec, const Target& target) {
  if (has_bulk_tiles(spec, target)) return Feeder::kBulk;
  const bool turing = spec.path == Path::kTuring || !has_async_copies(target);
  return turing ? Feeder::kRegisters : Feeder::kAsync;
}

class Candidates final : public MmaCandidates<TilesConfig> {
 public:
  Candidates(const GemmRequest& gemm, const MRange& m, bool any_tile)
      : MmaCandidates(gemm, m, any_tile, {.most_row_blocks = 24, .may_have_fewest_rows = true}) {
    base_.pre_scale = takes_pre_scale(spec_);
    base_.feeder = feeder_of(spec_, target_);
  }

 private:
  bool is_bulk() const { return base_.feeder == Feeder::kBulk; }

  MmaTile tile_of(const TilesConfig& c) const override { return tiles_mma_tile(c); }
  std::vector<MmaWarps> warp_counts(int /*tokens*/) const override {
    return tiles_warps(tile_, is_bulk(), any_tile_);
  }
  // Bulk copies bring all tokens to one tile.
  std::vector<int> token_counts() const override {
    if (!is_bulk()) return MmaCandidates::token_counts();
    const auto tokens = static_cast<int>(std::min<std::int64_t>(m_.max, kMostTokens));
    return {static_cast<int>(ceil_div(tokens, 8)) * 8};
  }
  std::vector<int> split_counts() const override {
    return is_bulk() ? std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8} : MmaCandidates::split_counts();
  }
  void settle_scale(TilesConfig& c) const override {
    c.scaling.mode = tiles_scale_mode(spec_, layout_, c);
  }

  int most_blocks(const TilesConfig& c) const override {
    return c.feeder == Feeder::kAsync && two_may_share_registers(c, spec_) ? 2 : 1;
  }
  bool holds_sums(const TilesConfig& c, int blocks_per_sm) const override {
    const int registers = register_budget(target_, c.threads(), blocks_per_sm);
    const bool is_last = any_tile_ && blocks_per_sm == 1;
    return fits_registers(c, spec_, registers) ||
           (is_last && may_lack_registers(c, spec_, registers));
  }

  int most_stages(const TilesConfig& c) const override {
    if (c.feeder == Feeder::kRegisters) return 2;
    if (!is_bulk()) return kMostAsyncStages;
    // Blocks that share K have some of the stages each; nobody needs places for more.
    const auto own = static_cast<int>(ceil_div(c.total_stages(), c.split_k));
    return std::clamp(own, 2, kMostBulkStages);
  }
  void settle_stages(TilesConfig& c) const override {
    if (is_bulk()) c.stages_ahead = stages_ahead(c);
    c.reads_ahead = can_read_ahead(spec_.weight, c);
  }
  // Stages of a bulk-copied tile whose weights are copied before the tokens. A block that starts
  // while another's runs has the time to copy the weights of its whole ring: they do not keep its
  // tokens waiting.
  int stages_ahead(const TilesConfig& c) const {
    if (c.is_cluster() && tile_fits_twice(target_, c)) return std::min(c.stages, most_stages(c));
    return may_be_ahead(c) ? kStagesAhead : 1;
  }

  // Whether weights of more than one stage may be ahead of the tokens: of a tile of tokens, which
  // are soon there, or in long rows, where the memory and not decoding sets the pace.
  bool may_be_ahead(const TilesConfig& c) const {
    const bool decodes_slowly =
        is_integer_up_to(spec_.weight, kFewBits) || has_small_scales(spec_.weight);
    const bool is_long = c.total_stages() >= kLongRowStages;
    return (c.tile_m <= 8 || (is_long && c.multiplying_warps() <= 8)) && c.stages > kStagesAhead &&
           !decodes_slowly;
  }

  std::vector<Problem> problems_of(const TilesConfig& c) const override {
    return is_bulk() ? refuse_bulk(c, spec_, target_, m_.max)
                     : refuse_tile(c, spec_, target_, m_.max);
  }

  // Where there are SMs for all blocks, each has one to itself.
  int least_shared_bytes(const TilesConfig& c) const {
    const bool has_sms = ceil_div(spec_.shape.n, c.tile_n) * c.split_k <= target_.sm_count;
    return has_sms ? shared_bytes_of_own_sm(target_) : 0;
  }

  PlannedKernel kernel_of(const TilesConfig& c, int blocks_per_sm) const override {
    PlannedKernel kernel = gemm_candidate(*tiles_family(), m_, c);
    kernel.blocks_per_sm = blocks_per_sm;
    const bool bulk = c.feeder == Feeder::kBulk;
    // Where an SM has room for two thread blocks of a kernel that starts early, the first SMs to be
    // free take two of them, and others none: those that cp.async feeds only do with an SM to each
    // block. Registers are fed by loads of X as if nobody had written it since the kernel began.
    kernel.starts_early =
        bulk || (c.feeder == Feeder::kAsync && has_dependent_launch(target_) && blocks_per_sm == 1);
    if (bulk) {
      kernel.shared_bytes = std::max(kernel.shared_bytes, least_shared_bytes(c));
      kernel.box_tokens = c.tile_m;
      kernel.fits_box = true;
      kernel.arguments = {A::kTokenMap, A::kWeights,   A::kY, A::kBias,
                          A::kResidual, A::kWorkspace, A::kM};
    } else {
      kernel.arguments = {A::kX,        A::kWeights,  A::kY,         A::kBias,
                          A::kResidual, A::kPreScale, A::kWorkspace, A::kM};
    }
    add_output_arguments(spec_, kernel);
    return kernel;
  }
};

// A tile of the user's that no registers hold is built all the same. So is a slow one where none is
// fast, since the GPU has few registers or little shared memory; but none that bulk copies feed.
Candidates candidates_of(const GemmRequest& gemm, const MRange& m) {
  const GemmSpec& spec = gemm.spec;
  return searched<Candidates>(gemm, m, sets_any(spec.tile) || !has_bulk_tiles(spec, gemm.target));
}

}  // namespace

bool tile_fits_twice(const Target& target, const TilesConfig& c) {
  constexpr int kFewThreads = 160, kFewSumTiles = 4;
  const bool has_registers =
      c.threads() <= kFewThreads || c.row_tiles() * c.token_tiles() <= kFewSumTiles;
  return has_registers && 2 * (c.shared_bytes() + kReservedSharedBytes) <= target.shared_per_sm;
}

std::vector<PlannedKernel> tiles_candidates(const GemmRequest& gemm, const MRange& m) {
  return candidates_of(gemm, m).take();
}

std::vector<Problem> tiles_refusals(const GemmRequest& gemm, const MRange& m) {
  return candidates_of(gemm, m).take_problems();
}

}  // namespace heddle
