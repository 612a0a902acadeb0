// GEMM for one token: weights go from global memory straight into registers.
#include <fmt/format.h>

#include "gemv/config.h"
#include "generator/families/all.h"
#include "generator/families/gemm_config.h"
#include "generator/families/gemm_kernel.h"
#include "generator/families/gemv/candidates.h"

namespace heddle {
namespace {

using device::GemvConfig;

class Gemv final : public GemmFamilyOf<GemvConfig> {
 public:
  std::string_view name() const noexcept override { return "gemv"; }

  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    std::vector<std::string> aliases = gemm_aliases(gemm_request(plan).spec);
    const auto& config = config_of<GemvConfig>(kernel);
    aliases.emplace_back(config.turing ? "using Mma = MmaTuring;" : "using Mma = MmaAmpere;");
    aliases.emplace_back("using Schedule = RowSplitK<GemvShape<Config>>;");
    return gemm_text(plan, kernel, "gemv/gemv.cuh",
                     families::config_struct("GemvConfig", config, aliases), "gemm_gemv");
  }

  // x counts row blocks, z parts of K.
  KernelLaunch launch(const Plan& /*plan*/, const PlannedKernel& kernel,
                      const LaunchSize& /*size*/) const noexcept override {
    const auto& config = config_of<GemvConfig>(kernel);
    return {static_cast<unsigned>(config.shape.row_blocks), 1,
            static_cast<unsigned>(config.split_k)};
  }
  std::int64_t size_step(const PlannedKernel& kernel) const noexcept override {
    return kernel.size_max;
  }

  // The sums of all parts of K of each row block, behind the counters.
  std::size_t reserved_workspace_bytes(const Plan& /*plan*/, const PlannedKernel& kernel,
                                       std::int64_t /*size*/) const noexcept override {
    const auto& config = config_of<GemvConfig>(kernel);
    if (config.split_k == 1) return 0;
    return static_cast<std::size_t>(kWorkspaceCounterBytes +
                                    config.blocks() * GemvConfig::kSumBytes);
  }

  std::string describe(const PlannedKernel& kernel) const override {
    const auto& c = config_of<GemvConfig>(kernel);
    return fmt::format(
        "{} warps along K for each row block, weights {} chunks ahead in registers, split K {}, "
        "{}",
        c.warps_k, c.ahead, c.split_k, scale_text(c.scaling.mode));
  }
  std::string tile_text(const PlannedKernel& kernel) const override {
    const auto& c = config_of<GemvConfig>(kernel);
    return fmt::format("1x{}x{} a{} k{}", device::Chunk::kRows, c.warps_k * device::Chunk::kColumns,
                       c.ahead, c.split_k);
  }

  std::vector<Problem> exclusions_for(const GemmSpec& spec, const Target& /*target*/,
                                      const MRange& m) const override {
    return gemv_exclusions(spec, m);
  }
  std::vector<PlannedKernel> candidates_for(const GemmRequest& gemm,
                                            const MRange& m) const override {
    return gemv_candidates(gemm, m);
  }
  std::vector<Problem> refusals_for(const GemmRequest& gemm, const MRange& /*m*/) const override {
    return gemv_refusals(gemm);
  }
  const std::vector<CostParameter>& cost_parameters() const noexcept override {
    return gemv_cost_parameters();
  }
  double predicted_us_for(const GemmRequest& gemm, const PlannedKernel& kernel, std::int64_t /*m*/,
                          Costs costs) const override {
    return gemv_us(gemm, kernel, costs);
  }

  std::optional<std::string> arithmetic_for(const GemmRequest& /*gemm*/,
                                            const PlannedKernel& kernel) const override {
    const auto& c = config_of<GemvConfig>(kernel);
    return fmt::format("gemv by mma.{}, {}, K over {} warps of each of {} blocks",
                       c.turing ? "m16n8k8" : "m16n8k16", scale_text(c.scaling.mode), c.warps_k,
                       c.split_k);
  }

  Path path(const PlannedKernel& kernel) const noexcept override {
    return config_of<GemvConfig>(kernel).turing ? Path::kTuring : Path::kAmpere;
  }

  std::string label(const PlannedKernel& kernel) const override {
    const auto& c = config_of<GemvConfig>(kernel);
    return fmt::format("warps {} ahead {} split {}", c.warps_k, c.ahead, c.split_k);
  }
};

}  // namespace

const Family* gemv_family() {
  static const Gemv gemv;
  return &gemv;
}

}  // namespace heddle
