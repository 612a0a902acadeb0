#include "generator/families/experts/candidates.h"

#include <utility>

#include "generator/families/all.h"
#include "generator/families/blocks_that_fit.h"
#include "generator/families/configuration.h"
#include "generator/families/experts/experts_family.h"
#include "generator/families/experts/products.h"
#include "generator/families/gemm_config.h"
#include "generator/families/gemm_family.h"
#include "generator/families/shared_memory.h"

namespace heddle {
namespace {

using device::ExpertsConfig;
using device::TilesConfig;

constexpr Path kPath = Path::kAmpere;  // of the feeder that the kernel has

const GemmFamily& tiles() { return dynamic_cast<const GemmFamily&>(*tiles_family()); }

// The tiles that may be those of a product: each block has one with all of its K.
bool is_possible(const TilesConfig& tile) {
  return tile.split_k == 1 && tile.feeder == device::Feeder::kAsync;
}

TileSpec tile_spec(const TilesConfig& tile) {
  TileSpec spec;
  spec.m = tile.tile_m;
  spec.n = tile.tile_n;
  spec.k = tile.stage_k;
  spec.split_k = 1;
  spec.warps_m = tile.warps_m;
  spec.warps_n = tile.warps_n;
  spec.warps_k = tile.warps_k;
  return spec;
}

// A tile of all experts side by side as one of a single expert.
TilesConfig of_expert(const ExpertGemm& expert, TilesConfig tile) {
  tile.shape = weight_shape(expert.spec, expert.layout);
  return tile;
}

// The kernel of a product alone, as tiles predict it.
PlannedKernel product_kernel(const ExpertGemm& gemm, const PlannedKernel& kernel,
                             TilesConfig tile) {
  tile.shape = weight_shape(gemm.spec, gemm.layout);
  PlannedKernel product = kernel;
  product.family = tiles_family();
  product.configuration = make_configuration(tile);
  return product;
}

class Candidates {
 public:
  Candidates(const Family& family, const Plan& plan, const MRange& tokens)
      : family_(family), plan_(plan), tokens_(tokens), expert_(gemms_of_expert(plan, kPath)) {}

  std::vector<PlannedKernel> all() const {
    std::vector<PlannedKernel> kernels;
    for (const int rows : useful_tile_rows(plan_, tokens_.max, {8, 16, 32, 64, 128}, 1, 2)) {
      add_tiles(rows, kernels);
    }
    return kernels;
  }

 private:
  void add_tiles(int tile_rows, std::vector<PlannedKernel>& kernels) const {
    const ExpertGemms layer = gemms_of_layer(plan_, kPath, tokens_.max, tile_rows);
    const MRange rows{tile_rows, tile_rows};
    for (const PlannedKernel& gate_up : tiles().candidates_for(layer.gate_up.request(), rows)) {
      const auto& tile = config_of<TilesConfig>(gate_up);
      if (is_possible(tile) && tile.tile_m == tile_rows) add(layer, gate_up, tile, kernels);
    }
  }

  void add(const ExpertGemms& layer, const PlannedKernel& gate_up, const TilesConfig& tile,
           std::vector<PlannedKernel>& kernels) const {
    const MRange rows{tile.tile_m, tile.tile_m};
    ExpertGemm down = layer.down;
    down.spec.tile = tile_spec(tile);
    for (const PlannedKernel& one : tiles().candidates_for(down.request(), rows)) {
      const auto& down_tile = config_of<TilesConfig>(one);
      if (!is_possible(down_tile) || one.blocks_per_sm != gate_up.blocks_per_sm) continue;
      PlannedKernel kernel = kernel_of(config_with(tile, down_tile), gate_up.blocks_per_sm);
      if (fits(kernel)) kernels.push_back(std::move(kernel));
    }
  }

  ExpertsConfig config_with(const TilesConfig& gate_up, const TilesConfig& down) const {
    ExpertsConfig config{};
    config.layer = expert_layer(plan_, gate_up.tile_m, false);
    config.gate_up = of_expert(expert_.gate_up, gate_up);
    config.down = of_expert(expert_.down, down);
    return config;
  }

  PlannedKernel kernel_of(const ExpertsConfig& config, int blocks_per_sm) const {
    PlannedKernel kernel =
        expert_kernel(family_, plan_.target, tokens_, config, config.layer.phases());
    kernel.blocks_per_sm = blocks_per_sm;
    return kernel;
  }

  // Going from tile to tile takes registers that a GEMM's kernel leaves to sums: of a tile that
  // reads ahead they have half of a thread's there, and must have less here.
  bool fits_registers(const PlannedKernel& kernel) const {
    const int registers = register_budget(plan_.target, kernel.threads, kernel.blocks_per_sm);
    const auto& config = config_of<ExpertsConfig>(kernel);
    const auto fits_one = [registers](const TilesConfig& tile) {
      return 4 * tile.row_tiles() * tile.token_tiles() <= registers * 7 / 16;
    };
    return fits_one(config.gate_up) && fits_one(config.down);
  }

  bool fits(const PlannedKernel& kernel) const {
    const Target& target = plan_.target;
    if (!fits_registers(kernel)) return false;
    return kernel.shared_bytes <= target.shared_per_block &&
           kernel.blocks_per_sm * (kernel.shared_bytes + kReservedSharedBytes) <=
               target.shared_per_sm;
  }

  const Family& family_;
  const Plan& plan_;
  const MRange tokens_;
  const ExpertGemms expert_;
};

}  // namespace

std::vector<PlannedKernel> experts_candidates(const Family& family, const Plan& plan,
                                              const MRange& tokens) {
  return Candidates(family, plan, tokens).all();
}

const std::vector<CostParameter>& experts_cost_parameters() {
  static const std::vector<CostParameter> parameters = [] {
    std::vector<CostParameter> all = tiles().cost_parameters();
    all.push_back({"phase", "us", "that each launch takes beside its products", 2.5});
    all.push_back(
        {"products", "ratio", "of the products' time to that of one GEMM with as many tiles", 1.2});
    return all;
  }();
  return parameters;
}

double experts_us(const Plan& plan, const PlannedKernel& kernel, std::int64_t tokens, Costs costs) {
  const auto& config = config_of<ExpertsConfig>(kernel);
  const ExpertGemms layer = gemms_of_layer(plan, kPath, tokens, config.gate_up.tile_m);
  const Costs of_tiles = costs.first(tiles().cost_parameters().size());
  const double phase_us = costs[of_tiles.size()];
  const double ratio = costs[of_tiles.size() + 1];
  const auto us = [&](const ExpertGemm& gemm, const TilesConfig& tile) {
    return tiles().predicted_us_for(gemm.request(), product_kernel(gemm, kernel, tile), layer.rows,
                                    of_tiles);
  };
  return config.layer.phases() * phase_us +
         ratio * layer.repeats * (us(layer.gate_up, config.gate_up) + us(layer.down, config.down));
}

}  // namespace heddle
