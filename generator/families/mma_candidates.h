// MmaCandidates: the search for the tiles of mma.sync that could serve a GEMM. A family of such
// tiles says which warps share a tile, what must hold and what feeds it.
#ifndef HEDDLE_GENERATOR_FAMILIES_MMA_CANDIDATES_H_
#define HEDDLE_GENERATOR_FAMILIES_MMA_CANDIDATES_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "generator/families/gemm_config.h"
#include "generator/families/gemm_request.h"
#include "generator/families/mma_tile.h"
#include "generator/families/shared_memory.h"
#include "generator/families/tile_fields.h"

namespace heddle {

// Stages of a ring that cp.async fills; more of them bring nothing.
inline constexpr int kMostAsyncStages = 4;

template <class Config>
class MmaCandidates {
 public:
  virtual ~MmaCandidates() = default;

  void add_all() {
    for (const int tokens : values_of(tile_.m, token_counts())) {
      for (const MmaWarps& warps : warp_counts(tokens)) {
        for (const int rows : values_of(tile_.n, row_counts(tokens, warps.n))) {
          Config c = base_;
          c.tile_m = tokens;
          c.tile_n = rows;
          c.stage_k = warps.columns;
          c.warps_m = warps.m;
          c.warps_n = warps.n;
          c.warps_k = warps.k;
          if (refuse_warps(tile_of(c)).empty()) {
            settle_scale(c);
            add_splits(c);
          } else if (problems_.empty()) {
            problems_ = problems_of(c);
          }
        }
      }
    }
  }

  bool empty() const { return kernels_.empty(); }
  std::vector<PlannedKernel> take() { return std::move(kernels_); }
  // What is wrong with the tile that came nearest to being built: among those that give each warp
  // its part, the one with the least shared memory, if there are any.
  std::vector<Problem> take_problems() { return std::move(problems_); }

 protected:
  static constexpr int kMostTokens = 128;  // of a tile

  // What tiles of a family may have.
  struct Limits {
    int most_row_blocks = 0;
    // Up to so many tokens of a tile, its rows may fill whole rounds of thread blocks.
    int most_tokens_of_rounds = std::numeric_limits<int>::max();
    bool may_have_fewest_rows = false;  // also where there are usual numbers of rows
  };

  // `any_tile`: also tiles that are slow: with more or fewer warps than are ever fast, with few
  // rows, or with sums that the registers may not hold.
  MmaCandidates(const GemmRequest& gemm, const MRange& m, bool any_tile, const Limits& limits)
      : spec_(gemm.spec),
        tile_(spec_.tile),
        target_(gemm.target),
        layout_(gemm.layout),
        m_(m),
        any_tile_(any_tile),
        limits_(limits) {
    base_.weights = packed_weights(spec_, layout_);
    base_.shape = weight_shape(spec_, layout_);
    base_.epilogue = epilogue_of(spec_);
    base_.stages = 2;  // until they are chosen: what every tile may have
    base_.split_k = 1;
  }

  virtual MmaTile tile_of(const Config& c) const = 0;
  // Columns of a stage and the warps that share it.
  virtual std::vector<MmaWarps> warp_counts(int tokens) const = 0;
  virtual std::vector<int> split_counts() const { return {1, 2, 3, 4, 6, 8, 12, 16}; }
  virtual int most_stages(const Config& c) const = 0;
  virtual int most_blocks(const Config& c) const = 0;  // of an SM
  virtual bool holds_sums(const Config& c, int blocks_per_sm) const = 0;
  // Every reason why the tile cannot be built.
  virtual std::vector<Problem> problems_of(const Config& c) const = 0;
  virtual PlannedKernel kernel_of(const Config& c, int blocks_per_sm) const = 0;
  // What follows from the size of the tile, and from its stages.
  virtual void settle_scale(Config& /*c*/) const {}
  virtual void settle_stages(Config& /*c*/) const {}

  // Numbers of tokens of a tile: all tokens where a tile can have them, since two tiles would read
  // the weights twice.
  virtual std::vector<int> token_counts() const {
    if (any_tile_ && base_.epilogue.finds_scales) return token_counts_beside_groups(m_.max);
    if (m_.max > kMostTokens / 2) return {kMostTokens / 2, kMostTokens};
    int cover = 8;
    while (cover < m_.max) cover *= 2;
    return {cover};
  }

