// GEMM of two operands of eight bits by tiles of mma.sync, which registers or cp.async feed.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "generator/families/all.h"
#include "generator/families/byte_codes.h"
#include "generator/families/byte_tiles/candidates.h"
#include "generator/families/gemm_config.h"
#include "generator/families/gemm_kernel.h"
#include "generator/families/mma_tile.h"

namespace heddle {
namespace {

using device::ByteTilesConfig;

// The aliases of every GEMM, and the policies of byte_tiles.cuh.
std::vector<std::string> aliases_of(const GemmSpec& spec, const ByteTilesConfig& config) {
  std::vector<std::string> aliases = gemm_aliases(spec);
  aliases.push_back(fmt::format("using WeightCodes = {};", weight_codes(spec.weight.type)));
  aliases.push_back(fmt::format("using TokenCodes = {};", token_codes(spec.activation)));
  aliases.emplace_back(spec.activation == DType::kInt8 ? "using Sums = ByteSums<u32>;"
                                                       : "using Sums = ByteSums<float>;");
  aliases.emplace_back(config.by_registers ? "using Mma = ByteMmaTuring;"
                                           : "using Mma = ByteMmaAmpere;");
  aliases.emplace_back(config.by_registers ? "using Stages = RegisterByteStages<Config>;"
                                           : "using Stages = AsyncByteStages<Config>;");
  aliases.emplace_back("using Schedule = SplitK<ByteTilesShape<Config>>;");
  return aliases;
}

std::string_view sum_text(const ByteTilesConfig& c) {
  return c.promotes ? "sums of 128 columns in FP32" : "sums in the tensor cores";
}

class ByteTiles final : public GemmFamilyOf<ByteTilesConfig> {
 public:
  std::string_view name() const noexcept override { return "byte_tiles"; }

  std::vector<std::string> reasons(const Plan& plan) const override {
    const auto converts = [this](const PlannedKernel& kernel) {
      return kernel.family == this && config_of<ByteTilesConfig>(kernel).converts;
    };
    if (std::none_of(plan.kernels.begin(), plan.kernels.end(), converts)) return {};
    return {fmt::format(
        "mma.sync of sm_{} multiplies FP8 as FP16, after converting it: with many tokens that is "
        "predicted to take longer than activations of 16 bits",
        plan.target.arch())};
  }
  bool multiplies_bytes() const noexcept override { return true; }
  bool multiplies_halves() const noexcept override { return false; }

  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    const auto& config = config_of<ByteTilesConfig>(kernel);
    return {"byte_tiles/byte_tiles.cuh",
            describe(kernel),
            families::config_struct("ByteTilesConfig", config,
                                    aliases_of(gemm_request(plan).spec, config)),
            "gemm_byte_tiles<heddle::Config>",
            {}};
  }

  KernelLaunch launch(const Plan& /*plan*/, const PlannedKernel& kernel,
                      const LaunchSize& size) const noexcept override {
    return split_launch(config_of<ByteTilesConfig>(kernel), size.size);
  }
  // The sums of a split would make the workspace grow with M.
  std::int64_t most_size(const Plan& plan, const PlannedKernel& kernel) const noexcept override {
    const bool is_bound = config_of<ByteTilesConfig>(kernel).split_k > 1;
    return is_bound ? kernel.size_max
                    : std::max(kernel.size_max, gemm_request(plan).spec.shape.m_max);
  }
  std::int64_t size_step(const PlannedKernel& kernel) const noexcept override {
    return config_of<ByteTilesConfig>(kernel).tile_m;
  }

  std::size_t reserved_workspace_bytes(const Plan& /*plan*/, const PlannedKernel& kernel,
                                       std::int64_t size) const noexcept override {
    return split_workspace_bytes(config_of<ByteTilesConfig>(kernel), size);
  }

  std::string describe(const PlannedKernel& kernel) const override {
    const auto& c = config_of<ByteTilesConfig>(kernel);
    return fmt::format(
        "tile {} tokens x {} rows, stages {} of {} columns, {}, warps M {} x N {} x K {}, split K "
        "{}, {}",
        c.tile_m, c.tile_n, c.stages, c.stage_k,
        c.by_registers ? "fed through registers" : "fed by cp.async", c.warps_m, c.warps_n,
        c.warps_k, c.split_k, scale_text(c.scaling.mode));
  }
  std::string tile_text(const PlannedKernel& kernel) const override {
    const auto& c = config_of<ByteTilesConfig>(kernel);
    return fmt::format("{}x{}x{} s{} k{}", c.tile_m, c.tile_n, c.stage_k, c.stages, c.split_k);
  }

  std::vector<Problem> exclusions_for(const GemmSpec& spec, const Target& target,
                                      const MRange& /*m*/) const override {
    return byte_tiles_exclusions(spec, target);
  }
  std::vector<PlannedKernel> candidates_for(const GemmRequest& gemm,
                                            const MRange& m) const override {
    return byte_tiles_candidates(gemm, m);
  }
  std::vector<Problem> refusals_for(const GemmRequest& gemm, const MRange& m) const override {
    return byte_tiles_refusals(gemm, m);
  }
  const std::vector<CostParameter>& cost_parameters() const noexcept override {
    return byte_tiles_cost_parameters();
  }
  double predicted_us_for(const GemmRequest& gemm, const PlannedKernel& kernel, std::int64_t m,
                          Costs costs) const override {
    return byte_tiles_us(gemm, kernel, m, costs);
  }

  std::optional<std::string> arithmetic_for(const GemmRequest& gemm,
                                            const PlannedKernel& kernel) const override {
    if (adds_integers(gemm.spec)) return std::string(kIntegerArithmetic);
    const auto& c = config_of<ByteTilesConfig>(kernel);
    constexpr int kRun = WeightLayout::kChunkK;
    return fmt::format("tiles of mma.m16n8k32, {}, {}", sum_text(c),
                       order_of_k(mma_tile(c, kRun, c.by_registers)));
  }

  Path path(const PlannedKernel& kernel) const noexcept override {
    return config_of<ByteTilesConfig>(kernel).by_registers ? Path::kTuring : Path::kAmpere;
  }

  std::string label(const PlannedKernel& kernel) const override {
    const auto& c = config_of<ByteTilesConfig>(kernel);
    return fmt::format("{} {}x{}x{} warps {}x{}x{} stages {} split {} blocks {}",
                       c.by_registers ? "registers" : "async", c.tile_m, c.tile_n, c.stage_k,
                       c.warps_m, c.warps_n, c.warps_k, c.stages, c.split_k, kernel.blocks_per_sm);
  }
};

}  // namespace

const Family* byte_tiles_family() {
  static const ByteTiles byte_tiles;
  return &byte_tiles;
}

}  // namespace heddle
