// GEMM for few tokens: weights are streamed past tokens that stay in shared memory.
#include <fmt/format.h>

#include "generator/families/all.h"
#include "generator/families/gemm_config.h"
#include "generator/families/gemm_kernel.h"
#include "generator/families/stream/candidates.h"
#include "generator/families/stream/shape.h"
#include "stream/config.h"

namespace heddle {
namespace {

using device::StreamConfig;

class Stream final : public GemmFamilyOf<StreamConfig> {
 public:
  std::string_view name() const noexcept override { return "stream"; }

  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    std::vector<std::string> aliases = gemm_aliases(plan.spec.gemm());
    aliases.emplace_back("using Schedule = StridedRows<StreamShape<Config>>;");
    return gemm_text(
        plan, kernel, "stream/stream.cuh",
        families::config_struct("StreamConfig", config_of<StreamConfig>(kernel), aliases),
        "gemm_stream");
  }

  KernelLaunch launch(const Plan& /*plan*/, const PlannedKernel& kernel,
                      const LaunchSize& /*size*/) const noexcept override {
    const auto& config = config_of<StreamConfig>(kernel);
    return {static_cast<unsigned>(config.workers), 1, 1, static_cast<unsigned>(config.cluster)};
  }
  std::int64_t size_step(const PlannedKernel& kernel) const noexcept override {
    return kernel.size_max;
  }

  std::string describe(const PlannedKernel& kernel) const override {
    const auto& c = config_of<StreamConfig>(kernel);
    return fmt::format(
        "stages {} of {} columns, {} warps along K, {} blocks in clusters of {}, split K {}, "
        "{}",
        c.stages, stream_stage_columns(c), c.warps_k, c.workers, c.cluster, c.split_k,
        scale_text(c.scaling.mode));
  }
  std::string tile_text(const PlannedKernel& kernel) const override {
    const auto& c = config_of<StreamConfig>(kernel);
    return fmt::format("{}x{}x{} s{} k{}", c.token_tiles() * kTokenTile, device::Chunk::kRows,
                       stream_stage_columns(c), c.stages, c.split_k);
  }

  std::vector<PlannedKernel> candidates(const Plan& plan, const MRange& m) const override {
    return stream_candidates(plan, m);
  }
  std::vector<Problem> refusals(const Plan& plan, const MRange& m) const override {
    return stream_refusals(plan, m);
  }
  std::string why_none(const Plan& plan, const MRange& m) const override {
    return why_no_stream(plan, m);
  }
  const std::vector<CostParameter>& cost_parameters() const noexcept override {
    return stream_cost_parameters();
  }
  int cost_version() const noexcept override { return 2; }
  double predicted_us(const Plan& plan, const PlannedKernel& kernel, std::int64_t m,
                      Costs costs) const override {
    return stream_us(plan, kernel, m, costs);
  }

  Path path(const PlannedKernel& /*kernel*/) const noexcept override { return Path::kHopper; }

  std::string label(const PlannedKernel& kernel) const override {
    const auto& c = config_of<StreamConfig>(kernel);
    return fmt::format("warps {} chunks {} stages {} split {}", c.warps_k, c.stage_chunks, c.stages,
                       c.split_k);
  }
};

}  // namespace

const Family* stream_family() {
  static const Stream stream;
  return &stream;
}

}  // namespace heddle
