#include "generator/families/warpgroup/candidates.h"

#include <algorithm>
#include <utility>

#include "generator/families/all.h"
#include "generator/families/byte_codes.h"
#include "generator/families/gemm_config.h"
#include "generator/families/gemm_kernel.h"
#include "generator/families/scale_mode.h"
#include "generator/families/shared_memory.h"
#include "generator/families/tile_fields.h"
#include "generator/families/warpgroup/refuse.h"
#include "generator/families/warpgroup/registers.h"
#include "generator/families/warpgroup/ring.h"
#include "generator/families/warpgroup/shares.h"
#include "generator/families/warpgroup/stage.h"
#include "generator/spec/byte_meaning.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

using device::TileSharing;
using device::WarpgroupConfig;
using device::WgmmaOperands;
using A = KernelArgument;

// Warpgroups that multiply. Four have a row tile each, where their registers hold its sums.
constexpr int kWarpgroups = 2, kMostWarpgroups = 4;
constexpr int kMostTokensOfFour = 64;
constexpr int kFewestLongStages = 3;

// Whether the 112 registers of a thread of four warpgroups hold its sums and those of a group that
// are not scaled yet, and leave what decoding and the end of a tile take.
bool four_hold_sums(const WarpgroupConfig& c) {
  return c.tile_m < kMostTokensOfFour || c.scaling.mode == ScaleMode::kWeight ||
         c.scaling.mode == ScaleMode::kNone;
}

// Whether products of wgmma go on while the sums of a group of 64 tokens are scaled. With four
// warpgroups they are other warpgroups' products. With two they are the next group's, where groups
// alternate between two sets of sums: 64 tokens have registers for these; stages have one or two
// chunks, none of which may be short; and all groups have as many steps, which groups that an
// offset cuts do not have. Codes of eight bits, and tiles of 64 rows, gain nothing from it.
bool multiplies_beside_scaling(const GemmSpec& spec, const WarpgroupKernel& c) {
  return c.tile_m == 64 && c.tile_n > 64 && spec.weight.bits < 8 &&
         (c.has_four() || (c.shape.chunks % 2 == 0 && c.weights.entry_offset == 0));
}

void settle_scale(const GemmSpec& spec, const WeightLayout& layout, WarpgroupKernel& c) {
  c.scaling.mode =
      scale_mode_of_entries(spec, layout, c.tile_m, multiplies_beside_scaling(spec, c));
}

void set_stage(WarpgroupConfig& c, int columns) {
  c.half_stages = columns < device::Chunk::kColumns;
  c.stage_chunks = std::max(columns / device::Chunk::kColumns, 1);
}

// Two or four that multiply, and where scales go. Nothing is decoded of weights of eight bits that
// tokens of eight are multiplied by: two keep the tensor cores busy.
void choose_warpgroups(const GemmSpec& spec, const WeightLayout& layout, WarpgroupKernel& c) {
  if (c.byte_operands()) {
    c.warpgroups = kWarpgroups;
    c.scaling.mode = scale_mode_of_bytes(spec);
    return;
  }
  const bool may_four =
      c.tile_n == kMostWarpgroups * WarpgroupConfig::kRowTile && c.tile_m <= kMostTokensOfFour;
  c.warpgroups = may_four ? kMostWarpgroups : kWarpgroups;
  settle_scale(spec, layout, c);
  if (!may_four || four_hold_sums(c)) return;
  c.warpgroups = kWarpgroups;
  settle_scale(spec, layout, c);
}

// Whether a step has half as many columns as it could. Products of a stage then start earlier, and
// warps wait more often: that pays where a step's decoding takes about as long as its products, and
// nothing else hides either of them. The cost model does not know steps, so these are the tiles
// that were measured to be faster so: `heddle bench SPEC --m M`, with and without a line of this.
bool has_short_steps(const GemmSpec& spec, const WarpgroupConfig& c) {
  // 64 tokens: unless two sets of sums alternate, which hide the products.
  if (c.tile_m == 64 && c.scaling.mode != ScaleMode::kAccumulator) return true;
  // Warpgroups that share 64 rows: only the longest decoding, of 1 and 2 bits.
  if (c.splits_columns()) return spec.weight.bits < 3;
  // A row tile for each of two: but not of 128 tokens, nor where pairs of blocks read tokens once
  // and store sums as they are.
  const bool pairs = c.has_many_tokens() && c.cluster > 1 && c.epilogue.is_plain();
  return c.tile_n == 128 && c.tile_m > 64 && c.tile_m != 128 && !pairs;
}

