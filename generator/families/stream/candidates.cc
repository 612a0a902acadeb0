#include "generator/families/stream/candidates.h"

#include <algorithm>
#include <utility>

#include "generator/families/gemm_config.h"
#include "generator/families/gemm_kernel.h"
#include "generator/families/scale_mode.h"
#include "generator/families/shared_memory.h"
#include "generator/families/stream/shape.h"
#include "generator/families/stream/warps.h"
#include "generator/families/tile_fields.h"
#include "generator/target/capabilities.h"
#include "stream/config.h"

namespace heddle {
namespace {

using device::StreamConfig;
using device::TokenValues;
using A = KernelArgument;

constexpr int kMostSplit = 8;  // thread blocks of a cluster, on every GPU that has them
constexpr int kUsualStageChunks = 4;

bool honours(const TileSpec& tile, const StreamConfig& c) {
  return allows(tile.m, c.token_tiles() * kTokenTile) && allows(tile.n, device::Chunk::kRows) &&
         allows(tile.k, stream_stage_columns(c)) && allows(tile.stages, c.stages) &&
         allows(tile.split_k, c.split_k) && allows(tile.warps_m, 1) &&
         allows(tile.warps_k, c.warps_k);
}

// One block for each SM, and in clusters of two as many as SMs pair up. GPCs have even numbers of
// SMs, but not multiples of four: some SMs no larger cluster reaches.
int workers(const Target& target, const StreamConfig& c) {
  if (c.cluster <= kSharers) return target.sm_count / c.cluster * c.cluster;
  const int sms = target.sm_count * 10 / 11;
  return std::min(sms, c.shape.row_blocks * c.split_k) / c.cluster * c.cluster;
}

class Candidates {
 public:
  Candidates(const Family& family, const GemmRequest& gemm, const MRange& m)
      : family_(family), spec_(gemm.spec), target_(gemm.target), layout_(gemm.layout), m_(m) {
    const auto tokens = static_cast<int>(ceil_div(m.max, kTokenTile)) * kTokenTile;
    base_.weights = packed_weights(spec_, layout_);
    base_.shape = weight_shape(spec_, layout_);
    base_.scaling.mode = scale_mode_of_entries(spec_, layout_, tokens);
    base_.epilogue = epilogue_of(spec_);
    base_.pre_scale = takes_pre_scale(spec_);
    base_.token_values = !spec_.has_byte_activations()      ? TokenValues::kHalves
                         : spec_.activation == DType::kInt8 ? TokenValues::kInt8
                                                            : TokenValues::kFp8InLoop;
    base_.scale_per_token = spec_.activation_scale.granularity == RowGranularity::kToken;
    // Several tiles of the matrix instruction are always whole; only a single one may have fewer
    // tokens.
    base_.tokens = m.max < kTokenTile ? static_cast<int>(m.max) : tokens;
    base_.bulk_tokens = m.max > kDirectTokens;
  }

  // K shared by `split` thread blocks of a cluster. Tokens of 8 bits take half as many registers on
  // their way.
  void add_split(int split) {
    add_split(split, base_);
    if (!base_.bulk_tokens || !base_.has_codes()) return;
    StreamConfig c = base_;
    c.bulk_tokens = false;
    add_split(split, c);
  }
  // Rows may be so long that only few warps with short stages leave room for tokens. Of 16 bits
  // tiles multiply these.
  void add_short_if_none() {
    if (!base_.has_codes() || !kernels_.empty()) return;
    const int split = spec_.tile.split_k.value_or(has_multicast(target_) ? kMostSplit : 1);
    add_short(split, base_);
    if (!base_.bulk_tokens) return;
    StreamConfig c = base_;
    c.bulk_tokens = false;
    add_short(split, c);
  }

  std::vector<PlannedKernel> take() { return std::move(kernels_); }

 private:
  // Blocks and clusters for K in so many parts; false if there are none.
  bool settle_split(int split, StreamConfig& c) const {
    const int chunks = layout_.chunks_per_row_block / split;
    if (chunks < 1 || split > kMostSplit || (split > 1 && !has_multicast(target_))) return false;
    c.split_k = split;
    const bool shares_tokens =
        c.bulk_tokens && has_multicast(target_) && layout_.row_blocks >= kSharers;
    c.cluster = split > 1 ? split : shares_tokens ? kSharers : 1;
    c.workers = workers(target_, c);
    return c.workers > 0;
  }

