#include "generator/families/tiles/candidates.h"

#include <algorithm>
#include <set>
#include <utility>

#include "generator/families/scale_mode.h"
#include "generator/families/shared_memory.h"
#include "generator/families/tile_fields.h"
#include "generator/families/tiles/config.h"
#include "generator/families/tiles/read_ahead.h"
#include "generator/families/tiles/refuse.h"
#include "generator/families/tiles/warps.h"
#include "generator/spec/weight_meaning.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

constexpr int kMostTokens = 128;    // of a tile
constexpr int kMostRowBlocks = 24;  // of a tile
constexpr int kTurns = 2;           // thread blocks for each SM up to which K is shared
// Stages of the ring; more of them bring nothing.
constexpr int kMostStages = 4, kMostBulkStages = 8;
// Stages of weights that may be ahead of the tokens, of rows of so many stages and more; integers
// of few bits are decoded no faster than the memory brings them.
constexpr int kStagesAhead = 2, kLongRowStages = 8, kFewBits = 3;
constexpr int kMostRegisters = 255;  // of a thread
constexpr int kUsualWarps = 8;

class Candidates {
 public:
  // `any_registers`: also tiles whose sums may not stay in the registers.
  Candidates(const Plan& plan, const MRange& m, bool any_registers)
      : spec_(plan.spec.gemm()),
        tile_(spec_.tile),
        target_(plan.target),
        layout_(plan.layout),
        m_(m),
        any_registers_(any_registers) {}

  void add_all(GemmKernel kernel, Path path) {
    const bool bulk = kernel == GemmKernel::kBulk;
    for (const int tokens : values_of(tile_.m, token_counts(bulk))) {
      for (const TilesWarps& warps : tiles_warps(tile_, bulk, any_registers_)) {
        for (const int rows : values_of(tile_.n, row_counts(warps))) {
          GemmVariant v;
          v.kernel = kernel;
          v.path = path;
          v.m_min = m_.min;
          v.m_max = m_.max;
          v.tile_m = tokens;
          v.tile_n = rows;
          v.stage_k = warps.columns;
          v.warps_m = warps.m;
          v.warps_n = warps.n;
          v.warps_k = warps.k;
          if (is_whole(v)) add_splits(v);
        }
      }
    }
  }

  bool empty() const { return variants_.empty(); }
  std::vector<GemmVariant> take() { return std::move(variants_); }
  // Of the first tile that could not be built.
  std::vector<Problem> take_problems() { return std::move(problems_); }

 private:
  // Of a tile: all of them if a tile can have them, since two tiles would read the weights twice.
  std::vector<int> token_counts(bool bulk) const {
    const auto tokens = static_cast<int>(std::min<std::int64_t>(m_.max, kMostTokens));
    if (bulk) return {static_cast<int>(ceil_div(tokens, 8)) * 8};
    if (m_.max > kMostTokens / 2) return {kMostTokens / 2, kMostTokens};
    int cover = 8;
    while (cover < tokens) cover *= 2;
    return {cover};
  }

  // Row blocks for whole rounds of blocks, with all or a part of K each, and usual sizes.
  std::vector<int> row_counts(const TilesWarps& warps) const {
    std::set<int> counts;
    const auto add = [&](std::int64_t row_blocks) {
      const std::int64_t whole = ceil_div(row_blocks, warps.n) * warps.n;
      if (whole <= kMostRowBlocks) counts.insert(static_cast<int>(whole) * WeightLayout::kRowBlock);
    };
    for (int parts = 1; parts <= 4; ++parts) {
      add(ceil_div(layout_.row_blocks * parts, target_.sm_count));
      add(ceil_div(layout_.row_blocks, parts * target_.sm_count));
    }
    for (const int usual : {4, 8, 16}) add(std::min<std::int64_t>(usual, layout_.row_blocks));
    if (counts.empty()) counts.insert(warps.n * WeightLayout::kRowBlock);  // of very many warps
    return {counts.begin(), counts.end()};
  }

  // What no hardware is asked about: refuse_tile() says why.
  bool is_whole(const GemmVariant& v) {
    if (v.warps_m < 1 || v.warps_n < 1 || v.warps_k < 1 || v.tile_m % (8 * v.warps_m) != 0 ||
        v.tile_n % (16 * v.warps_n) != 0 || v.stage_k % 128 != 0 ||
        v.stage_k % (64 * v.warps_k) != 0 || v.tile_m < 8 || v.tile_n < 16 || v.stage_k < 128) {
      note_problems(v);
      return false;
    }
    return true;
  }

