#include "generator/families/byte_tiles/candidates.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "generator/families/all.h"
#include "generator/families/blocks_that_fit.h"
#include "generator/families/gemm_config.h"
#include "generator/families/gemm_kernel.h"
#include "generator/families/mma_tile.h"
#include "generator/families/refuse.h"
#include "generator/families/tile_fields.h"
#include "generator/spec/byte_meaning.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

using device::ByteTilesConfig;
using A = KernelArgument;

constexpr int kMostTokens = 128;    // of a tile
constexpr int kMostRowBlocks = 16;  // of a tile
constexpr int kWaves = 2;           // of thread blocks, up to which K is shared
constexpr int kMostStages = 4;      // of the ring; more of them bring nothing

// Columns of a stage and the warps that share them, the rows and the tokens of a tile.
struct Warps {
  int columns, n, k;
  int m = 1;
};
// With few tokens warps along K, a chunk each, keep the rows of a tile few, so that many SMs read
// W. With many, each has as many rows as tokens, so that it reads least for its products.
constexpr Warps kFew[] = {{1024, 1, 8}, {512, 1, 4}, {512, 2, 4}, {256, 2, 2},
                          {256, 4, 2},  {128, 4, 1}, {128, 8, 1}};
constexpr Warps kMany[] = {{128, 4, 1, 2}, {128, 2, 1, 2}, {128, 8, 1}, {128, 4, 1}, {256, 4, 2}};
// Up to so many tokens a tile is one of few.
constexpr int kFewTokens = 32;

// Registers of a thread for sums, those of a chunk that is promoted included.
int sum_registers(const ByteTilesConfig& c) {
  return (c.promotes ? 8 : 4) * c.row_tiles() * c.token_tiles();
}

class Candidates {
 public:
  // `any_tile`: also tiles that are slow: with more or fewer warps than are ever fast, or with sums
  // that no registers hold.
  Candidates(const Plan& plan, const MRange& m, bool any_tile)
      : spec_(plan.spec.gemm()),
        tile_(spec_.tile),
        target_(plan.target),
        layout_(plan.layout),
        m_(m),
        any_tile_(any_tile) {
    base_.weights = packed_weights(spec_, layout_);
    base_.shape = weight_shape(spec_, layout_);
    base_.scaling.mode = scale_mode_of_bytes(spec_);
    base_.epilogue = epilogue_of(spec_);
    base_.by_registers = spec_.path == Path::kTuring || !has_async_copies(target_);
    base_.converts = spec_.activation != DType::kInt8 && !has_fp8_units(target_);
    base_.promotes =
        spec_.activation != DType::kInt8 && spec_.accumulation == Accumulation::kPromoted;
    base_.scale_per_token = spec_.activation_scale.granularity == RowGranularity::kToken;
    base_.token_zeros = !spec_.activation_scale.symmetric;
    base_.stages = 2;
    base_.split_k = 1;
  }

