#include "generator/families/tiles/candidates.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "generator/families/all.h"
#include "generator/families/blocks_that_fit.h"
#include "generator/families/gemm_config.h"
#include "generator/families/gemm_kernel.h"
#include "generator/families/mma_tile.h"
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

constexpr int kMostTokens = 128;    // of a tile
constexpr int kMostRowBlocks = 24;  // of a tile
constexpr int kWaves = 2;           // of thread blocks, up to which K is shared
// Stages of the ring; more of them bring nothing.
constexpr int kMostStages = 4, kMostBulkStages = 8;
// Stages of weights that may be ahead of the tokens, of rows of so many stages and more; integers
// of few bits are decoded no faster than the memory brings them.
constexpr int kStagesAhead = 2, kLongRowStages = 8, kFewBits = 3;

class Candidates {
 public:
  // `any_tile`: also tiles that are slow: their sums may not stay in the registers, or their rows
  // are as few as can be.
  Candidates(const Plan& plan, const MRange& m, bool any_tile)
      : spec_(plan.spec.gemm()),
        tile_(spec_.tile),
        target_(plan.target),
        layout_(plan.layout),
        epilogue_(epilogue_of(spec_)),
        m_(m),
        any_tile_(any_tile) {}

  void add_all(Feeder feeder) {
    const bool bulk = feeder == Feeder::kBulk;
    TilesConfig c{};
    c.weights = packed_weights(spec_, layout_);
    c.shape = weight_shape(spec_, layout_);
    c.epilogue = epilogue_;
    c.pre_scale = takes_pre_scale(spec_);
    c.feeder = feeder;
    c.stages = 2;  // until they are chosen: what refuse_tile() does not mind
    c.split_k = 1;
    for (const int tokens : values_of(tile_.m, token_counts(bulk))) {
      for (const TilesWarps& warps : tiles_warps(tile_, bulk, any_tile_)) {
        for (const int rows : values_of(tile_.n, row_counts(warps))) {
          c.tile_m = tokens;
          c.tile_n = rows;
          c.stage_k = warps.columns;
          c.warps_m = warps.m;
          c.warps_n = warps.n;
          c.warps_k = warps.k;
          if (is_whole(c)) add_splits(c);
        }
      }
    }
  }

  bool empty() const { return kernels_.empty(); }
  std::vector<PlannedKernel> take() { return std::move(kernels_); }
  // What is wrong with the tile that came nearest to being built: among those that give each warp
  // its part, the one with the least shared memory, if there are any.
  std::vector<Problem> take_problems() { return std::move(problems_); }

 private:
  // Numbers of tokens of a tile: all tokens where a tile can have them, since two tiles would read
  // the weights twice.
  std::vector<int> token_counts(bool bulk) const {
    const auto tokens = static_cast<int>(std::min<std::int64_t>(m_.max, kMostTokens));
    if (bulk) return {static_cast<int>(ceil_div(tokens, 8)) * 8};
    if (any_tile_ && epilogue_.finds_scales) return token_counts_beside_groups(m_.max);
    if (m_.max > kMostTokens / 2) return {kMostTokens / 2, kMostTokens};
    int cover = 8;
    while (cover < tokens) cover *= 2;
    return {cover};
  }

  // Row blocks for whole rounds of blocks, with all or a part of K each, and usual sizes.
  std::vector<int> row_counts(const TilesWarps& warps) const {
    std::set<int> counts;
    const int step = row_block_step(epilogue_, warps.n);
    const auto add = [&](std::int64_t row_blocks) {
      const std::int64_t whole = ceil_div(row_blocks, step) * step;
      if (whole <= kMostRowBlocks) counts.insert(static_cast<int>(whole) * WeightLayout::kRowBlock);
    };
    for (int parts = 1; parts <= 4; ++parts) {
      add(ceil_div(layout_.row_blocks * parts, target_.sm_count));
      add(ceil_div(layout_.row_blocks, parts * target_.sm_count));
    }
    for (const int usual : {4, 8, 16}) add(std::min<std::int64_t>(usual, layout_.row_blocks));
    // The fewest rows that these warps can have.
    if (any_tile_ || counts.empty()) counts.insert(step * WeightLayout::kRowBlock);
    return {counts.begin(), counts.end()};
  }

