#include "generator/spec/meaning.h"
#include "tests/generator/spec_helpers.h"

namespace heddle {
namespace {

GemmSpec good() {
  GemmSpec gemm;
  gemm.shape = {.n = 64, .k = 256, .m_min = 1, .m_max = 8};
  return gemm;
}

std::vector<std::string> pointers(const GemmSpec& gemm) {
  std::vector<std::string> found;
  for (const Problem& problem : check_meaning(gemm)) found.push_back(problem.pointer);
  return found;
}

using Pointers = std::vector<std::string>;

TEST(SpecMeaning, GoodSpecHasNoProblems) {
  EXPECT_EQ(pointers(good()), Pointers{});
  GemmSpec gemm = good();
  gemm.tile.m = 16;
  gemm.tile.n = 64;
  gemm.tile.k = 128;
  gemm.tile.warps_m = gemm.tile.warps_k = 2;
  gemm.tile.warps_n = 4;
  gemm.weight.group_size = kPerChannel;
  EXPECT_EQ(pointers(gemm), Pointers{});
}

TEST(SpecMeaning, Shape) {
  GemmSpec gemm = good();
  gemm.shape.m_min = 9;
  EXPECT_EQ(pointers(gemm), Pointers{"/shape/m"});
  gemm.shape.m_max = 9;
  EXPECT_EQ(pointers(gemm), Pointers{});
  gemm.shape.n = 60;
  EXPECT_EQ(pointers(gemm), Pointers{"/shape/n"});
  gemm.shape.k = 272;
  gemm.weight.group_size = 16;
  EXPECT_EQ(pointers(gemm), (Pointers{"/shape/n", "/shape/k"}));
}

TEST(SpecMeaning, GroupDividesK) {
  GemmSpec gemm = good();
  gemm.weight.group_size = 512;
  EXPECT_EQ(pointers(gemm), Pointers{"/weight/group_size"});
  EXPECT_NE(check_meaning(gemm)[0].message.find("larger than K = 256"), std::string::npos);
  gemm.weight.group_size = 96;
  EXPECT_NE(check_meaning(gemm).at(0).message.find("does not divide K = 256"), std::string::npos);
  gemm.weight.group_size = 256;
  EXPECT_EQ(pointers(gemm), Pointers{});
}

TEST(SpecMeaning, TileHoldsWholeStepsOfItsWarps) {
  GemmSpec gemm = good();
  gemm.tile.m = 8;
  gemm.tile.n = 48;
  gemm.tile.k = 96;
  gemm.tile.warps_m = 2;
  gemm.tile.warps_n = 4;
  EXPECT_EQ(pointers(gemm), (Pointers{"/tile/m", "/tile/n", "/tile/k"}));
  gemm.tile = {};
  gemm.tile.warps_m = gemm.tile.warps_n = gemm.tile.warps_k = 4;
  EXPECT_EQ(pointers(gemm), Pointers{"/tile"});
}

TEST(SpecMeaning, TuringHasNoBf16) {
  GemmSpec gemm = good();
  gemm.path = Path::kTuring;
  EXPECT_EQ(pointers(gemm), Pointers{});
  gemm.activation = DType::kBf16;
  EXPECT_EQ(pointers(gemm), Pointers{"/path"});
}

}  // namespace
}  // namespace heddle