// Tiles that a warpgroup decodes at a time: at most half of what it takes of a chunk, so that one
// step is decoded while the one before is multiplied, and as many as its registers hold.
void choose_step(const GemmSpec& spec, WarpgroupConfig& c) {
  // Warpgroups that share 64 rows take half of a chunk each, or of several the whole ones in turn.
  const bool halves = c.splits_columns() && c.stage_chunks % kWarpgroups != 0;
  const int tile_columns = c.byte_tokens() ? 32 : 16;
  c.step_tiles = device::Chunk::kColumns / (halves ? 2 : 1) / tile_columns / 2;
  const bool is_slow = !c.byte_tokens() && !halves && has_short_steps(spec, c);
  if (is_slow || !wgmma_fits_registers(spec, c)) c.step_tiles = std::max(c.step_tiles / 2, 1);
}

WgmmaOperands operands_of(const GemmSpec& spec) {
  if (!spec.has_byte_activations()) return WgmmaOperands::kHalf;
  return decodes_to_bytes(spec) ? WgmmaOperands::kDecodedBytes : WgmmaOperands::kBytes;
}

// What tells one candidate from another. All else follows from it, in the order of make().
struct Choice {
  int tokens, rows;                           // of a tile
  int columns;                                // of a stage
  int cluster = 1;                            // blocks that read tokens once
  TileSharing sharing = TileSharing::kParts;  // kPairs: as far as pairs have room
};

class Candidates {
 public:
  Candidates(const GemmRequest& request, const MRange& m)
      : request_(request),
        spec_(request.spec),
        target_(request.target),
        layout_(request.layout),
        m_(m) {
    keeps_order_ = spec_.batch_invariant && !adds_integers(spec_);
    base_.weights = packed_weights(spec_, layout_);
    base_.epilogue = epilogue_of(spec_);
    base_.shape = weight_shape(spec_, layout_);
    base_.tokens = static_cast<int>(m.max);
    base_.cluster = 1;
    base_.workers = target_.sm_count;
    base_.operands = operands_of(spec_);
    // Sums of groups leave the tensor cores anyway.
    base_.promotes = base_.byte_tokens() && spec_.activation != DType::kInt8 &&
                     spec_.accumulation == Accumulation::kPromoted &&
                     scale_mode_of_bytes(spec_) != ScaleMode::kGroup;
    base_.token_zeros = !spec_.activation_scale.symmetric;
    base_.e8m0_scales = spec_.activation_scale.scale_dtype == RowScaleDtype::kE8m0;
    base_.scale_per_token = spec_.activation_scale.granularity == RowGranularity::kToken;
  }

  void add_all() {
    for (const int tokens : values_of(spec_.tile.m, token_counts())) {
      for (const int rows : values_of(spec_.tile.n, {64, 128, 256})) {
        // Tokens and rows that do not go together are refused where the spec sets both.
        const bool is_asked = spec_.tile.m && spec_.tile.n;
        const bool holds_groups =
            !base_.epilogue.finds_scales || rows % base_.scale_rows() == 0 || spec_.tile.n;
        const bool goes =
            holds_groups && (rows != WarpgroupConfig::kRowTile || wgmma_shares_rows(tokens));
        if (is_asked || goes) add_tile(tokens, rows);
      }
    }
  }

  std::vector<PlannedKernel> take() { return std::move(kernels_); }
  // What is wrong with the smallest tile that could not be built.
  std::vector<Problem> take_problems() { return std::move(problems_); }

 private:
  // Numbers of tokens of a tile: in most cases all tokens. Two tiles decode the weights twice,
  // which costs nothing where SMs would be idle. Up to 16 tokens may also have a tile of 32, the
  // smallest one with 64 rows.
  std::vector<int> token_counts() const {
    if (m_.max <= 16) return {16, 32};
    // Tiles of 256 rows, which gated outputs with scales of their own need, may have no registers
    // for more.
    if (base_.epilogue.finds_scales && base_.epilogue.gated) return {32, 64, 96, 128, 160, 192};
    for (const int tokens : {32, 64, 96}) {
      if (m_.max <= tokens) return {tokens};
    }
    if (m_.max <= 128) return {96, 128};
    return {96, 128, 160, 192, 256};
  }

  // Columns of a stage: several chunks, one, or half of one.
  std::vector<int> column_counts(int tokens, int rows) const {
    std::vector<int> counts;
    for (const int columns : values_of(spec_.tile.k, {512, 256, 128, 64})) {
      WarpgroupKernel one = tile_of({tokens, rows, columns});
      settle_scale(spec_, layout_, one);
      if (!spec_.tile.k && one.half_stages && !wgmma_may_halve(spec_, one)) continue;
      if (!spec_.tile.k && one.stage_chunks > one.shape.chunks) continue;
      counts.push_back(columns);
    }
    return counts;
  }

