// What a plan shows of a kernel's tile can be asked for: as the spec's tile it gives the same
// kernel.
#include <gtest/gtest.h>

#include <cstddef>
#include <regex>
#include <set>

#include "generator/planner/candidates.h"
#include "tests/byte_gemm.h"
#include "tests/generator/planner/gemm_plans.h"

namespace heddle {
namespace {

// The number that this part of the text has, if it has it.
std::optional<int> number(const std::string& text, const std::string& pattern) {
  std::smatch found;
  if (!std::regex_search(text, found, std::regex(pattern))) return std::nullopt;
  return std::stoi(found[1]);
}

// The tile in a row of `heddle explain`, column TILE: tokens x rows x columns of a stage, stages,
// split-K.
TileSpec tile_of_table(const PlannedKernel& kernel) {
  const std::string text = kernel.family->tile_text(kernel);
  TileSpec tile;
  tile.m = number(text, "^(\\d+)x");
  tile.n = number(text, "^\\d+x(\\d+)x");
  tile.k = number(text, "^\\d+x\\d+x(\\d+)");
  tile.stages = number(text, " s(\\d+)");
  tile.split_k = number(text, " k(\\d+)");
  return tile;
}

// The tile that `heddle plan` describes.
TileSpec tile_of_plan(const PlannedKernel& kernel) {
  const std::string text = kernel.family->describe(kernel);
  TileSpec tile;
  tile.m = number(text, "tile (\\d+) tokens");
  tile.n = number(text, "tokens x (\\d+) rows");
  tile.stages = number(text, "stages (\\d+) of");
  tile.k = number(text, "stages \\d+ of (\\d+) columns");
  tile.split_k = number(text, "split K (\\d+)");
  tile.warps_m = number(text, "warps M (\\d+)");
  tile.warps_n = number(text, "warps M \\d+ x N (\\d+)");
  tile.warps_k = number(text, "warps M \\d+ x N \\d+ x K (\\d+)");
  if (!tile.warps_k) tile.warps_k = number(text, "(\\d+) warps along K,");
  return tile;
}

void expect_same(const Plan& plan, const PlannedKernel& kernel, const TileSpec& tile) {
  GemmSpec spec = plan.spec.gemm();
  spec.shape.m_min = spec.shape.m_max = kernel.size_max;
  // Without a path, a tile asks for the kernels that cp.async or registers feed.
  if (!is_tiles(kernel) && kernel.family != byte_tiles_family()) spec.path = Path::kHopper;
  spec.tile = tile;
  const std::optional<Error> refused = plan_error(Spec::from_gemm(spec), plan.target.name.c_str());
  if (refused) {
    ADD_FAILURE() << refused->what();
    return;
  }
  const Plan again = plan_of(spec, plan.target);
  ASSERT_EQ(again.kernels.size(), 1U);
  // No field sets how many blocks an SM has.
  EXPECT_EQ(again.kernels.front().family, kernel.family);
  EXPECT_EQ(again.kernels.front().family->json(again.kernels.front()), kernel.family->json(kernel));
}

std::vector<GemmSpec> some_specs() {
  std::vector<GemmSpec> specs;
  for (const auto& [n, k] : {std::pair{4096, 4096},
                             {6144, 4096},
                             {4096, 14336},
                             {8192, 28672},
                             {1024, 8192},
                             {2560, 9728},
                             {512, 640},
                             {11008, 2560}}) {
    for (const int bits : {2, 3, 4, 8}) {
      GemmSpec spec = spec_of(n, k);
      spec.weight.bits = bits;
      specs.push_back(spec);
    }
  }
  return specs;
}

TEST(ShownTile, AsTheSpecsTileItGivesTheSameKernel) {
  std::set<std::string> families;
  for (const char* target : {"h200", "a100", "b200", "t4", "rtx4090"}) {
    for (const GemmSpec& spec : some_specs()) {
      const Plan plan = plan_of(spec, target);
      for (const PlannedKernel& kernel : plan.kernels) {
        if (kernel.family == gemv_family()) continue;  // no tile asks for it
        families.insert(std::string(kernel.family->name()));
        const std::string text = kernel.family->describe(kernel);
        SCOPED_TRACE(std::string(target) + " " + plan.spec.canonical_json() + "\n" +
                     kernel_label(kernel) + "\n" + text);
        expect_same(plan, kernel, tile_of_plan(kernel));
        if (is_stream(kernel)) expect_same(plan, kernel, tile_of_table(kernel));
      }
    }
  }
  EXPECT_EQ(families, (std::set<std::string>{"stream", "tiles", "warpgroup"}));
}

TEST(ShownTile, OfTwoOperandsOfEightBits) {
  for (const char* target : {"t4", "a100", "rtx4090", "b200", "rtx5090"}) {
    for (const auto& [n, k] : {std::pair{4096, 4096}, {6144, 4096}, {1024, 8192}, {520, 672}}) {
      const Plan plan = plan_of(byte_gemm(n, k, DType::kInt8), target);
      for (const PlannedKernel& kernel : plan.kernels) {
        SCOPED_TRACE(std::string(target) + " " + kernel_label(kernel));
        expect_same(plan, kernel, tile_of_plan(kernel));
      }
    }
  }
}

}  // namespace
}  // namespace heddle
