// GEMM by tiles of mma.sync, which registers, cp.async or bulk copies feed.
#include <fmt/format.h>

#include <algorithm>

#include "generator/families/all.h"
#include "generator/families/gemm_config.h"
#include "generator/families/gemm_kernel.h"
#include "generator/families/mma_tile.h"
#include "generator/families/tiles/arithmetic.h"
#include "generator/families/tiles/candidates.h"
#include "generator/families/tiles/refuse.h"

namespace heddle {
namespace {

using device::Feeder;
using device::TilesConfig;

// Aliases of every GEMM, and of the classes that follow from the feeder and the schedule. Pipeline
// and Tile are the policies of tiles.cuh.
std::vector<std::string> aliases_of(const GemmSpec& spec, const TilesConfig& config) {
  std::vector<std::string> aliases = gemm_aliases(spec);
  const bool by_registers = config.feeder == Feeder::kRegisters;
  aliases.emplace_back(by_registers ? "using Mma = MmaTuring;" : "using Mma = MmaAmpere;");
  aliases.emplace_back(config.is_cluster() ? "using Schedule = ClusterSplitK<Shape<Config>>;"
                                           : "using Schedule = SplitK<Shape<Config>>;");
  if (config.feeder == Feeder::kBulk) return aliases;
  aliases.emplace_back(by_registers         ? "using Pipeline = RegisterPipeline<Config>;"
                       : config.reads_ahead ? "using Pipeline = WidePipeline<Config>;"
                                            : "using Pipeline = AsyncPipeline<Config>;");
  aliases.emplace_back(config.reads_ahead ? "template <class D> using Tile = WideTile<Config, D>;"
                                          : "template <class D> using Tile = WarpTile<Config, D>;");
  return aliases;
}

std::string_view feeder_text(const TilesConfig& config) {
  switch (config.feeder) {
    case Feeder::kRegisters:
      return "fed through registers";
    case Feeder::kAsync:
      return config.reads_ahead ? "fed by cp.async, read ahead" : "fed by cp.async";
    case Feeder::kBulk:
      break;
  }
  return "fed by bulk copies";
}

class Tiles final : public GemmFamilyOf<TilesConfig> {
 public:
  std::string_view name() const noexcept override { return "tiles"; }

  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    const auto& config = config_of<TilesConfig>(kernel);
    const std::string rendered =
        families::config_struct("TilesConfig", config, aliases_of(gemm_request(plan).spec, config));
    if (config.feeder == Feeder::kBulk) {
      return gemm_text(plan, kernel, "tiles/bulk.cuh", rendered, "gemm_bulk");
    }
    return gemm_text(plan, kernel, "tiles/tiles.cuh", rendered, "gemm_tiles");
  }

  // Where the blocks of a cluster share K, a tile has all tokens, and x is theirs.
  KernelLaunch launch(const Plan& /*plan*/, const PlannedKernel& kernel,
                      const LaunchSize& size) const noexcept override {
    const auto& config = config_of<TilesConfig>(kernel);
    KernelLaunch launch = split_launch(config, size.size);
    if (config.is_cluster()) {
      launch.grid_x = launch.cluster = launch.grid_z;
      launch.grid_z = 1;
    }
    return launch;
  }
  // The grid's x counts tiles of M, as many as there are. Bulk copies bring all tokens to one tile,
  // and the sums of a split would make the workspace grow with M.
  std::int64_t most_size(const Plan& plan, const PlannedKernel& kernel) const noexcept override {
    const auto& config = config_of<TilesConfig>(kernel);
    const bool is_bound = config.feeder == Feeder::kBulk || config.split_k > 1;
    return is_bound ? kernel.size_max
                    : std::max(kernel.size_max, gemm_request(plan).spec.shape.m_max);
  }
  std::int64_t size_step(const PlannedKernel& kernel) const noexcept override {
    return config_of<TilesConfig>(kernel).tile_m;
  }

  // Clusters exchange their sums in shared memory.
  std::size_t reserved_workspace_bytes(const Plan& /*plan*/, const PlannedKernel& kernel,
                                       std::int64_t size) const noexcept override {
    const auto& config = config_of<TilesConfig>(kernel);
    return config.is_cluster() ? 0 : split_workspace_bytes(config, size);
  }

  std::string describe(const PlannedKernel& kernel) const override {
    const auto& c = config_of<TilesConfig>(kernel);
    return fmt::format(
        "tile {} tokens x {} rows, stages {} of {} columns, {}, warps M {} x N {} x K {}, split K "
        "{}, {}",
        c.tile_m, c.tile_n, c.stages, c.stage_k, feeder_text(c), c.warps_m, c.warps_n, c.warps_k,
        c.split_k, scale_text(c.scaling.mode));
  }
  std::string tile_text(const PlannedKernel& kernel) const override {
    const auto& c = config_of<TilesConfig>(kernel);
    return fmt::format("{}x{}x{} s{} k{}", c.tile_m, c.tile_n, c.stage_k, c.stages, c.split_k);
  }

  std::vector<Problem> exclusions_for(const GemmSpec& spec, const Target& target,
                                      const MRange& m) const override {
    return tiles_exclusions(spec, target, m);
  }
  std::vector<PlannedKernel> candidates_for(const GemmRequest& gemm,
                                            const MRange& m) const override {
    return tiles_candidates(gemm, m);
  }
  std::vector<Problem> refusals_for(const GemmRequest& gemm, const MRange& m) const override {
    return tiles_refusals(gemm, m);
  }
  const std::vector<CostParameter>& cost_parameters() const noexcept override {
    return tiles_cost_parameters();
  }
  int cost_version() const noexcept override { return 2; }
  double predicted_us_for(const GemmRequest& gemm, const PlannedKernel& kernel, std::int64_t m,
                          Costs costs) const override {
    return tiles_us(gemm, kernel, m, costs);
  }

  std::optional<std::string> arithmetic_for(const GemmRequest& /*gemm*/,
                                            const PlannedKernel& kernel) const override {
    return tiles_arithmetic(config_of<TilesConfig>(kernel));
  }

  Path path(const PlannedKernel& kernel) const noexcept override {
    switch (config_of<TilesConfig>(kernel).feeder) {
      case Feeder::kRegisters:
        return Path::kTuring;
      case Feeder::kAsync:
        return Path::kAmpere;
      case Feeder::kBulk:
        break;
    }
    return Path::kHopper;
  }

  // 2: blocks with an SM to themselves leave no room for another.
  int version() const noexcept override { return 2; }
  std::string label(const PlannedKernel& kernel) const override {
    const auto& c = config_of<TilesConfig>(kernel);
    const char* const feeder = c.feeder == Feeder::kBulk        ? "bulk"
                               : c.feeder == Feeder::kRegisters ? "registers"
                               : c.reads_ahead                  ? "ahead"
                                                                : "async";
    return fmt::format("{} {}x{}x{} warps {}x{}x{} stages {} split {} blocks {}", feeder, c.tile_m,
                       c.tile_n, c.stage_k, c.warps_m, c.warps_n, c.warps_k, c.stages, c.split_k,
                       kernel.blocks_per_sm);
  }
};

}  // namespace

const Family* tiles_family() {
  static const Tiles tiles;
  return &tiles;
}

}  // namespace heddle
