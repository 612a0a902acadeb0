// What can be packed, and where a gated epilogue has its rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "heddle/error.h"
#include "tests/generator/layout/layout_weights.h"

namespace heddle {
namespace {

// Structs need not have been parsed: a spec that nobody can serve is refused before its sizes are
// believed.
TEST(PackWeights, RefusesSpecsThatContradictThemselves) {
  const auto code_of = [](const GemmSpec& spec) {
    try {
      pack_weights(spec, random_weights(spec_of(64, 128, 128)));
    } catch (const Error& error) {
      return error.code();
    }
    return std::string();
  };
  GemmSpec spec = spec_of(64, 128, 128);
  EXPECT_EQ(code_of(spec), "");
  for (const auto& [type, bits] : {std::pair{WeightType::kE4m3, 4},
                                   {WeightType::kE2m1, 3},
                                   {WeightType::kE2m3, 5},
                                   {WeightType::kNf4, 2}}) {
    spec.weight.type = type;
    spec.weight.bits = bits;
    EXPECT_EQ(code_of(spec), "weights.unsupported") << to_string(type);
  }
  for (const int bits : {0, 9, 12}) {
    spec = spec_of(64, 128, 128);
    spec.weight.bits = bits;
    EXPECT_EQ(code_of(spec), "spec.out_of_range") << bits;
  }
}

// Eight gates, then their eight ups, in every block of 16 rows.
TEST(PackWeights, GatesAndUpsOfAGatedEpilogueShareRowBlocks) {
  for (const int group : {128, kPerChannel}) {
    GemmSpec plain = spec_of(64, 160, group == 128 ? 32 : group, ZeroPoint::kInt);
    const QuantizedWeights weights = random_weights(plain);
    QuantizedWeights moved = weights;
    const std::int64_t k = plain.shape.k;
    const std::int64_t groups = static_cast<std::int64_t>(weights.zeros.size()) / plain.shape.n;
    for (std::int64_t row = 0; row < plain.shape.n; ++row) {
      const std::int64_t of_block = row % 16;
      const std::int64_t from = row / 16 * 8 + of_block % 8 + (of_block < 8 ? 0 : 32);
      std::copy_n(&weights.codes[from * k], k, &moved.codes[row * k]);
      std::copy_n(&weights.scales[2 * from * groups], 2 * groups, &moved.scales[2 * row * groups]);
      std::copy_n(&weights.zeros[from * groups], groups, &moved.zeros[row * groups]);
    }
    GemmSpec gated = plain;
    gated.epilogue.gated = true;
    const std::vector<std::uint8_t> packed = pack_weights(gated, weights);
    EXPECT_EQ(packed, pack_weights(plain, moved)) << group;
    const QuantizedWeights unpacked = unpack_weights(gated, packed.data(), packed.size());
    EXPECT_EQ(unpacked.codes, weights.codes);
    EXPECT_EQ(unpacked.scales, weights.scales);
    EXPECT_EQ(unpacked.zeros, weights.zeros);
  }
}

}  // namespace
}  // namespace heddle
