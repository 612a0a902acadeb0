#include <algorithm>
#include <tuple>
#include <utility>

#include "tests/byte_gemm.h"
#include "tests/emulator/gemm_cases.h"
#include "tests/emulator/one_kernel.h"
#include "tests/emulator/wgmma_bytes_cases.h"
#include "tests/gemm_tile.h"

namespace heddle {
namespace {

constexpr int kSms = 3;

TileSpec few_byte_tile() { return mma_tile(8, 48, 512, 1, 1, 4); }
TileSpec small_byte_tile() { return mma_tile(32, 64, 256, 1, 2, 2); }
TileSpec square_byte_tile() { return mma_tile(64, 64, 128, 2, 2, 1); }
TileSpec large_byte_tile() { return mma_tile(128, 128, 128, 2, 4, 1); }

// Products, scales, zero points and outputs by wgmma.
void add_as_wgmma(std::vector<ByteTilesCase>* cases) {
  const std::vector<WgmmaCase>& all = wgmma_bytes_cases();
  for (const char* name : {"LongStages", "ZeroPoints", "Around", "Fp16Scales", "Fp32Output"}) {
    const auto one = std::find_if(all.begin(), all.end(),
                                  [&](const WgmmaCase& wgmma) { return wgmma.name == name; });
    ByteTilesCase same{{"AsWgmma" + one->name, one->spec},
                       static_cast<std::size_t>(one - all.begin())};
    same.spec.path = Path::kAmpere;
    same.spec.tile = square_byte_tile();
    cases->push_back(std::move(same));
  }
}

std::vector<ByteTilesCase> make_byte_tiles_cases() {
  using enum DType;
  std::vector<ByteTilesCase> cases;
  const auto add = [&](std::string name, std::int64_t n, std::int64_t k, const TileSpec& tile,
                       DType dtype, std::int64_t m_min, std::int64_t m_max) -> GemmSpec& {
    GemmSpec spec = byte_gemm(n, k, dtype);
    spec.shape.m_min = m_min;
    spec.shape.m_max = m_max;
    spec.tile = tile;
    spec.path = Path::kAmpere;
    cases.push_back({{std::move(name), spec}});
    return cases.back().spec;
  };
  // Ends of N inside of a tile and of a row block, of K inside of a chunk and of a stage; fewer
  // stages than the ring has, and more; one token tile of a warp and an odd number of them.
  add("OneChunk", 8, 32, small_byte_tile(), kInt8, 1, 9);
  add("Few", 72, 1184, few_byte_tile(), kInt8, 1, 8);
  add("FewPromoted", 72, 1184, few_byte_tile(), kFp8E4m3, 5, 21);
  add("Small", 136, 1184, small_byte_tile(), kInt8, 17, 31);
  add("SmallPromoted", 136, 896, small_byte_tile(), kFp8E4m3, 32, 33);
  add("ThreeTokenTiles", 72, 416, mma_tile(24, 32, 128, 1, 2, 1), kInt8, 23, 30);
  add("Square", 72, 896, square_byte_tile(), kFp8E4m3, 63, 70);
  add("Fast", 72, 416, square_byte_tile(), kFp8E4m3, 64, 70).accumulation = Accumulation::kFast;
  add("Large", 136, 416, large_byte_tile(), kInt8, 127, 130);
  add("LargePromoted", 136, 416, large_byte_tile(), kFp8E5m2, 128, 140);
  add("PromotedByFp8", 136, 416, square_byte_tile(), kFp8E4m3, 64, 70);
  cases.back().gpu = "rtx4090";
  add("FastByFp8", 72, 896, small_byte_tile(), kFp8E5m2, 17, 31).accumulation = Accumulation::kFast;
  cases.back().gpu = "rtx4090";
  add("Whole", 128, 512, square_byte_tile(), kInt8, 64, 64);
  for (const int stages : {2, 3}) {
    add("Stages" + std::to_string(stages), 64, 640, square_byte_tile(), kInt8, 33, 64).tile.stages =
        stages;
  }
  // Blocks that share K, each with some stages; integers are added as such.
  add("Split", 136, 1184, square_byte_tile(), kInt8, 33, 70).tile.split_k = 3;
  add("SplitPromoted", 72, 896, small_byte_tile(), kFp8E4m3, 20, 33).tile.split_k = 2;
  // The planner's own.
  add("Planned", 72, 896, {}, kInt8, 9, 16);

  // By m8n8k16, through registers.
  for (const auto& [name, tile, m] : {std::tuple{"TuringFew", few_byte_tile(), 8},
                                      {"TuringSmall", small_byte_tile(), 31},
                                      {"TuringSquare", square_byte_tile(), 70}}) {
    add(name, 72, 1184, tile, kInt8, m, m).path = Path::kTuring;
  }
  GemmSpec& turing = add("TuringSplit", 144, 896, square_byte_tile(), kInt8, 33, 70);
  turing.path = Path::kTuring;
  turing.tile.split_k = 2;
  turing.epilogue = {true, Activation::kSilu, true, true};
  turing.activation_scale.symmetric = false;

  // Scales, zero points and pairs of types.
  GemmSpec& tensors = add("Tensors", 72, 416, small_byte_tile(), kFp8E4m3, 17, 31);
  tensors.weight.group_size = kPerTensor;
  tensors.activation_scale.granularity = RowGranularity::kTensor;
  add("ZeroPoints", 136, 896, square_byte_tile(), kInt8, 33, 70).activation_scale.symmetric = false;
  add("E5m2Tokens", 72, 416, small_byte_tile(), kFp8E5m2, 31, 31).weight.type = WeightType::kE4m3;
  add("E5m2Weights", 72, 416, small_byte_tile(), kFp8E4m3, 31, 31).weight.type = WeightType::kE5m2;
  add("Fp16Scales", 72, 416, small_byte_tile(), kInt8, 31, 31).weight.scale_dtype = kFp16;

  // What surrounds the product.
  add("Fp32Output", 72, 896, square_byte_tile(), kInt8, 33, 64).output = kFp32;
  GemmSpec& around = add("Around", 136, 896, square_byte_tile(), kInt8, 33, 100);
  around.epilogue = {true, Activation::kSilu, true};
  around.output = kBf16;
  GemmSpec& zeros_around = add("GatedZeroPoints", 144, 416, small_byte_tile(), kInt8, 20, 33);
  zeros_around.epilogue = {true, Activation::kGelu, true, true};
  zeros_around.activation_scale.symmetric = false;
  // Whose threads store other rows from turn to turn.
  add("Gated", 144, 896, mma_tile(32, 48, 128, 1, 3, 1), kFp8E4m3, 17, 40).epilogue = {
      false, Activation::kSilu, false, true};
  add_as_wgmma(&cases);
  return cases;
}

}  // namespace

Plan ByteTilesCase::plan() const {
  const auto is_byte_tiles = [](const PlannedKernel& kernel) {
    return kernel.family == byte_tiles_family();
  };
  return plan_of_one(Spec::from_gemm(spec), name, is_byte_tiles, kSms, gpu);
}

const std::vector<ByteTilesCase>& byte_tiles_cases() {
  static const std::vector<ByteTilesCase> cases = make_byte_tiles_cases();
  return cases;
}

}  // namespace heddle