  // Fewer thread blocks of an SM leave each thread more registers, and longer rings.
  void add_splits(GemmVariant v) {
    const bool bulk = v.kernel == GemmKernel::kBulk;
    v.stage_chunks = bulk ? v.stage_k / WeightLayout::kChunkK : 0;
    settle_scale(spec_, layout_, v);
    const int stages = tiles_sizes(layout_, v).total_stages();
    const std::int64_t tiles = ceil_div(m_.max, v.tile_m) * ceil_div(spec_.shape.n, v.tile_n);
    const std::vector<int> splits = bulk ? std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}
                                         : std::vector<int>{1, 2, 3, 4, 6, 8, 12, 16};
    for (const int split : values_of(tile_.split_k, splits)) {
      const bool fills = 2 * split <= stages && tiles * split <= kTurns * target_.sm_count;
      if (split > 1 && !fills && !tile_.split_k) continue;
      v.split_k = split;
      const int most_blocks = bulk || v.path == Path::kTuring ? 1 : 2;
      for (v.blocks_per_sm = most_blocks; v.blocks_per_sm > 0; --v.blocks_per_sm) add_blocks(v);
    }
  }

  void add_blocks(GemmVariant v) {
    const bool fits = set_stages(v);
    v.reads_ahead = v.kernel == GemmKernel::kTiles && can_read_ahead(spec_, layout_, v);
    if (!fits || (!fits_registers(v) && !any_registers_)) {
      note_problems(v);
      return;
    }
    v.shared_bytes = tiles_config(spec_, layout_, v).shared_bytes();
    add(v);
  }

  // The most that leave room for the thread blocks of an SM, or the user's number.
  bool set_stages(GemmVariant& v) const {
    const int of_sm = target_.shared_per_sm / v.blocks_per_sm - kReservedSharedBytes;
    const int room =
        v.blocks_per_sm == 1 ? target_.shared_per_block : std::min(target_.shared_per_block, of_sm);
    const bool bulk = v.kernel == GemmKernel::kBulk;
    // Blocks that share K have some of the stages each.
    const auto own = static_cast<int>(ceil_div(tiles_sizes(layout_, v).total_stages(), v.split_k));
    const int most = v.path == Path::kTuring ? 2
                     : !bulk                 ? kMostStages
                     : v.split_k > 1         ? std::clamp(own, 2, kMostBulkStages)
                                             : kMostBulkStages;
    if (tile_.stages) {
      v.stages = *tile_.stages;
    } else {
      for (v.stages = most; v.stages > 2; --v.stages) {
        if (tiles_config(spec_, layout_, v).shared_bytes() <= room) break;
      }
    }
    v.shared_bytes = tiles_config(spec_, layout_, v).shared_bytes();
    v.stages_ahead = bulk && may_be_ahead(v) ? kStagesAhead : 1;
    // A block that starts while another's runs has the time to copy the weights of all of its ring:
    // they do not keep its tokens waiting.
    if (bulk && v.split_k > 1 && tile_fits_twice(target_, v))
      v.stages_ahead = std::min(v.stages, most);
    return v.shared_bytes <= room;
  }

  // Whether weights of more than one stage may be ahead of the tokens: of a tile of tokens, which
  // are soon there, or in long rows, where the memory and not decoding sets the pace.
  bool may_be_ahead(const GemmVariant& v) const {
    const bool decodes_slowly =
        is_integer_up_to(spec_.weight, kFewBits) || has_small_scales(spec_.weight);
    const bool is_long = ceil_div(layout_.chunks_per_row_block, v.stage_chunks) >= kLongRowStages;
    return (v.tile_m <= 8 || (is_long && v.warps_n * v.warps_k <= 8)) && v.stages > kStagesAhead &&
           !decodes_slowly;
  }

  // Whether the compiler has registers for the sums beside codes, addresses and what is loaded
  // ahead: shares of what a thread has, found by compiling.
  bool fits_registers(const GemmVariant& v) const {
    const int registers = std::min(
        kMostRegisters, target_.registers_per_sm / (v.threads() * v.blocks_per_sm) / 8 * 8);
    const int tiles = v.row_tiles() * v.token_tiles();
    if (v.kernel == GemmKernel::kBulk) {
      const bool wide_scales =
          v.scale_mode == ScaleMode::kAccumulator && spec_.weight.scale_dtype == DType::kFp32;
      const bool few = wide_scales || v.warps_n * v.warps_k > kUsualWarps;
      return 8 * tiles < registers * (few ? 6 : 7) / 16;
    }
    // Float zero points have sums of their own.
    const int others = spec_.weight.zero_point == ZeroPoint::kFloat ? registers / 16 : 0;
    if (!v.reads_ahead) return sum_registers(v) + others <= registers / 4;
    // can_read_ahead() has seen to the sums.
    return v.stage_k == WeightLayout::kChunkK;
  }

  void note_problems(const GemmVariant& v) {
    if (problems_.empty()) problems_ = problems_of(v);
  }
  std::vector<Problem> problems_of(const GemmVariant& v) const {
    return v.kernel == GemmKernel::kBulk ? refuse_bulk(spec_, target_, layout_, v)
                                         : refuse_tile(spec_, target_, layout_, v);
  }

  void add(const GemmVariant& v) {
    std::vector<Problem> problems = problems_of(v);
    if (problems.empty()) {
      variants_.push_back(v);
    } else if (problems_.empty()) {
      problems_ = std::move(problems);
    }
  }

  const GemmSpec& spec_;
  const TileSpec& tile_;
  const Target& target_;
  const WeightLayout& layout_;
  const MRange m_;
  const bool any_registers_;
  std::vector<GemmVariant> variants_;
  std::vector<Problem> problems_;
};

