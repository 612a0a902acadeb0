#include "generator/families/stream/candidates.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "generator/families/gemm_config.h"
#include "generator/families/scale_mode.h"
#include "generator/families/shared_memory.h"
#include "generator/families/stream/refuse.h"
#include "generator/families/stream/shape.h"
#include "generator/families/stream/warps.h"
#include "generator/families/tile_fields.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

constexpr std::int64_t kMostTokens = 16;  // of the template
constexpr int kMostSplit = 8;             // thread blocks of a cluster, on every GPU that has them

bool honours(const TileSpec& tile, const GemmVariant& v) {
  return allows(tile.m, v.tile_m) && allows(tile.n, v.tile_n) && allows(tile.k, v.stage_k) &&
         allows(tile.stages, v.stages) && allows(tile.split_k, v.split_k) &&
         allows(tile.warps_m, v.warps_m) && allows(tile.warps_n, v.warps_n) &&
         allows(tile.warps_k, v.warps_k);
}

// One block for each SM, and in clusters of two as many as SMs pair up. GPCs have even numbers of
// SMs, but not multiples of four: some SMs no larger cluster reaches.
int workers(const Target& target, const WeightLayout& layout, const GemmVariant& v) {
  if (v.cluster <= kSharers) return target.sm_count / v.cluster * v.cluster;
  const std::int64_t sms = target.sm_count * 10 / 11;
  return static_cast<int>(std::min(sms, layout.row_blocks * v.split_k)) / v.cluster * v.cluster;
}

void set_stage(int chunks, GemmVariant& v) {
  v.stage_chunks = chunks;
  v.stage_k = chunks * WeightLayout::kChunkK * v.warps_k;
}

class Candidates {
 public:
  Candidates(const Plan& plan, const MRange& m)
      : spec_(plan.spec.gemm()), target_(plan.target), layout_(plan.layout), m_(m) {}

  // K shared by `split` thread blocks of a cluster.
  void add_split(int split) {
    const int chunks = layout_.chunks_per_row_block / split;
    if (chunks < 1 || split > kMostSplit || (split > 1 && !has_multicast(target_))) return;
    GemmVariant v;
    v.kernel = GemmKernel::kStream;
    v.path = Path::kHopper;
    v.m_min = m_.min;
    v.m_max = m_.max;
    v.tile_m = static_cast<int>(ceil_div(v.m_max, kTokenTile)) * kTokenTile;
    v.tile_n = WeightLayout::kRowBlock;
    settle_scale(spec_, layout_, v);
    v.split_k = split;
    const bool shares_tokens =
        v.tile_m > kDirectTokens && has_multicast(target_) && layout_.row_blocks >= kSharers;
    v.cluster = split > 1 ? split : shares_tokens ? kSharers : 1;
    v.workers = workers(target_, layout_, v);
    if (v.workers == 0) return;
    const WarpStages usual = choose_stream_warps(spec_.tile, layout_, split);
    add_stages(v, usual.warps, usual.chunks);
    for (const int warps : {6, 8, 12, kManyStreamWarps}) {
      if (warps == usual.warps || warps > chunks || !allows(spec_.tile.warps_k, warps)) continue;
      add_stages(v, warps, stream_stage_chunks(layout_, split, warps));
    }
  }

  std::vector<GemmVariant> take() { return std::move(variants_); }

 private:
  // Half as long stages leave more room for the next kernel.
  void add_stages(GemmVariant v, int warps, int chunks) {
    v.warps_k = warps;
    set_stage(chunks, v);
    add(v);
    if (chunks % 2 != 0) return;
    set_stage(chunks / 2, v);
    add(v);
  }

  void add(GemmVariant v) {
    if (!fit_stream(spec_, target_, layout_, v) || !honours(spec_.tile, v)) return;
    variants_.push_back(std::move(v));
  }

  const GemmSpec& spec_;
  const Target& target_;
  const WeightLayout& layout_;
  const MRange m_;
  std::vector<GemmVariant> variants_;
};

// Why no stream serves these tokens of the spec, whatever its shape; null where one may.
const char* why_excluded(const Plan& plan, const MRange& m) {
  const GemmSpec& spec = plan.spec.gemm();
  if (!has_bulk_copies(plan.target)) return "it needs bulk copies, which GPUs have from sm_90 on";
  if (spec.path != Path::kAuto && spec.path != Path::kHopper) {
    return "the spec asks for another path";
  }
  // A tile of the user's is one of those that walk the output, unless the path says otherwise.
  if (spec.path == Path::kAuto && sets_any(spec.tile)) {
    return "the spec sets a tile without the path hopper";
  }
  if (spec.weight.zero_point == ZeroPoint::kFloat) return "it has no float zero points";
  static_assert(kMostTokens == 16, "the next line says so");
  return m.max > kMostTokens ? "it serves up to 16 tokens" : nullptr;
}

}  // namespace

std::vector<GemmVariant> stream_candidates(const Plan& plan, const MRange& m) {
  const GemmSpec& spec = plan.spec.gemm();
  if (why_excluded(plan, m) != nullptr) return {};
  Candidates candidates(plan, m);
  if (spec.tile.split_k) {
    candidates.add_split(*spec.tile.split_k);
  } else {
    for (int split = 1; split <= kMostSplit; split *= 2) candidates.add_split(split);
  }
  return candidates.take();
}

std::string why_no_stream(const Plan& plan, const MRange& m) {
  if (const char* why = why_excluded(plan, m)) return why;
  return sets_any(plan.spec.gemm().tile)
             ? "no stream has the spec's tile"
             : "the tokens of such long rows do not fit into the shared memory";
}

std::vector<Problem> stream_refusals(const Plan& plan, const MRange& m) {
  const GemmSpec& spec = plan.spec.gemm();
  // Of a spec whose fewest tokens a stream serves, more may have another kernel.
  if (spec.path != Path::kHopper || m.min > spec.shape.m_min) return {};
  const bool has_others = has_wgmma(plan.target) && !takes_pre_scale(spec) &&
                          spec.weight.zero_point != ZeroPoint::kFloat;
  if (m.max > kDirectTokens && has_others) return {};
  return refuse_stream(spec);
}

}  // namespace heddle
