#include "generator/families/few_experts/candidates.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "few_experts/config.h"
#include "generator/families/configuration.h"
#include "generator/families/experts/experts_family.h"
#include "generator/families/experts/products.h"
#include "generator/families/fastest.h"
#include "generator/families/few_experts/cost.h"
#include "generator/families/shared_memory.h"
#include "generator/families/stream/product.h"
#include "generator/families/stream/shape.h"
#include "generator/families/stream/warps.h"
#include "generator/operations/moe/moe.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

using device::FewExpertsConfig;
using device::StreamConfig;

constexpr std::size_t kMostWays = 2;  // of a product, with the same split of K
constexpr int kMostSplitK = 2;
constexpr int kFewestStages = 2;
// Bytes on their way for an SM. The memory's latency takes half as many, but few experts have so
// little for each SM that all of it can be asked for at once.
constexpr int kRingBytes = 104 * 1024;

FewLoad load_of(const Plan& plan, std::int64_t tokens) {
  const ExpertLoad load = expert_load(plan.spec.moe(), tokens, 1);
  const double experts = std::max(1.0, load.hit);
  return {experts, std::max(1.0, load.rows / experts)};
}

class Candidates {
 public:
  Candidates(const Family& family, const Plan& plan, const MRange& tokens)
      : family_(family),
        plan_(plan),
        tokens_(tokens),
        expert_(gemms_of_expert(plan, Path::kHopper)) {
    costs_ = values_of(few_experts_cost_parameters());
  }

  std::vector<PlannedKernel> all() const {
    std::vector<PlannedKernel> kernels;
    for (const int warps : {kUsualStreamWarps, kManyStreamWarps}) {
      const std::vector<FewWay> downs = ways(expert_.down, warps, true);
      for (const FewWay& gate_up : ways(expert_.gate_up, warps, false)) {
        for (const FewWay& down : downs) add(gate_up, down, kernels);
      }
    }
    return kernels;
  }

 private:
  StreamConfig base(const ExpertGemm& gemm) const {
    const auto most = static_cast<int>(tokens_.max);
    const int tokens =
        most < kTokenTile ? most : static_cast<int>(ceil_div(most, kTokenTile)) * kTokenTile;
    return stream_product(gemm.spec, gemm.layout, tokens, plan_.target.sm_count);
  }

  // The ways to share a product among so many warps that are predicted fastest, of each split of K.
  std::vector<FewWay> ways(const ExpertGemm& gemm, int warps, bool is_down) const {
    std::vector<FewWay> best;
    StreamConfig c = base(gemm);
    for (c.split_k = 1; c.split_k <= (is_down ? kMostSplitK : 1); c.split_k *= 2) {
      if (!settle_blocks(is_down, c)) continue;
      const std::vector<FewWay> ways = ways_of_split(gemm, c, warps, is_down);
      best.insert(best.end(), ways.begin(), ways.end());
    }
    return best;
  }
  std::vector<FewWay> ways_of_split(const ExpertGemm& gemm, StreamConfig c, int warps,
                                    bool is_down) const {
    const FewLoad load = load_of(plan_, tokens_.max);
    const auto own = static_cast<int>(ceil_div(c.shape.row_blocks, c.workers / c.split_k));
    std::vector<std::pair<double, FewWay>> ways;
    for (c.warps_k = warps; c.warps_k > 0; c.warps_k /= 2) {
      if (c.shape.chunks / c.split_k < c.warps_k) continue;
      for (const int rows : {1, 2}) {
        if (rows > 1 && (!is_down || own < rows)) continue;
        const int chunks = stream_stage_chunks(gemm.layout, c.split_k, c.warps_k);
        c.stage_chunks = static_cast<int>(ceil_div(chunks, rows));
        const FewWay way{c, {warps / c.warps_k, rows}};
        ways.emplace_back(few_product_us(gemm, way, is_down, false, load, costs_), way);
      }
    }
    return fastest(std::move(ways), kMostWays);
  }

