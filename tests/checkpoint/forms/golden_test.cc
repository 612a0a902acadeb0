// Known checkpoints of one layer each, in tests/golden: the importers, dequantised bits and the
// repacked layout.
#include <gtest/gtest.h>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/forms/integer_layer.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/output/convert.h"
#include "heddle/error.h"
#include "heddle/spec.h"
#include "heddle/weights.h"
#include "tests/checkpoint/test_util.h"

namespace heddle {
namespace {

class GoldenTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::string folder() const { return std::string(HEDDLE_GOLDEN "/") + GetParam(); }
  CheckpointConfig config() const {
    return read_checkpoint_config(read_file(folder() + "/config.json"));
  }
};

TEST_P(GoldenTest, DequantizesToTheExpectedBits) {
  const TemporaryFolder out;
  const ConvertReport report =
      dequantize_checkpoint(Checkpoint(folder()), config(), out / "w.safetensors", {});
  EXPECT_EQ(report.layers, 1u);
  const Checkpoint got(out / "w.safetensors");
  const Checkpoint want(folder() + "/expected.safetensors");
  EXPECT_EQ(got.tensors().size(), 1u);
  EXPECT_EQ(got.find("model.proj.weight")->shape, want.find("model.proj.weight")->shape);
  EXPECT_EQ(got.read("model.proj.weight"), want.read("model.proj.weight"));
}

TEST_P(GoldenTest, RepackedCodesAreTheImportedOnes) {
  const Checkpoint checkpoint(folder());
  const TemporaryFolder out;
  const std::string path = out / "p.safetensors";
  repack_checkpoint(checkpoint, config(), path, {});
  const SafetensorsFile file(path);
  const Spec spec = Spec::parse(file.header().metadata.at("model.proj.heddle"));
  const Checkpoint packed(path);
  const std::vector<std::uint8_t> bytes = packed.read("model.proj.heddle");
  const QuantizedWeights back = unpack_weights(spec.gemm(), bytes.data(), bytes.size());

  const IntegerLayer layer =
      IntegerLayer::read(checkpoint, {"model.proj", LayerName::Kind::kQweight}, config());
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(layer.n() * layer.k()));
  layer.codes(0, layer.n(), codes.data());
  std::vector<std::int32_t> permutation(static_cast<std::size_t>(layer.k()));
  for (std::size_t j = 0; j < permutation.size(); ++j) permutation[j] = static_cast<int>(j);
  EXPECT_EQ(packed.find("model.proj.heddle_perm") != nullptr, !layer.group_index().empty());
  if (!layer.group_index().empty()) {
    const std::vector<std::uint8_t> raw = packed.read("model.proj.heddle_perm");
    ASSERT_EQ(raw.size(), permutation.size() * 4);
    std::memcpy(permutation.data(), raw.data(), raw.size());
  }
  const auto k = static_cast<std::size_t>(layer.k());
  for (std::size_t n = 0; n < static_cast<std::size_t>(layer.n()); ++n) {
    for (std::size_t j = 0; j < k; ++j) {
      ASSERT_EQ(back.codes[n * k + j], codes[n * k + static_cast<std::size_t>(permutation[j])]);
    }
  }
  EXPECT_EQ(spec.gemm().act_order, !layer.group_index().empty());
  std::vector<std::uint8_t> scales(back.scales.size());
  layer.scales(0, layer.n(), scales.data());
  EXPECT_EQ(back.scales, scales);
  if (spec.gemm().weight.zero_point == ZeroPoint::kInt) {
    std::vector<std::uint8_t> zeros(back.zeros.size());
    layer.zeros(0, layer.n(), zeros.data());
    EXPECT_EQ(back.zeros, zeros);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTest,
                         ::testing::Values("awq_k128_n64_g32", "awq_k256_n32_g128",
                                           "gptq2_k128_n32_g64", "gptq3_k128_n32_g128",
                                           "gptq4_k128_n32_g32", "gptq4_k256_n32_g128_actorder",
                                           "gptq4_sym_k128_n64_g128", "gptq4v2_k128_n32_g64",
                                           "gptq8_k128_n32_g128"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace heddle
