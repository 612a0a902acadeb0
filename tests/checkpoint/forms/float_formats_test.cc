// FP8 and MXFP4: dequantised values are compared with the formula.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <numeric>

#include "checkpoint/codes/float_codes.h"
#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/output/convert.h"
#include "generator/decode/float16.h"
#include "tests/checkpoint/quantised_formats.h"

namespace heddle {
namespace {

TEST(FloatFormats, Fp8WithEachKindOfScale) {
  constexpr std::size_t kN = 6;
  constexpr std::size_t kK = 128;
  std::vector<std::uint8_t> codes(kN * kK);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(i * 7);
  const std::vector<float> scales = {0.37F, 1.1e-3F, 0.25F, 7.77F, 1.0F, 0.0123F};
  struct Case {
    std::string suffix;
    std::vector<std::int64_t> shape;
    std::size_t block_n, block_k;
  };
  for (const Case& c :
       {Case{"_scale", {}, kN, kK}, {"_scale", {6, 1}, 1, kK}, {"_scale_inv", {3, 2}, 2, 64}}) {
    const std::size_t count = static_cast<std::size_t>(
        std::accumulate(c.shape.begin(), c.shape.end(), std::int64_t{1}, std::multiplies<>()));
    const TemporaryFolder folder;
    write_tensors(folder / "a.safetensors",
                  {tensor("l.weight", TensorType::kF8E4M3, kN, kK, codes),
                   {"l.weight" + c.suffix, TensorType::kF32, c.shape,
                    bytes_of_values(std::vector<float>(
                        scales.begin(), scales.begin() + static_cast<std::ptrdiff_t>(count)))}});
    CheckpointConfig config;
    Scheme scheme;
    scheme.block_rows = 2;
    scheme.group_size = 64;
    config.quantization = Quantization::uniform("fp8", scheme);
    config.dtype = DType::kFp16;
    dequantize_checkpoint(Checkpoint(folder / "a.safetensors"), config, folder / "b.safetensors",
                          {});
    const std::vector<std::uint8_t> got = Checkpoint(folder / "b.safetensors").read("l.weight");
    ASSERT_EQ(got.size(), codes.size() * 2);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const float scale = scales[i / kK / c.block_n * (kK / c.block_k) + i % kK / c.block_k];
      std::uint16_t bits = 0;
      std::memcpy(&bits, &got[2 * i], 2);
      ASSERT_EQ(bits, float16_from_double(kBinary16, e4m3_value(codes[i]) * double{scale})) << i;
    }
  }
}

TEST(FloatFormats, Mxfp4) {
  std::vector<std::uint8_t> blocks(2 * 3 * 2 * 16);
  std::iota(blocks.begin(), blocks.end(), std::uint8_t{0});
  std::vector<std::uint8_t> scales(2 * 3 * 2);
  std::iota(scales.begin(), scales.end(), std::uint8_t{120});
  const TemporaryFolder folder;
  write_tensors(folder / "a.safetensors", {{"e.w_blocks", TensorType::kU8, {2, 3, 2, 16}, blocks},
                                           {"e.w_scales", TensorType::kU8, {2, 3, 2}, scales}});
  dequantize_checkpoint(Checkpoint(folder / "a.safetensors"), {}, folder / "b.safetensors", {});
  const Checkpoint out(folder / "b.safetensors");
  EXPECT_EQ(out.find("e.w.weight")->shape, (std::vector<std::int64_t>{2, 3, 64}));
  const std::vector<std::uint8_t> got = out.read("e.w.weight");
  for (std::size_t i = 0; i < blocks.size() * 2; ++i) {
    const auto code = static_cast<std::uint8_t>(blocks[i / 2] >> (4 * (i % 2)) & 0xF);
    std::uint16_t bits = 0;
    std::memcpy(&bits, &got[2 * i], 2);
    ASSERT_EQ(bits, float16_from_double(kBfloat16, e2m1_value(code) * e8m0_value(scales[i / 32])));
  }
}

}  // namespace
}  // namespace heddle
