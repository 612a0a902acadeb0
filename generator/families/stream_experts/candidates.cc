#include "generator/families/stream_experts/candidates.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "generator/families/configuration.h"
#include "generator/families/experts/experts_family.h"
#include "generator/families/experts/products.h"
#include "generator/families/fastest.h"
#include "generator/families/shared_memory.h"
#include "generator/families/stream/product.h"
#include "generator/families/stream/shape.h"
#include "generator/families/stream/warps.h"
#include "generator/families/stream_experts/cost.h"
#include "generator/operations/moe/moe.h"
#include "stream_experts/config.h"

namespace heddle {
namespace {

using device::SegmentShares;
using device::StreamConfig;
using device::StreamExpertsConfig;

constexpr std::size_t kMostWays = 3;  // of a product
constexpr int kFewestStages = 2;
// Bytes of an SM's rings, as few_experts has them, where two stages do not take more. A second
// buffer of rows is made if it leaves as many as cover the latency of the memory.
constexpr int kRingBytes = 104 * 1024;
constexpr int kFewestRingBytes = 48 * 1024;

// Tiles of an expert with the usual number of rows, at most: each reads all of its weights.
constexpr double kMostTilesOfUsual = 1.5;

// How a product is shared.
struct Way {
  StreamConfig stream;
  SegmentShares shares;
};

class Candidates {
 public:
  Candidates(const Family& family, const Plan& plan, const MRange& tokens)
      : family_(family),
        plan_(plan),
        tokens_(tokens),
        expert_(gemms_of_expert(plan, Path::kHopper)),
        costs_(values_of(stream_experts_cost_parameters())) {}

  std::vector<PlannedKernel> all() const {
    std::vector<PlannedKernel> kernels;
    for (const int rows : segment_tile_rows(plan_.spec.moe(), tokens_)) {
      for (const int warps : {kUsualStreamWarps, kManyStreamWarps}) {
        const std::vector<Way> downs = ways(expert_.down, rows, warps);
        for (const Way& gate_up : ways(expert_.gate_up, rows, warps)) {
          for (const Way& down : downs) {
            const StreamExpertsConfig c = config_of_ways(rows, gate_up, down);
            kernels.push_back(expert_kernel(family_, plan_.target, tokens_, c, c.phases()));
          }
        }
      }
    }
    return kernels;
  }

 private:
  StreamExpertsConfig config_of_ways(int rows, const Way& gate_up, const Way& down) const {
    StreamExpertsConfig config{};
    config.layer = expert_layer(plan_, rows, false);
    config.gate_up = gate_up.stream;
    config.down = down.stream;
    config.gate_up_shares = gate_up.shares;
    config.down_shares = down.shares;
    config.most_tokens = static_cast<int>(tokens_.max);
    return config;
  }

  // The ways to share a product among so many warps that are predicted fastest.
  std::vector<Way> ways(const ExpertGemm& gemm, int rows, int warps) const {
    Way way{};
    StreamConfig& c = way.stream;
    c = stream_product(gemm.spec, gemm.layout, rows, plan_.target.sm_count);
    c.least_shared_bytes = shared_bytes_of_own_sm(plan_.target);
    const double tiles = expert_load(plan_.spec.moe(), tokens_.max, rows).tiles;
    std::vector<std::pair<double, Way>> timed;
    for (c.warps_k = warps; c.warps_k > 0; c.warps_k /= 2) {
      if (c.shape.chunks < c.warps_k) continue;
      way.shares.groups = warps / c.warps_k;
      const int chunks = stream_stage_chunks(gemm.layout, 1, c.warps_k);
      // Shorter stages leave shared memory for a second buffer of rows.
      for (c.stage_chunks = chunks; c.stage_chunks > 0; c.stage_chunks /= 2) {
        if (!settle(rows, &way)) continue;
        timed.emplace_back(segment_product_us(gemm, c, way.shares, tiles, costs_), way);
        if (way.shares.buffers > 1) break;
      }
    }
    return fastest(std::move(timed), kMostWays);
  }

  // Buffers of rows and stages of the rings, as many of both as have room; false if not even few
  // stages and one buffer have.
  bool settle(int rows, Way* way) const {
    StreamConfig& c = way->stream;
    const int stage =
        std::max(1, c.warps_k * way->shares.groups * c.stage_bytes());  // of all warps
    const int most = std::clamp(kRingBytes / stage, kFewestStages, kMostBulkStages);
    const int good = std::clamp(kFewestRingBytes / stage, kFewestStages, most);
    for (way->shares.buffers = 2; way->shares.buffers > 0; --way->shares.buffers) {
      const int fewest = way->shares.buffers > 1 ? good : kFewestStages;
      for (c.stages = most; c.stages >= fewest; --c.stages) {
        const int bytes = config_of_ways(rows, *way, *way).gate_up_places().bytes;
        if (bytes <= plan_.target.shared_per_block) return true;
      }
    }
    return false;
  }

  const Family& family_;
  const Plan& plan_;
  const MRange tokens_;
  const ExpertGemms expert_;
  std::vector<double> costs_;
};

}  // namespace

std::vector<int> segment_tile_rows(const MoeSpec& moe, const MRange& tokens) {
  const ExpertLoad load = expert_load(moe, tokens.min, 1);
  const double usual = load.rows / std::max(1.0, load.hit);
  std::vector<int> useful;
  for (const int rows : {kTokenTile, kMostStreamTokens}) {
    if (usual <= kMostTilesOfUsual * rows) useful.push_back(rows);
  }
  return useful;
}

std::vector<PlannedKernel> stream_experts_candidates(const Family& family, const Plan& plan,
                                                     const MRange& tokens) {
  return Candidates(family, plan, tokens).all();
}

}  // namespace heddle