// Tiles that bulk copies feed: on the generation that they were measured on; and where the spec
// asks for the path hopper with warps along N, which other kernels of that path do not have.
bool has_bulk(const Plan& plan) {
  const GemmSpec& spec = plan.spec.gemm();
  if (spec.path == Path::kHopper && spec.tile.warps_n) return true;
  const bool open =
      (spec.path == Path::kAuto || spec.path == Path::kHopper) && !sets_any(spec.tile);
  return open && is_hopper(plan.target) && spec.weight.zero_point != ZeroPoint::kFloat &&
         (!spec.pre_scale || spec.act_order);
}

// One feeder: the newest that the target and the spec have.
Candidates candidates_with(const Plan& plan, const MRange& m, bool any_registers) {
  Candidates candidates(plan, m, any_registers);
  const GemmSpec& spec = plan.spec.gemm();
  const bool turing = spec.path == Path::kTuring || !has_async_copies(plan.target);
  if (has_bulk(plan)) {
    const bool asked = spec.path == Path::kHopper && spec.tile.warps_n;
    if (asked || m.max <= kMostBulkTokens) candidates.add_all(GemmKernel::kBulk, Path::kHopper);
  } else if (spec.path != Path::kHopper) {
    candidates.add_all(GemmKernel::kTiles, turing ? Path::kTuring : Path::kAmpere);
  }
  return candidates;
}

// A tile of the user's that no registers hold is built all the same, as is one where no other
// family may serve and the GPU has few registers.
Candidates candidates_of(const Plan& plan, const MRange& m) {
  Candidates candidates = candidates_with(plan, m, false);
  const bool must_serve = sets_any(plan.spec.gemm().tile) || !has_bulk(plan);
  if (candidates.empty() && must_serve) return candidates_with(plan, m, true);
  return candidates;
}

}  // namespace

bool tile_fits_twice(const Target& target, const GemmVariant& v) {
  constexpr int kFewThreads = 160, kFewSumTiles = 4;
  const bool has_registers =
      v.threads() <= kFewThreads || v.row_tiles() * v.token_tiles() <= kFewSumTiles;
  return has_registers && 2 * (v.shared_bytes + kReservedSharedBytes) <= target.shared_per_sm;
}

std::vector<GemmVariant> tiles_candidates(const Plan& plan, const MRange& m) {
  return candidates_of(plan, m).take();
}

std::string why_no_tiles(const Plan& plan, const MRange& m) {
  static_assert(kMostBulkTokens == 64, "the next line says so");
  if (m.max > kMostBulkTokens && has_bulk(plan)) {
    return "on sm_90 bulk copies feed its tiles, which then have up to 64 tokens";
  }
  if (plan.spec.gemm().path == Path::kHopper && !has_bulk(plan)) {
    return "the spec asks for the path hopper, of which it has tiles on sm_90 alone";
  }
  return "no tile of it serves this spec on this target";
}

std::vector<Problem> tiles_refusals(const Plan& plan, const MRange& m) {
  return candidates_of(plan, m).take_problems();
}

}  // namespace heddle
