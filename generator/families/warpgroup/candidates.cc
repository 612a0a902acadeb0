#include "generator/families/warpgroup/candidates.h"

#include <algorithm>
#include <utility>

#include "generator/families/scale_mode.h"
#include "generator/families/shared_memory.h"
#include "generator/families/tile_fields.h"
#include "generator/families/warpgroup/refuse.h"
#include "generator/families/warpgroup/ring.h"
#include "generator/families/warpgroup/shares.h"
#include "generator/families/warpgroup/stage.h"
#include "generator/spec/weight_meaning.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

constexpr std::int64_t kFewestTokens = 9;  // below, streams and tiles waste less
// That multiply; four of a row tile each where their registers hold its sums.
constexpr int kWarpgroups = 2, kMostWarpgroups = 4;
constexpr int kMostTokensOfFour = 64;
constexpr int kFewestTokensOfTwo = 32;
constexpr int kDecodedSets = 2;
constexpr int kFewestLongStages = 3;

bool is_plain(const EpilogueSpec& epilogue) {
  return !epilogue.bias && !epilogue.residual && epilogue.activation == Activation::kNone;
}

// Whether the 112 registers of a thread of four warpgroups hold its sums and those of a group that
// are not scaled yet, beside what decoding and the end of a tile take.
bool four_hold_sums(const GemmVariant& v) {
  return v.tile_m < kMostTokensOfFour || v.scale_mode == ScaleMode::kWeight;
}

void set_stage(GemmVariant& v, int columns) {
  v.stage_k = columns;
  v.stage_chunks = std::max(columns / WeightLayout::kChunkK, 1);
}

// Two or four that multiply, and where scales go.
void choose_warpgroups(const GemmSpec& spec, const WeightLayout& layout, GemmVariant& v) {
  const bool may_four =
      v.tile_n == kMostWarpgroups * kWgmmaRowTile && v.tile_m <= kMostTokensOfFour;
  v.warps_n = 4 * (may_four ? kMostWarpgroups : kWarpgroups);
  settle_scale(spec, layout, v);
  if (!may_four || four_hold_sums(v)) return;
  v.warps_n = 4 * kWarpgroups;
  settle_scale(spec, layout, v);
}

void complete(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
              GemmVariant& v) {
  choose_warpgroups(spec, layout, v);
  const bool four = wgmma_has_four(v);
  set_wgmma_ring(spec, target, layout, v);
  // Short steps were faster where wgmma takes about as long as decoding, long ones where two sets
  // of sums take turns and in pairs that read tokens once; what follows the sums of these then
  // leaves no registers for them. Nor have four warpgroups any with 64 tokens.
  const bool pairs = wgmma_has_many_tokens(v) && v.cluster > 1 && is_plain(spec.epilogue);
  const bool few_rows = v.tile_m > 64 && v.tile_m != 128 && v.tile_n == 128 && !pairs;
  const bool short_steps = v.tile_m == 64 && (v.scale_mode != ScaleMode::kAccumulator || four);
  // Warpgroups that share 64 rows take whole chunks in turns of stages that have several.
  const bool halves = v.tile_n == 64 && v.stage_chunks % kWarpgroups != 0;
  const bool two_bits = v.tile_n == 64 && spec.weight.bits < 3;
  v.step_tiles = short_steps || halves || two_bits || few_rows ? 2 : 4;
}

// Where a tile has all tokens of the range, blocks share tiles in one way: the kernel has no other.
void settle_sharing(const Plan& plan, GemmVariant& v) {
  v.shares_in_pairs = wgmma_may_pair(v, plan.layout);
  if (v.tile_n < kWgmmaRowTile) return;  // refuse_wgmma() says why
  if (!v.shares_tiles || v.m_max > v.tile_m) return;
  const WgmmaShares shares = wgmma_shares(plan, v, v.m_max);
  v.shares_tiles = shares.shared_tiles > 0;
  v.shares_in_pairs = shares.sums_in_cluster;
}

class Candidates {
 public:
  Candidates(const Plan& plan, const MRange& m)
      : plan_(plan), spec_(plan.spec.gemm()), target_(plan.target), layout_(plan.layout), m_(m) {}

  void add_all() {
    for (const int tokens : values_of(spec_.tile.m, token_counts())) {
      for (const int rows : values_of(spec_.tile.n, {64, 128, 256})) add_tile(tokens, rows);
    }
  }

  std::vector<GemmVariant> take() { return std::move(variants_); }
  // Of the first tile that could not be built.
  std::vector<Problem> take_problems() { return std::move(problems_); }

 private:
  // Of a tile: all of them in most cases. Two tiles decode the weights twice, which costs nothing
  // where SMs would be idle, and 32 tokens of up to 16 are what tiles of 64 rows have.
  std::vector<int> token_counts() const {
    if (m_.max <= 16) return {16, 32};
    for (const int tokens : {32, 64, 96}) {
      if (m_.max <= tokens) return {tokens};
    }
    if (m_.max <= 128) return {96, 128};
    return {96, 128, 160, 192, 256};
  }

