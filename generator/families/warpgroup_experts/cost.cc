#include "generator/families/warpgroup_experts/cost.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "generator/families/experts/products.h"
#include "generator/families/gpu_rates.h"
#include "generator/families/warpgroup/cost.h"
#include "generator/families/warpgroup/kernel.h"
#include "generator/operations/moe/moe.h"

namespace heddle {
namespace {

using device::ExpertLayer;
using device::WarpgroupConfig;

constexpr std::string_view kInTheWay = "in_the_way";  // of a GEMM's costs

// Behind the costs of a GEMM.
enum OwnCost { kPhase, kProducts, kEnd, kMeeting, kBoxBytes, kMoved, kWide };

// From so many rows of a tile on kWide counts.
constexpr int kWideRows = 64;

// One of the two products, whose tiles take as long as their rows make them.
class ProductCost {
 public:
  ProductCost(const ExpertGemm& gemm, const WarpgroupConfig& config,
              const device::WeightShape& shape, Costs of_gemms, Costs own)
      : gemm_(gemm),
        request_(gemm.request()),
        config_(config),
        shape_(shape),
        of_gemms_(of_gemms),
        own_(own),
        gpu_(*gemm.target) {}

  double us(const ExpertLoad& load, std::int64_t rows, double repeats) const {
    const double sms = gemm_.target->sm_count;
    const double row_sets = std::ceil(1.0 * shape_.n / config_.tile_n);
    // Each SM has as many tiles as another, or one more.
    const double tiles = std::ceil(load.tiles * row_sets / sms);
    return repeats * wgmma_launch_us(request_, kernel_of(config_.tile_m), rows, of_gemms_,
                                     tiles * mean_tile(load) / repeats);
  }

 private:
  // The kernel as if all tiles were so wide.
  WarpgroupKernel kernel_of(int width) const {
    WarpgroupKernel kernel{};
    static_cast<WarpgroupConfig&>(kernel) = config_;
    kernel.tile_m = width;
    kernel.shape = shape_;
    kernel.tokens = width;
    kernel.workers = gemm_.target->sm_count;
    return kernel;
  }
  // Clocks of a tile, of those with every number of rows.
  double mean_tile(const ExpertLoad& load) const {
    const device::TileWidths widths{config_.tile_m};
    const double wide = config_.tile_m < kWideRows ? 1 : own_[kWide];
    double clocks = 0;
    for (int width = widths.fewest(), rows = 1; rows <= config_.tile_m; width += widths.step()) {
      const double products = own_[kProducts] * wide * products_of_width(width);
      for (; rows <= width; ++rows) {
        const double share = load.tiles_with[static_cast<std::size_t>(rows)] / load.tiles;
        clocks += share * (products + boxes_of(rows));
      }
    }
    const double meeting = config_.splits_columns() ? own_[kMeeting] * gpu_.clocks_per_us : 0;
    return clocks + own_[kEnd] + meeting;
  }
  double products_of_width(int width) const {
    const WarpgroupKernel kernel = kernel_of(width);
    return kernel.total_units() * WgmmaClocks(request_, kernel, width, of_gemms_).stage();
  }
  // The blocks of a GEMM read the same tokens and get them for each other; these do not.
  double boxes_of(int rows) const {
    const int box = device::box_rows(config_.tile_m);
    const std::int64_t copied = device::ceil_div(rows, box) * box;
    return 2.0 * static_cast<double>(copied * shape_.k) / own_[kBoxBytes];
  }

  const ExpertGemm& gemm_;
  const GemmRequest request_;
  const WarpgroupConfig& config_;
  const device::WeightShape& shape_;
  const Costs of_gemms_;
  const Costs own_;
  const GpuRates gpu_;
};

// What passes through memory besides the products: the tokens of the rows, read and written in 16
// bits, and the rows' outputs, written and read in FP32.
double moved_us(const Target& target, const ExpertLayer& layer, double rows) {
  const GpuRates gpu(target);
  const double bytes = (2 * 2 + 2 * 4) * rows * static_cast<double>(layer.hidden);
  return bytes / gpu.memory_bytes / gpu.clocks_per_us;
}

}  // namespace

const std::vector<CostParameter>& warpgroup_experts_cost_parameters() {
  static const std::vector<CostParameter> parameters = [] {
    std::vector<CostParameter> all = warpgroup_cost_parameters();
    // Narrower products hide less of the decoding than those that the GEMM's costs were fitted to.
    for (CostParameter& one : all) {
      if (one.name == kInTheWay) one.value = 0.42;
    }
    all.push_back({"phase", "us", "that each launch takes beside its products", 2.0});
    all.push_back(
        {"products", "ratio", "of the time of a tile's products to that of a GEMM's", 0.83});
    all.push_back(
        {"end", "clocks", "from the last products of a tile to the first of the next one", 130});
    all.push_back({"meeting", "us",
                   "of each tile of 64 rows: two warpgroups add the sums of their columns", 0.34});
    all.push_back({"box_bytes", "bytes a clock",
                   "of rows' tokens that one SM takes, beside what a GEMM's costs have of them",
                   77});
    all.push_back(
        {"moved", "ratio", "of the time of what passes through memory to that of reading it", 1.0});
    all.push_back(
        {"wide", "ratio",
         "of the time of products of tiles of 64 rows and more, which keep fewer stages of "
         "weights on their way, to that of narrower ones",
         1.12});
    return all;
  }();
  return parameters;
}

double warpgroup_experts_us(const Plan& plan, const device::WarpgroupExpertsConfig& config,
                            std::int64_t tokens, Costs costs) {
  const ExpertLoad load = expert_load(plan.spec.moe(), tokens, config.layer.tile_rows);
  const ExpertGemms layer = gemms_of_layer(plan, Path::kHopper, tokens, config.layer.tile_rows);
  const Costs of_gemms = costs.first(warpgroup_cost_parameters().size());
  const Costs own = costs.subspan(of_gemms.size());
  const ProductCost gate_up(layer.gate_up, config.gate_up, config.gate_up_shape, of_gemms, own);
  const ProductCost down(layer.down, config.down, config.down_shape, of_gemms, own);
  return config.layer.phases() * own[kPhase] +
         own[kMoved] * moved_us(plan.target, config.layer, load.rows) +
         gate_up.us(load, layer.rows, layer.repeats) + down.us(load, layer.rows, layer.repeats);
}

}  // namespace heddle