  const GemmSpec& spec_;
  const TileSpec& tile_;
  const Target& target_;
  const WeightLayout& layout_;
  const MRange m_;
  const bool any_tile_;
  Config base_{};  // what all candidates have

 private:
  static constexpr int kWaves = 2;  // of thread blocks, up to which K is shared

  // Row blocks for whole rounds of blocks, with all or a part of K each, and usual sizes.
  std::vector<int> row_counts(int tokens, int warps_n) const {
    std::set<int> counts;
    const int step = row_block_step(base_.epilogue, warps_n);
    const auto add = [&](std::int64_t row_blocks) {
      const std::int64_t whole = ceil_div(row_blocks, step) * step;
      if (whole > limits_.most_row_blocks) return;
      counts.insert(static_cast<int>(whole) * WeightLayout::kRowBlock);
    };
    for (int parts = 1; parts <= 4 && tokens <= limits_.most_tokens_of_rounds; ++parts) {
      add(ceil_div(layout_.row_blocks * parts, target_.sm_count));
      add(ceil_div(layout_.row_blocks, parts * target_.sm_count));
    }
    for (const int usual : {4, 8, 16}) add(std::min<std::int64_t>(usual, layout_.row_blocks));
    // The fewest rows that these warps can have.
    if ((any_tile_ && limits_.may_have_fewest_rows) || counts.empty()) {
      counts.insert(step * WeightLayout::kRowBlock);
    }
    return {counts.begin(), counts.end()};
  }

  // Fewer thread blocks of an SM leave each thread more registers, and longer rings.
  void add_splits(Config c) {
    const std::int64_t tiles = ceil_div(m_.max, c.tile_m) * ceil_div(spec_.shape.n, c.tile_n);
    for (const int split : values_of(tile_.split_k, split_counts())) {
      const bool fills =
          2 * split <= c.total_stages() && tiles * split <= kWaves * target_.sm_count;
      if (split > 1 && !fills && !tile_.split_k) continue;
      c.split_k = split;
      for (int blocks = most_blocks(c); blocks > 0; --blocks) add(c, blocks);
    }
  }

  void add(Config c, int blocks_per_sm) {
    const bool fits = set_stages(c, blocks_per_sm);
    settle_stages(c);
    if (!fits || !holds_sums(c, blocks_per_sm) || !problems_of(c).empty()) return note(c);
    kernels_.push_back(kernel_of(c, blocks_per_sm));
  }

  // The most that leave room for the thread blocks of an SM, or the user's number.
  bool set_stages(Config& c, int blocks_per_sm) const {
    const int of_sm = target_.shared_per_sm / blocks_per_sm - kReservedSharedBytes;
    const int room =
        blocks_per_sm == 1 ? target_.shared_per_block : std::min(target_.shared_per_block, of_sm);
    c.stages = tile_.stages.value_or(most_stages(c));
    while (!tile_.stages && c.stages > 2 && c.shared_bytes() > room) --c.stages;
    return c.shared_bytes() <= room;
  }

  // Keeps the problems of a complete tile if they are those of the smallest one so far.
  void note(const Config& c) {
    if (c.shared_bytes() >= least_refused_bytes_) return;
    std::vector<Problem> problems = problems_of(c);
    if (problems.empty()) return;
    least_refused_bytes_ = c.shared_bytes();
    problems_ = std::move(problems);
  }

  const Limits limits_;
  std::vector<PlannedKernel> kernels_;
  std::vector<Problem> problems_;
  int least_refused_bytes_ = std::numeric_limits<int>::max();  // shared memory of their tile
};

// All candidates of a search, slow ones only where there is no other.
template <class Search>
Search searched(const GemmRequest& gemm, const MRange& m, bool may_be_slow) {
  Search fast(gemm, m, false);
  fast.add_all();
  if (!fast.empty() || !may_be_slow) return fast;
  Search any(gemm, m, true);
  any.add_all();
  return any;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_MMA_CANDIDATES_H_