  void add_tile(int tokens, int rows) {
    for (const int columns : column_counts(tokens, rows)) {
      Choice choice{tokens, rows, columns};
      const WarpgroupKernel c = make(choice);
      // Two long stages are never better than more short ones.
      const bool is_long = c.stage_chunks > 1 && c.stages < kFewestLongStages;
      if (is_long && !spec_.tile.k && !spec_.tile.stages) continue;
      add_sharings(choice, c);
      // Pairs of blocks gain from reading tokens once where tiles have many.
      const bool reads_much = m_.max > c.tile_m && c.tile_m > 128 && c.tile_n == 128;
      if (target_.sm_count < kWgmmaCluster || !reads_much) continue;
      choice.cluster = kWgmmaCluster;
      add_sharings(choice, make(choice));
    }
  }

  // Where a tile has all tokens of the range, its kernel is made for one way to share tiles: by
  // none, by pairs, or by way of the workspace. Others have all ways, and each launch takes one.
  // `parts`: what the choice makes, with TileSharing::kParts.
  void add_sharings(Choice choice, const WarpgroupKernel& parts) {
    const auto with = [&](TileSharing sharing) {
      choice.sharing = sharing;
      return make(choice);
    };
    // In the workspace each warpgroup's sums meet by themselves, in pairs those of whole blocks.
    const bool may_meet = parts.has_own_groups();
    const bool one_way = parts.has_one_token_tile();
    // A split_k of the user's gives each tile to one block. So does a batch-invariant spec where
    // the tokens of a launch would decide the order of its sums.
    const bool may_share =
        !spec_.tile.split_k && (may_meet || one_way) && (one_way || !keeps_order_);
    if (may_share) {
      const WarpgroupKernel pairs = with(TileSharing::kPairs);
      if (!one_way) return add(pairs);
      if (wgmma_has_places_for_pairs(pairs)) add(pairs);
      if (may_meet && wgmma_has_parts(request_, parts)) add(parts);
    }
    add(with(TileSharing::kNone));
  }

  // The candidate, whether or not it can be built.
  WarpgroupKernel make(const Choice& choice) const {
    WarpgroupKernel c = tile_of(choice);
    choose_warpgroups(spec_, layout_, c);
    choose_step(spec_, c);
    set_wgmma_ring(spec_, target_, c);
    if (choice.sharing == TileSharing::kPairs) wgmma_share_in_pairs(spec_, target_, c);
    c.settle();
    return c;
  }

  // What the choice itself says of the kernel.
  WarpgroupKernel tile_of(const Choice& choice) const {
    WarpgroupKernel c = base_;
    c.tile_m = choice.tokens;
    c.tile_n = choice.rows;
    set_stage(c, choice.columns);
    c.cluster = choice.cluster;
    c.sharing = choice.sharing == TileSharing::kNone ? TileSharing::kNone : TileSharing::kParts;
    return c;
  }

  void add(const WarpgroupKernel& c) {
    std::vector<Problem> problems = refuse_wgmma(spec_, target_, c);
    if (problems.empty()) {
      kernels_.push_back(kernel_of(c));
    } else if (problems_.empty() || c.stage_bytes() < least_refused_bytes_) {
      least_refused_bytes_ = c.stage_bytes();
      problems_ = std::move(problems);
    }
  }

  PlannedKernel kernel_of(const WarpgroupKernel& c) const {
    PlannedKernel kernel = gemm_candidate(*warpgroup_family(), m_, c);
    kernel.starts_early = true;
    kernel.box_tokens = c.box_tokens();
    kernel.fits_box = c.fits_box();
    kernel.arguments = {A::kTokenMap,  A::kWeights, A::kY, A::kBias,    A::kResidual,
                        A::kWorkspace, A::kShape,   A::kM, A::kSchedule};
    if (c.scales_blocks()) {
      kernel.arguments.insert(kernel.arguments.begin() + 1, A::kXScaleMap);
    } else if (c.byte_tokens()) {
      kernel.arguments.insert(kernel.arguments.begin() + 2, {A::kXScales, A::kXZeroPoints});
    }
    add_output_arguments(spec_, kernel);
    return kernel;
  }

  const GemmRequest& request_;
  const GemmSpec& spec_;
  const Target& target_;
  const WeightLayout& layout_;
  const MRange m_;
  bool keeps_order_ = false;  // of sums, whatever the launch's tokens
  WarpgroupKernel base_{};    // what all candidates have
  std::vector<PlannedKernel> kernels_;
  std::vector<Problem> problems_;
  int least_refused_bytes_ = 0;  // of a stage of their tile
};

Candidates candidates_of(const GemmRequest& request, const MRange& m) {
  Candidates candidates(request, m);
  candidates.add_all();
  return candidates;
}

}  // namespace

std::vector<PlannedKernel> warpgroup_candidates(const GemmRequest& request, const MRange& m) {
  return candidates_of(request, m).take();
}

std::vector<Problem> warpgroup_refusals(const GemmRequest& request, const MRange& m) {
  return candidates_of(request, m).take_problems();
}

}  // namespace heddle