  // One block for each SM, in clusters of two as many as SMs pair up; none of the second product
  // without rows.
  bool settle_blocks(bool is_down, StreamConfig& c) const {
    const int sms = plan_.target.sm_count;
    if (c.split_k > 1 && !has_multicast(plan_.target)) return false;
    c.cluster = c.split_k;
    c.workers =
        (is_down ? std::min(sms, c.shape.row_blocks * c.split_k) : sms) / c.split_k * c.split_k;
    return c.workers > 0;
  }

  void add(const FewWay& gate_up, const FewWay& down, std::vector<PlannedKernel>& kernels) const {
    FewExpertsConfig config{};
    config.layer = expert_layer(plan_, kTokenTile, false);
    config.gate_up = gate_up.stream;
    config.gate_up_shares = gate_up.shares;
    config.down = down.stream;
    config.down_shares = down.shares;
    const int own_sm = shared_bytes_of_own_sm(plan_.target);
    config.gate_up.least_shared_bytes = own_sm;
    for (const bool together : {true, false}) {
      FewExpertsConfig c = config;
      const int most = plan_.target.shared_per_block;
      const auto gate_up_bytes = [&c] { return c.gate_up_places().bytes; };
      const auto down_bytes = [&c] { return c.down_places().bytes; };
      if (!settle_stages(together ? own_sm : most, most, c.gate_up, gate_up_bytes)) continue;
      // What a block of the first launch leaves of an SM.
      const int left =
          plan_.target.shared_per_sm - 2 * kReservedSharedBytes - c.gate_up_shared_bytes();
      const int for_down = together ? std::min(most, left) : most;
      if (!settle_stages(for_down, for_down, c.down, down_bytes)) continue;
      if (together && 2 * c.threads() > plan_.target.threads_per_sm) continue;
      if (together && c.threads() > kMostThreadsTogether) continue;
      if (!together) c.down.least_shared_bytes = own_sm;
      kernels.push_back(kernel_of(c, together ? 2 : 1));
    }
  }

  // More threads of two blocks have too few registers.
  static constexpr int kMostThreadsTogether = 32 * (kUsualStreamWarps + FewExpertsConfig::kAdders);

  // The stages of a product's rings, with which it takes `good` bytes of shared memory at most if
  // that is possible, and never more than `most`; false if even few stages take more.
  template <class Bytes>
  bool settle_stages(int good, int most, StreamConfig& product, const Bytes& bytes) const {
    product.stages = kFewestStages;
    const int fewest = bytes();
    product.stages = kFewestStages + 1;
    const int stage = bytes() - fewest;  // of all warps
    product.stages = std::clamp(kRingBytes / std::max(1, stage), kFewestStages, kMostBulkStages);
    while (bytes() > good && product.stages > kFewestStages) --product.stages;
    return bytes() <= most;
  }

  PlannedKernel kernel_of(const FewExpertsConfig& config, int blocks_per_sm) const {
    PlannedKernel kernel = expert_kernel(family_, plan_.target, tokens_, config, config.phases());
    kernel.blocks_per_sm = blocks_per_sm;
    return kernel;
  }

  const Family& family_;
  const Plan& plan_;
  const MRange tokens_;
  const ExpertGemms expert_;
  std::vector<double> costs_;
};

}  // namespace

std::vector<PlannedKernel> few_experts_candidates(const Family& family, const Plan& plan,
                                                  const MRange& tokens) {
  return Candidates(family, plan, tokens).all();
}

double few_experts_us(const Plan& plan, const PlannedKernel& kernel, std::int64_t tokens,
                      Costs costs) {
  const auto& c = config_of<FewExpertsConfig>(kernel);
  const ExpertGemms expert = gemms_of_expert(plan, Path::kHopper);
  const FewLoad load = load_of(plan, tokens);
  const bool is_together = kernel.blocks_per_sm > 1;
  const auto product_us = [&](const ExpertGemm& gemm, const FewWay& way, bool is_down) {
    return few_product_us(gemm, way, is_down, is_together, load, costs);
  };
  return few_launches_us(c.phases(), is_together, costs) +
         product_us(expert.gate_up, {c.gate_up, c.gate_up_shares}, false) +
         product_us(expert.down, {c.down, c.down_shares}, true);
}

}  // namespace heddle