  // Columns of a stage: several chunks, one, or half of one.
  std::vector<int> column_counts(const GemmVariant& v) const {
    std::vector<int> counts;
    for (const int columns : values_of(spec_.tile.k, {512, 256, 128, 64})) {
      GemmVariant one = v;
      set_stage(one, columns);
      settle_scale(spec_, layout_, one);
      const bool halves = columns < WeightLayout::kChunkK;
      if (!spec_.tile.k && halves && !wgmma_may_halve(spec_, one)) continue;
      if (!spec_.tile.k && one.stage_chunks > layout_.chunks_per_row_block) continue;
      counts.push_back(columns);
    }
    return counts;
  }

  void add_tile(int tokens, int rows) {
    GemmVariant v;
    v.kernel = GemmKernel::kWgmma;
    v.path = Path::kHopper;
    v.m_min = m_.min;
    v.m_max = m_.max;
    v.workers = target_.sm_count;
    v.decoded_sets = kDecodedSets;
    v.tile_m = tokens;
    v.tile_n = rows;
    for (const int columns : column_counts(v)) {
      set_stage(v, columns);
      // A split_k of the user's gives each tile to one block.
      v.shares_tiles = !spec_.tile.split_k;
      add_modes(v);
    }
  }

  // Tiles by themselves, or with the last ones shared, or read in pairs.
  void add_modes(const GemmVariant& tile) {
    GemmVariant v = tile;
    complete(spec_, target_, layout_, v);
    // wgmma takes nearly as long for 16 tokens as for 32, which the prediction does not know: of
    // two warpgroups that do not scale weights, too, it would be too short.
    const bool waits =
        v.tile_m < kFewestTokensOfTwo && !wgmma_has_four(v) && v.scale_mode != ScaleMode::kWeight;
    if (waits && !spec_.tile.m) return;
    // Two long stages are never better than more short ones.
    const bool is_long = v.stage_k > WeightLayout::kChunkK && v.stages < kFewestLongStages;
    if (is_long && !spec_.tile.k && !spec_.tile.stages) return;
    add(v);
    if (target_.sm_count < kWgmmaCluster || v.tile_n < 128) return;
    if (m_.max > v.tile_m && v.tile_m > 128 && v.tile_n == 128) {
      GemmVariant once = v;
      once.cluster = kWgmmaCluster;
      complete(spec_, target_, layout_, once);
      add(once);
    }
  }

  void add(GemmVariant v) {
    settle_sharing(plan_, v);
    settle_wgmma_ring(spec_, target_, layout_, v);
    std::vector<Problem> problems = refuse_wgmma(spec_, target_, v);
    if (problems.empty()) {
      variants_.push_back(std::move(v));
    } else if (problems_.empty()) {
      problems_ = std::move(problems);
    }
  }

  const Plan& plan_;
  const GemmSpec& spec_;
  const Target& target_;
  const WeightLayout& layout_;
  const MRange m_;
  std::vector<GemmVariant> variants_;
  std::vector<Problem> problems_;
};

// Why wgmma serves none of these tokens of the spec, whatever its shape; null where it may.
const char* why_excluded(const Plan& plan, const MRange& m) {
  const GemmSpec& spec = plan.spec.gemm();
  // Other architectures have other instructions. Factors of the columns of X would have to meet the
  // tokens after the tensor copy, float zero points the sums of the tokens.
  if (!has_wgmma(plan.target)) return "it needs wgmma, which sm_90 alone has";
  if (spec.weight.zero_point == ZeroPoint::kFloat) return "it has no float zero points";
  if (spec.pre_scale && !spec.act_order) return "it cannot scale the columns of X";
  static_assert(kFewestTokens == 9, "the next line says so");
  if (m.max < kFewestTokens) return "it serves 9 tokens and more";
  if (spec.path != Path::kAuto && spec.path != Path::kHopper) {
    return "the spec asks for another path";
  }
  // A tile of the user's is one of mma.sync, unless the path says otherwise.
  return spec.path == Path::kAuto && sets_any(spec.tile)
             ? "the spec sets a tile without the path hopper"
             : nullptr;
}

Candidates candidates_of(const Plan& plan, const MRange& m) {
  Candidates candidates(plan, m);
  if (why_excluded(plan, m) == nullptr) candidates.add_all();
  return candidates;
}

}  // namespace

std::vector<GemmVariant> warpgroup_candidates(const Plan& plan, const MRange& m) {
  return candidates_of(plan, m).take();
}

std::vector<Problem> warpgroup_refusals(const Plan& plan, const MRange& m) {
  return candidates_of(plan, m).take_problems();
}

std::string why_no_warpgroup(const Plan& plan, const MRange& m) {
  if (const char* why = why_excluded(plan, m)) return why;
  return "no tile of it serves this spec on this target";
}

void wgmma_share_tokens(int cluster, GemmVariant& v) {
  v.cluster = cluster;
  v.shares_in_pairs = v.shares_in_pairs && cluster == 1;
}

bool wgmma_may_halve(const GemmSpec& spec, const GemmVariant& v) {
  return v.tile_m >= 128 && v.tile_n == 128 && v.stage_chunks == 1 &&
         v.scale_mode != ScaleMode::kAccumulator && spec.weight.interleave != Interleave::kTrtllm;
}

}  // namespace heddle