  void add_split(int split, StreamConfig c) {
    if (!settle_split(split, c)) return;
    const int chunks = layout_.chunks_per_row_block / split;
    const WarpStages usual = choose_stream_warps(spec_.tile, layout_, split);
    if (spec_.tile.k && spec_.tile.warps_k) return add_stage_of_tile(c);
    add_stages(c, usual.warps, usual.chunks);
    for (const int warps : {6, 8, 12, kManyStreamWarps}) {
      if (warps == usual.warps || warps > chunks || !allows(spec_.tile.warps_k, warps)) continue;
      add_stages(c, warps, stream_stage_chunks(layout_, split, warps));
    }
  }

  void add_short(int split, StreamConfig c) {
    if (!settle_split(split, c)) return;
    for (c.warps_k = kUsualStreamWarps; c.warps_k > 0; --c.warps_k) {
      if (c.warps_k > c.shape.chunks / c.split_k) continue;
      for (c.stage_chunks = kUsualStageChunks; c.stage_chunks > 0; c.stage_chunks /= 2) {
        if (c.stage_chunks <= c.most_chunks()) add(c);
      }
    }
  }

  // Whose warps and columns of a stage are the spec's.
  void add_stage_of_tile(StreamConfig c) {
    c.warps_k = *spec_.tile.warps_k;
    c.stage_chunks = *spec_.tile.k / (device::Chunk::kColumns * c.warps_k);
    const bool has_shares = c.warps_k <= std::min(kManyStreamWarps, c.shape.chunks / c.split_k);
    const int most_chunks = std::min(c.most_chunks(), kMostStreamStageChunks);
    if (has_shares && c.stage_chunks >= 1 && c.stage_chunks <= most_chunks) add(c);
  }

  // Half as long stages bring the first products sooner.
  void add_stages(StreamConfig c, int warps, int chunks) {
    c.warps_k = warps;
    c.stage_chunks = chunks;
    add(c);
    if (chunks % 2 != 0) return;
    c.stage_chunks = chunks / 2;
    add(c);
  }

  // Codes of FP8 that pass through registers can become FP16 there.
  void add(StreamConfig c) {
    add_one(c);
    if (!c.has_fp8() || c.bulk_tokens) return;
    c.token_values = TokenValues::kFp8OnTheWay;
    add_one(c);
  }

  void add_one(StreamConfig c) {
    if (!fit_stream(spec_.tile, target_, c) || !honours(spec_.tile, c)) return;
    PlannedKernel kernel = gemm_candidate(family_, m_, c);
    kernel.starts_early = true;
    if (c.has_codes()) {
      kernel.arguments = {A::kX,    A::kWeights,  A::kXScales,   A::kY,
                          A::kBias, A::kResidual, A::kWorkspace, A::kM};
    } else {
      kernel.arguments = {A::kX,        A::kWeights,  A::kY,         A::kBias,
                          A::kResidual, A::kPreScale, A::kWorkspace, A::kM};
    }
    add_output_arguments(spec_, kernel);
    kernels_.push_back(std::move(kernel));
  }

  const Family& family_;
  const GemmSpec& spec_;
  const Target& target_;
  const WeightLayout& layout_;
  const MRange m_;
  StreamConfig base_{};  // what all candidates have
  std::vector<PlannedKernel> kernels_;
};

}  // namespace

std::vector<PlannedKernel> stream_candidates(const Family& family, const GemmRequest& gemm,
                                             const MRange& m) {
  const GemmSpec& spec = gemm.spec;
  Candidates candidates(family, gemm, m);
  if (spec.tile.split_k) {
    candidates.add_split(*spec.tile.split_k);
  } else {
    for (int split = 1; split <= kMostSplit; split *= 2) candidates.add_split(split);
  }
  candidates.add_short_if_none();
  return candidates.take();
}

}  // namespace heddle
