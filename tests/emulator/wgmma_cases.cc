#include "tests/emulator/wgmma_cases.h"

#include <stdexcept>
#include <utility>

namespace heddle {
namespace {

struct Tile {
  int m, n, k;
};

class Cases {
 public:
  // `group` of FP16 or BF16 scales; tokens in ascending order.
  GemmSpec& add(std::string name, std::int64_t n, std::int64_t k, Tile tile, DType dtype, int group,
                ZeroPoint zero, int sm_count, std::vector<std::int64_t> tokens, Sharing sharing) {
    GemmSpec spec;
    spec.shape = {n, k, tokens.front(), tokens.back()};
    spec.activation = dtype;
    spec.weight.scale_dtype = dtype;
    spec.weight.group_size = group;
    spec.weight.zero_point = zero;
    spec.path = Path::kHopper;
    spec.tile.m = tile.m;
    spec.tile.n = tile.n;
    spec.tile.k = tile.k;
    if (sharing == Sharing::kNone) spec.tile.split_k = 1;
    cases.push_back({std::move(name), spec, sm_count, std::move(tokens), sharing});
    return cases.back().spec;
  }

  std::vector<WgmmaCase> cases;
};

std::vector<WgmmaCase> make_cases() {
  using enum DType;
  using enum Sharing;
  constexpr auto kInt = ZeroPoint::kInt;
  constexpr auto kNo = ZeroPoint::kNone;
  Cases c;
  // Ends of N inside of a row block's tile, of K inside of a chunk and inside of a stage; M below
  // and between tiles.
  c.add("OneChunk", 8, 32, {16, 128, 128}, kFp16, 32, kInt, 3, {9, 16}, kNone);
  c.add("ShortStage", 8, 160, {16, 256, 512}, kBf16, 32, kNo, 3, {9, 16}, kNone);
  c.add("OddChunks", 40, 896, {32, 128, 256}, kFp16, 32, kInt, 4, {17, 31}, kNone);
  c.add("OddChunksOfFour", 136, 1184, {16, 128, 512}, kBf16, 16, kNo, 4, {9, 16}, kNone);
  c.add("ManyTiles", 520, 896, {16, 128, 256}, kFp16, 128, kInt, 3, {17, 33, 100}, kNone);
  c.add("TwoRowTiles", 1000, 1184, {64, 256, 128}, kFp16, 32, kInt, 3, {64, 65, 129}, kNone);
  c.add("ManyTokens", 136, 896, {128, 128, 128}, kBf16, 128, kNo, 3, {127, 200, 300}, kNone);
  c.add("MostTokens", 264, 160, {256, 128, 128}, kFp16, 16, kInt, 3, {65, 257, 300}, kNone);
  return std::move(c.cases);
}

}  // namespace

Plan WgmmaCase::plan() const {
  Target target = target_from_name("h200");
  target.sm_count = sm_count;
  Plan plan = resolve(Spec::from_gemm(spec, name), target);
  if (plan.variants.size() != 1 || plan.variants[0].kernel != GemmKernel::kWgmma) {
    throw std::logic_error("not one kernel with wgmma: " + name);
  }
  return plan;
}

const std::vector<WgmmaCase>& wgmma_cases() {
  static const std::vector<WgmmaCase> cases = make_cases();
  return cases;
}

}  // namespace heddle