  void add_all() {
    for (const int tokens : values_of(tile_.m, token_counts())) {
      for (const Warps& warps : warp_counts(tokens)) {
        for (const int rows : values_of(tile_.n, row_counts(tokens, warps))) {
          ByteTilesConfig c = base_;
          c.tile_m = tokens;
          c.tile_n = rows;
          c.stage_k = warps.columns;
          c.warps_m = warps.m;
          c.warps_n = warps.n;
          c.warps_k = warps.k;
          add_splits(c);
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
  std::vector<int> token_counts() const {
    if (any_tile_ && base_.epilogue.finds_scales) return token_counts_beside_groups(m_.max);
    if (m_.max > kMostTokens / 2) return {kMostTokens / 2, kMostTokens};
    int cover = 8;
    while (cover < m_.max) cover *= 2;
    return {cover};
  }

  std::vector<Warps> warp_counts(int tokens) const {
    if (!tile_.k && !tile_.warps_m && !tile_.warps_n && !tile_.warps_k) {
      if (tokens <= kFewTokens) return {std::begin(kFew), std::end(kFew)};
      return {std::begin(kMany), std::end(kMany)};
    }
    // With some of them set, the others as they come.
    constexpr int kFewestWarps = 4, kMostWarps = 16;
    std::vector<Warps> all;
    for (const int columns : values_of(tile_.k, {128, 256, 512, 1024})) {
      for (const int m : values_of(tile_.warps_m, {1, 2})) {
        for (const int n : values_of(tile_.warps_n, {1, 2, 4, 8})) {
          for (const int k : values_of(tile_.warps_k, {1, 2, 4, 8})) {
            const int count = m * n * k;
            if (any_tile_ || (count >= kFewestWarps && count <= kMostWarps)) {
              all.push_back({columns, n, k, m});
            }
          }
        }
      }
    }
    return all;
  }

  // Row blocks for whole rounds of blocks where tokens are few, and usual sizes.
  std::vector<int> row_counts(int tokens, const Warps& warps) const {
    std::set<int> counts;
    const int step = row_block_step(base_.epilogue, warps.n);
    const auto add = [&](std::int64_t row_blocks) {
      const std::int64_t whole = ceil_div(row_blocks, step) * step;
      if (whole <= kMostRowBlocks) counts.insert(static_cast<int>(whole) * WeightLayout::kRowBlock);
    };
    for (int parts = 1; parts <= 4 && tokens <= kMostTokens / 2; ++parts) {
      add(ceil_div(layout_.row_blocks * parts, target_.sm_count));
      add(ceil_div(layout_.row_blocks, parts * target_.sm_count));
    }
    for (const int usual : {4, 8, 16}) add(std::min<std::int64_t>(usual, layout_.row_blocks));
    // The fewest rows that these warps can have.
    if (counts.empty()) counts.insert(step * WeightLayout::kRowBlock);
    return {counts.begin(), counts.end()};
  }

  // Fewer thread blocks of an SM leave each thread more registers, and longer rings.
  void add_splits(ByteTilesConfig c) {
    std::vector<Problem> problems =
        refuse_warps(mma_tile(c, kRun, c.by_registers && !tile_.stages));
    if (!problems.empty()) {
      if (problems_.empty()) problems_ = std::move(problems);
      return;
    }
    const std::int64_t tiles = ceil_div(m_.max, c.tile_m) * ceil_div(spec_.shape.n, c.tile_n);
    for (const int split : values_of(tile_.split_k, {1, 2, 3, 4, 6, 8, 12, 16})) {
      const bool fills =
          2 * split <= c.total_stages() && tiles * split <= kWaves * target_.sm_count;
      if (split > 1 && !fills && !tile_.split_k) continue;
      c.split_k = split;
      for (int blocks = c.by_registers ? 1 : 2; blocks > 0; --blocks) add(c, blocks);
    }
  }

  // The most stages that leave room for the thread blocks of an SM, or the user's number.
  bool set_stages(ByteTilesConfig& c, int blocks_per_sm) const {
    const int of_sm = target_.shared_per_sm / blocks_per_sm - kReservedSharedBytes;
    const int room = std::min(target_.shared_per_block, of_sm);
    c.stages = tile_.stages.value_or(c.by_registers ? 2 : kMostStages);
    while (!tile_.stages && c.stages > 2 && c.shared_bytes() > room) --c.stages;
    return c.shared_bytes() <= (blocks_per_sm == 1 ? target_.shared_per_block : room);
  }

  // Whether the compiler has registers for the sums beside two sets of fragments, a stage that goes
  // through registers, and addresses, more of them where a thread copies much of a stage: what
  // these take was found by compiling.
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
  void add(ByteTilesConfig c, int blocks_per_sm) {
    const bool has_room = set_stages(c, blocks_per_sm);
    const bool is_last = any_tile_ && blocks_per_sm == 1;
    if (has_room && (fits_registers(c, blocks_per_sm) || is_last)) {
      std::vector<Problem> problems = problems_of(c);
      if (problems.empty()) return kernels_.push_back(kernel_of(c, blocks_per_sm));
      note(c, std::move(problems));
    } else {
      note(c, problems_of(c));
    }
  }

  std::vector<Problem> problems_of(const ByteTilesConfig& c) const {
    const MmaTile tile = mma_tile(c, kRun, c.by_registers);
    std::vector<Problem> problems = refuse_warps(tile);
    if (!problems.empty()) return problems;
    return refuse_tile_size(tile, c.shared_bytes(), sum_registers(c), spec_, target_, m_.max);
  }

  // Keeps the problems of a complete tile if they are those of the smallest one so far.
  void note(const ByteTilesConfig& c, std::vector<Problem> problems) {
    if (problems.empty() || c.shared_bytes() >= least_refused_bytes_) return;
    least_refused_bytes_ = c.shared_bytes();
    problems_ = std::move(problems);
  }

  PlannedKernel kernel_of(const ByteTilesConfig& c, int blocks_per_sm) const {
    PlannedKernel kernel = gemm_candidate(*byte_tiles_family(), m_, c);
    kernel.blocks_per_sm = blocks_per_sm;
    // As tiles of 16 bits: blocks that share an SM would leave others idle.
    kernel.starts_early = !c.by_registers && has_dependent_launch(target_) && blocks_per_sm == 1;
    kernel.arguments = {A::kX,        A::kWeights,   A::kXScales, A::kXZeroPoints, A::kY, A::kBias,
                        A::kResidual, A::kWorkspace, A::kM};
    add_output_arguments(spec_, kernel);
    return kernel;
  }

  static constexpr int kRun = WeightLayout::kChunkK;  // columns that a warp takes at a time

  const GemmSpec& spec_;
  const TileSpec& tile_;
  const Target& target_;
  const WeightLayout& layout_;
  const MRange m_;
  const bool any_tile_;
  ByteTilesConfig base_{};  // what all candidates have
  std::vector<PlannedKernel> kernels_;
  std::vector<Problem> problems_;
  int least_refused_bytes_ = std::numeric_limits<int>::max();  // shared memory of their tile
};

Candidates candidates_with(const Plan& plan, const MRange& m, bool any_tile) {
  Candidates candidates(plan, m, any_tile);
  candidates.add_all();
  return candidates;
}

// A slow tile is built all the same where there is no other.
Candidates candidates_of(const Plan& plan, const MRange& m) {
  Candidates candidates = candidates_with(plan, m, false);
  return candidates.empty() ? candidates_with(plan, m, true) : std::move(candidates);
}

}  // namespace

std::vector<PlannedKernel> byte_tiles_candidates(const Plan& plan, const MRange& m) {
  return candidates_of(plan, m).take();
}

std::vector<Problem> byte_tiles_refusals(const Plan& plan, const MRange& m) {
  return candidates_of(plan, m).take_problems();
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
    // A kernel of it may start sooner there than one of the path hopper. Nobody has measured that.
    refuse_path(spec, "on sm_90 the spec has to ask for an older path: its time is not known there",
                is_fp8 ? "\"ampere\"" : "\"ampere\", \"turing\"", reasons);
  }
  return reasons.take();
}

}  // namespace heddle
