// Layers that one kernel takes together: their rows in Heddle's layout, and act-order.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/output/convert.h"
#include "heddle/error.h"
#include "heddle/spec.h"
#include "heddle/weights.h"
#include "tests/checkpoint/quantised_formats.h"

namespace heddle {
namespace {

class FuseTest : public ::testing::Test {
 protected:
  // q, k and v of these heights, and a tensor that is no layer.
  void write(std::vector<std::size_t> heights, bool act_order, bool same_order) {
    std::vector<TestTensor> tensors = {{"norm", TensorType::kF32, {1}, {0, 0, 128, 63}}};
    const char* names[] = {"a.q_proj", "a.k_proj", "a.v_proj"};
    for (unsigned i = 0; i < 3; ++i) {
      Layer layer = random_layer(heights[i], 256, 64, 4, act_order, i);
      if (same_order && i != 0) layer.index = parts_.front().index;
      for (TestTensor& one : gptq(layer, names[i], true)) tensors.push_back(std::move(one));
      parts_.push_back(std::move(layer));
    }
    write_tensors(folder_ / "a.safetensors", tensors);
  }

  ConvertReport repack(bool fuse) {
    ConvertOptions options;
    options.pack.fuse = fuse;
    return repack_checkpoint(Checkpoint(folder_ / "a.safetensors"),
                             config_of(Storage::kGptq, parts_.front(), true),
                             folder_ / "b.safetensors", options);
  }

  QuantizedWeights unpacked(const std::string& name) {
    const SafetensorsFile file(folder_ / "b.safetensors");
    const Spec spec = Spec::parse(file.header().metadata.at(name));
    const std::vector<std::uint8_t> bytes = Checkpoint(folder_ / "b.safetensors").read(name);
    return unpack_weights(spec.gemm(), bytes.data(), bytes.size());
  }

  TemporaryFolder folder_;
  std::vector<Layer> parts_;
};

// Heights that are no multiples of the layout's 16 rows: a row block spans two parts.
TEST_F(FuseTest, RowsFollowEachOther) {
  write({104, 40, 24}, true, true);
  const ConvertReport report = repack(true);
  EXPECT_EQ(report.layers, 1u);
  EXPECT_EQ(report.copied, 1u);
  const QuantizedWeights got = unpacked("a.qkv_proj.heddle");
  const Checkpoint out(folder_ / "b.safetensors");
  EXPECT_EQ(out.read("norm"), (std::vector<std::uint8_t>{0, 0, 128, 63}));
  const std::vector<std::uint8_t> raw = out.read("a.qkv_proj.heddle_perm");
  std::vector<std::int32_t> permutation(256);
  std::memcpy(permutation.data(), raw.data(), raw.size());
  std::size_t row = 0;
  for (const Layer& part : parts_) {
    for (std::size_t r = 0; r < part.n; ++r, ++row) {
      for (std::size_t j = 0; j < 256; ++j) {
        const auto column = static_cast<std::size_t>(permutation[j]);
        ASSERT_EQ(got.codes[row * 256 + j], part.codes[r * 256 + column]);
        ASSERT_EQ(part.index[column], static_cast<std::int32_t>(j / 64));
      }
      for (std::size_t g = 0; g < 4; ++g) {
        ASSERT_EQ(got.zeros[row * 4 + g], part.zeros[r * 4 + g]);
      }
    }
  }
}

TEST_F(FuseTest, ApartOnRequest) {
  write({32, 32, 32}, true, false);
  EXPECT_EQ(repack(false).layers, 3u);
  for (const char* name : {"a.q_proj.heddle", "a.k_proj.heddle", "a.v_proj.heddle"}) {
    EXPECT_EQ(unpacked(name).codes.size(), 32u * 256);
  }
}

TEST_F(FuseTest, PartsOfDifferentOrdersStayApart) {
  write({32, 32, 32}, true, false);
  const ConvertReport report = repack(true);
  EXPECT_EQ(report.layers, 3U);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_NE(report.notes[0].find("act-order"), std::string::npos);
  EXPECT_NE(report.notes[0].find("a.k_proj"), std::string::npos);
  for (const char* name : {"a.q_proj.heddle", "a.k_proj.heddle", "a.v_proj.heddle"}) {
    EXPECT_EQ(unpacked(name).codes.size(), 32U * 256);
  }
}

}  // namespace
}  // namespace heddle