  // What no hardware is asked about: refuse_tile() says why.
  bool is_whole(const TilesConfig& c) {
    if (c.stage_k > kMostTileStageColumns || c.warps_m < 1 || c.warps_n < 1 || c.warps_k < 1 ||
        c.tile_m % (8 * c.warps_m) != 0 || c.tile_n % (16 * c.warps_n) != 0 ||
        c.stage_k % 128 != 0 || c.stage_k % (64 * c.warps_k) != 0 || c.tile_m < 8 ||
        c.tile_n < 16 || c.stage_k < 128 || !c.epilogue.holds_groups(c.tile_n)) {
      if (problems_.empty()) problems_ = problems_of(c);
      return false;
    }
    return true;
  }

  // Fewer thread blocks of an SM leave each thread more registers, and longer rings.
  void add_splits(TilesConfig c) {
    const bool bulk = c.feeder == Feeder::kBulk;
    c.scaling.mode = tiles_scale_mode(spec_, layout_, c);
    const int stages = c.total_stages();
    const std::int64_t tiles = ceil_div(m_.max, c.tile_m) * ceil_div(spec_.shape.n, c.tile_n);
    const std::vector<int> splits = bulk ? std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}
                                         : std::vector<int>{1, 2, 3, 4, 6, 8, 12, 16};
    for (const int split : values_of(tile_.split_k, splits)) {
      const bool fills = 2 * split <= stages && tiles * split <= kWaves * target_.sm_count;
      if (split > 1 && !fills && !tile_.split_k) continue;
      c.split_k = split;
      const int most_blocks =
          c.feeder == Feeder::kAsync && two_may_share_registers(c, spec_) ? 2 : 1;
      for (int blocks = most_blocks; blocks > 0; --blocks) add_blocks(c, blocks);
    }
  }

  void add_blocks(TilesConfig c, int blocks_per_sm) {
    const bool fits = set_stages(c, blocks_per_sm);
    c.reads_ahead = can_read_ahead(spec_.weight, c);
    const int registers = register_budget(target_, c.threads(), blocks_per_sm);
    const bool is_last = any_tile_ && blocks_per_sm == 1;
    const bool holds_sums =
        fits_registers(c, spec_, registers) || (is_last && may_lack_registers(c, spec_, registers));
    if (!fits || !holds_sums) {
      note_problems(c);
      return;
    }
    add(c, blocks_per_sm);
  }

  // The most that leave room for the thread blocks of an SM, or the user's number.
  bool set_stages(TilesConfig& c, int blocks_per_sm) const {
    const int of_sm = target_.shared_per_sm / blocks_per_sm - kReservedSharedBytes;
    const int room =
        blocks_per_sm == 1 ? target_.shared_per_block : std::min(target_.shared_per_block, of_sm);
    const bool bulk = c.feeder == Feeder::kBulk;
    // Blocks that share K have some of the stages each; nobody needs places for more.
    const auto own = static_cast<int>(ceil_div(c.total_stages(), c.split_k));
    const int most = c.feeder == Feeder::kRegisters ? 2
                     : !bulk                        ? kMostStages
                                                    : std::clamp(own, 2, kMostBulkStages);
    if (tile_.stages) {
      c.stages = *tile_.stages;
    } else {
      for (c.stages = most; c.stages > 2; --c.stages) {
        if (c.shared_bytes() <= room) break;
      }
    }
    if (bulk) c.stages_ahead = stages_ahead(c, most);
    return c.shared_bytes() <= room;
  }

  // Stages of a bulk-copied tile whose weights are copied before the tokens. A block that starts
  // while another's runs has the time to copy the weights of its whole ring: they do not keep its
  // tokens waiting.
  int stages_ahead(const TilesConfig& c, int most) const {
    if (c.is_cluster() && tile_fits_twice(target_, c)) return std::min(c.stages, most);
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

  // Keeps the problems of a complete tile if they are those of the smallest one so far.
  void note_problems(const TilesConfig& c) {
    if (c.shared_bytes() >= least_refused_bytes_) return;
    std::vector<Problem> problems = problems_of(c);
    if (problems.empty()) return;
    least_refused_bytes_ = c.shared_bytes();
    problems_ = std::move(problems);
  }
  std::vector<Problem> problems_of(const TilesConfig& c) const {
    return c.feeder == Feeder::kBulk ? refuse_bulk(c, spec_, target_, m_.max)
                                     : refuse_tile(c, spec_, target_, m_.max);
  }

  void add(const TilesConfig& c, int blocks_per_sm) {
    if (problems_of(c).empty()) {
      kernels_.push_back(kernel_of(c, blocks_per_sm));
    } else {
      note_problems(c);
    }
  }

  // Where there are SMs for all blocks, each has one to itself.
  int least_shared_bytes(const TilesConfig& c) const {
    const bool has_sms = ceil_div(spec_.shape.n, c.tile_n) * c.split_k <= target_.sm_count;
    return has_sms ? shared_bytes_of_own_sm(target_) : 0;
  }

  PlannedKernel kernel_of(const TilesConfig& c, int blocks_per_sm) const {
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

  const GemmSpec& spec_;
  const TileSpec& tile_;
  const Target& target_;
  const WeightLayout& layout_;
  const device::EpilogueConfig epilogue_;
  const MRange m_;
  const bool any_tile_;
  std::vector<PlannedKernel> kernels_;
  std::vector<Problem> problems_;
  int least_refused_bytes_ = std::numeric_limits<int>::max();  // shared memory of their tile
};

// The newest feeder that the target and the spec have.
Feeder feeder_of(const GemmSpec& spec, const Target& target) {
  if (has_bulk_tiles(spec, target)) return Feeder::kBulk;
  const bool turing = spec.path == Path::kTuring || !has_async_copies(target);
  return turing ? Feeder::kRegisters : Feeder::kAsync;
}

Candidates candidates_with(const Plan& plan, const MRange& m, bool any_tile) {
  Candidates candidates(plan, m, any_tile);
  candidates.add_all(feeder_of(plan.spec.gemm(), plan.target));
  return candidates;
}

// A tile of the user's that no registers hold is built all the same. So is a slow one where none is
// fast, since the GPU has few registers or little shared memory; but none that bulk copies feed.
Candidates candidates_of(const Plan& plan, const MRange& m) {
  Candidates candidates = candidates_with(plan, m, false);
  const bool may_be_slow =
      sets_any(plan.spec.gemm().tile) || !has_bulk_tiles(plan.spec.gemm(), plan.target);
  if (candidates.empty() && may_be_slow) return candidates_with(plan, m, true);
  return candidates;
}

}  // namespace

bool tile_fits_twice(const Target& target, const TilesConfig& c) {
  constexpr int kFewThreads = 160, kFewSumTiles = 4;
  const bool has_registers =
      c.threads() <= kFewThreads || c.row_tiles() * c.token_tiles() <= kFewSumTiles;
  return has_registers && 2 * (c.shared_bytes() + kReservedSharedBytes) <= target.shared_per_sm;
}

std::vector<PlannedKernel> tiles_candidates(const Plan& plan, const MRange& m) {
  return candidates_of(plan, m).take();
}

std::vector<Problem> tiles_refusals(const Plan& plan, const MRange& m) {
  return candidates_of(plan, m).take_problems();
}

}  // namespace heddle
