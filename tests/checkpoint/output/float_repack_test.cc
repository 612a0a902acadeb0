// FP8, INT8, MXFP4 and NVFP4: repacked weights are, bit for bit, the dequantised ones.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "checkpoint/codes/float_codes.h"
#include "checkpoint/codes/half_convert.h"
#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/output/convert.h"
#include "generator/decode/float16.h"
#include "heddle/error.h"
#include "heddle/weights.h"
#include "tests/checkpoint/quantised_formats.h"

namespace heddle {
namespace {

double code_value(const WeightSpec& weight, std::uint8_t code) {
  switch (weight.type) {
    case WeightType::kE4m3:
      return e4m3_value(code);
    case WeightType::kE5m2:
      return e5m2_value(code);
    case WeightType::kE2m1:
      return e2m1_value(code);
    default:
      return static_cast<std::int8_t>(code);
  }
}

double scale_value(DType dtype, const std::uint8_t* scales, std::size_t index) {
  switch (dtype) {
    case DType::kE8m0:
      return e8m0_value(scales[index]);
    case DType::kE4m3:
      return e4m3_value(scales[index]);
    case DType::kFp32:
      return float_element(TensorType::kF32, scales, index);
    default:
      return float_element(dtype == DType::kBf16 ? TensorType::kBf16 : TensorType::kF16, scales,
                           index);
  }
}

std::vector<std::uint8_t> random_bytes(std::size_t count, unsigned limit = 256) {
  std::mt19937 random(9);
  std::vector<std::uint8_t> bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random() % limit);
  return bytes;
}

std::vector<std::uint8_t> random_floats(std::size_t count) {
  std::mt19937 random(7);
  std::vector<float> values(count);
  for (float& value : values) value = std::ldexp(1.0F + static_cast<float>(random() % 1000), -14);
  return bytes_of_values(values);
}

std::size_t elements_of(const std::vector<std::int64_t>& shape) {
  std::size_t count = 1;
  for (const std::int64_t side : shape) count *= static_cast<std::size_t>(side);
  return count;
}

class FloatRepack : public ::testing::Test {
 protected:
  void write(const std::vector<TestTensor>& tensors) {
    write_tensors(folder_ / "a.safetensors", tensors);
  }
  ConvertReport repack(bool fuse = true) {
    ConvertOptions options;
    options.pack.fuse = fuse;
    return repack_checkpoint(Checkpoint(folder_ / "a.safetensors"), config_,
                             folder_ / "b.safetensors", options);
  }
  Spec spec_of(const std::string& name) {
    return Spec::parse(
        SafetensorsFile(folder_ / "b.safetensors").header().metadata.at(name + ".heddle"));
  }
  QuantizedWeights unpacked(const std::string& name, std::size_t matrix = 0) {
    const GemmSpec spec = spec_of(name).gemm();
    const std::vector<std::uint8_t> bytes =
        Checkpoint(folder_ / "b.safetensors").read(name + ".heddle");
    const std::size_t size = weight_layout(spec).total_bytes;
    EXPECT_LE((matrix + 1) * size, bytes.size());
    return unpack_weights(spec, bytes.data() + matrix * size, size);
  }
  // The values of the repacked layer in `matrices` matrices are those of the layers that
  // dequantize gives, one after the other.
  void expect_same_bits(const std::string& name, const std::vector<std::string>& parts,
                        std::size_t matrices = 1) {
    for (const DType dtype : {DType::kFp16, DType::kBf16}) {
      config_.dtype = dtype;
      repack();
      dequantize_checkpoint(Checkpoint(folder_ / "a.safetensors"), config_,
                            folder_ / "c.safetensors", {});
      std::vector<std::uint8_t> want;
      for (const std::string& part : parts) {
        const auto bytes = Checkpoint(folder_ / "c.safetensors").read(part + ".weight");
        want.insert(want.end(), bytes.begin(), bytes.end());
      }
      const WeightSpec weight = spec_of(name).gemm().weight;
      const auto k = static_cast<std::size_t>(spec_of(name).gemm().shape.k);
      std::size_t at = 0;
      for (std::size_t matrix = 0; matrix < matrices; ++matrix) {
        const QuantizedWeights got = unpacked(name, matrix);
        for (std::size_t i = 0; i < got.codes.size(); ++i, ++at) {
          const auto group = static_cast<std::size_t>(weight.group_size);
          const std::size_t index = weight.group_size == kPerTensor    ? 0
                                    : weight.group_size == kPerChannel ? i / k
                                                                       : i / group;
          const double value = code_value(weight, got.codes[i]) *
                               scale_value(weight.scale_dtype, got.scales.data(), index) *
                               got.tensor_scale;
          std::uint16_t bits = 0;
          std::memcpy(&bits, &want[2 * at], 2);
          if (std::isnan(value)) continue;  // codes of NaN stay what they are
          ASSERT_EQ(round_to_16(dtype, value), bits) << name << " " << i;
        }
      }
      EXPECT_EQ(2 * at, want.size());
    }
  }

  TemporaryFolder folder_;
  CheckpointConfig config_;
};

TEST_F(FloatRepack, BytesWithEveryKindOfScale) {
  struct Case {
    TensorType type;
    std::string suffix;
    TensorType scale_type;
    std::vector<std::int64_t> shape;
    int group;
    DType scale;
  };
  const std::int64_t n = 40;
  const std::int64_t k = 256;
  for (const Case& c : {
           Case{TensorType::kF8E4M3, "_scale", TensorType::kF32, {}, kPerTensor, DType::kFp32},
           {TensorType::kF8E4M3, "_scale", TensorType::kBf16, {1}, kPerTensor, DType::kBf16},
           {TensorType::kF8E4M3, "_scale", TensorType::kF32, {n, 1}, kPerChannel, DType::kFp32},
           {TensorType::kF8E5M2, "_scale", TensorType::kF16, {n}, kPerChannel, DType::kFp16},
           {TensorType::kF8E4M3, "_scale_inv", TensorType::kF32, {3, 2}, 128, DType::kFp32},
           {TensorType::kF8E4M3, "_scale_inv", TensorType::kBf16, {3, 2}, 128, DType::kBf16},
           {TensorType::kF8E4M3, "_scale", TensorType::kU8, {n, 8}, 32, DType::kE8m0},
           {TensorType::kI8, "_scale", TensorType::kF32, {n, 1}, kPerChannel, DType::kFp32},
       }) {
    config_ = {};
    Scheme scheme;
    scheme.block_rows = 16;  // three blocks of rows, the last one ragged
    scheme.group_size = 128;
    config_.quantization = Quantization::uniform("fp8", scheme);
    const std::size_t scales = elements_of(c.shape);
    const auto bytes = c.scale_type == TensorType::kF32 ? random_floats(scales)
                       : c.scale_type == TensorType::kU8
                           ? std::vector<std::uint8_t>(scales, 121)
                           : bytes_of_values(std::vector<std::uint16_t>(scales, 0x3133));
    write({{"l.weight", c.type, {n, k}, random_bytes(40 * 256)},
           {"l.weight" + c.suffix, c.scale_type, c.shape, bytes}});
    expect_same_bits("l", {"l"});
    const WeightSpec weight = spec_of("l").gemm().weight;
    EXPECT_EQ(weight.group_size, c.group);
    EXPECT_EQ(weight.scale_dtype, c.scale);
    EXPECT_EQ(weight.bits, 8);
    // NaN codes are kept, too.
    EXPECT_EQ(unpacked("l").codes, random_bytes(40 * 256));
  }
}

// Three tensors with a scale each are one matrix with a scale to a row.
TEST_F(FloatRepack, FusedPerTensorScales) {
  std::vector<TestTensor> tensors;
  const float scales[] = {0.5F, 0.3F, 0.1F};
  const char* names[] = {"q_proj", "k_proj", "v_proj"};
  for (int i = 0; i < 3; ++i) {
    const std::string name = names[i];
    tensors.push_back({name + ".weight", TensorType::kF8E4M3, {24, 128}, random_bytes(24 * 128)});
    tensors.push_back({name + ".weight_scale",
                       TensorType::kF32,
                       {1},
                       bytes_of_values(std::vector<float>{scales[i]})});
    tensors.push_back({name + ".input_scale",
                       TensorType::kF32,
                       {1},
                       bytes_of_values(std::vector<float>{scales[i]})});
  }
  write(tensors);
  expect_same_bits("qkv_proj", {"q_proj", "k_proj", "v_proj"});
  EXPECT_EQ(spec_of("qkv_proj").gemm().weight.group_size, kPerChannel);
  EXPECT_NE(Checkpoint(folder_ / "b.safetensors").find("q_proj.input_scale"), nullptr);
}

TEST_F(FloatRepack, Mxfp4) {
  write({{"l.blocks", TensorType::kU8, {24, 3, 16}, random_bytes(24 * 3 * 16)},
         {"l.scales", TensorType::kU8, {24, 3}, random_bytes(24 * 3, 130)}});
  expect_same_bits("l", {"l"});
  write({{"l.weight_packed", TensorType::kU8, {24, 48}, random_bytes(24 * 48)},
         {"l.weight_scale", TensorType::kU8, {24, 3}, random_bytes(24 * 3, 130)}});
  expect_same_bits("l", {"l"});
  const WeightSpec weight = spec_of("l").gemm().weight;
  EXPECT_EQ(weight.type, WeightType::kE2m1);
  EXPECT_EQ(weight.group_size, 32);
  EXPECT_EQ(weight.scale_dtype, DType::kE8m0);
  EXPECT_FALSE(weight.tensor_scale);
  // Older libraries read these bytes in another order.
  // The first element is in the low four bits.
  const std::uint8_t first = random_bytes(1).front();
  EXPECT_EQ(unpacked("l").codes[0], first & 0xF);
  EXPECT_EQ(unpacked("l").codes[1], first >> 4);
}

// Each expert's weights stand alone: a kernel of the spec takes any of them.
TEST_F(FloatRepack, Mxfp4Experts) {
  write({{"e.down_proj_blocks", TensorType::kU8, {3, 40, 4, 16}, random_bytes(3 * 40 * 4 * 16)},
         {"e.down_proj_scales", TensorType::kU8, {3, 40, 4}, random_bytes(3 * 40 * 4, 130)},
         {"e.down_proj_bias", TensorType::kBf16, {3, 40}, random_bytes(3 * 40 * 2)}});
  expect_same_bits("e.down_proj", {"e.down_proj"}, 3);
  const GemmSpec spec = spec_of("e.down_proj").gemm();
  EXPECT_EQ(spec.shape.n, 40);
  EXPECT_EQ(spec.shape.k, 128);
  EXPECT_TRUE(spec.epilogue.bias);
  const Checkpoint out(folder_ / "b.safetensors");
  EXPECT_EQ(out.find("e.down_proj.heddle")->shape.front(), 3);
  EXPECT_EQ(out.find("e.down_proj_bias")->shape, (std::vector<std::int64_t>{3, 40}));
}

// compressed-tensors stores the reciprocal of the tensor's scale, Model Optimizer the scale.
TEST_F(FloatRepack, Nvfp4OfBothKinds) {
  const auto codes = random_bytes(24 * 64);
  const auto scales = random_bytes(24 * 8, 0x7F);
  const auto value = [](float x) { return bytes_of_values(std::vector<float>{x}); };
  write({{"l.weight_packed", TensorType::kU8, {24, 64}, codes},
         {"l.weight_scale", TensorType::kF8E4M3, {24, 8}, scales},
         {"l.weight_global_scale", TensorType::kF32, {1}, value(3000.0F)},
         {"l.input_global_scale", TensorType::kF32, {1}, value(7.0F)}});
  expect_same_bits("l", {"l"});
  EXPECT_EQ(unpacked("l").tensor_scale, 1.0F / 3000.0F);
  const auto compressed = Checkpoint(folder_ / "c.safetensors").read("l.weight");
  write({{"l.weight", TensorType::kU8, {24, 64}, codes},
         {"l.weight_scale", TensorType::kF8E4M3, {24, 8}, scales},
         {"l.weight_scale_2", TensorType::kF32, {}, value(1.0F / 3000.0F)}});
  expect_same_bits("l", {"l"});
  EXPECT_EQ(Checkpoint(folder_ / "c.safetensors").read("l.weight"), compressed);
  const WeightSpec weight = spec_of("l").gemm().weight;
  EXPECT_EQ(weight.group_size, 16);
  EXPECT_EQ(weight.scale_dtype, DType::kE4m3);
  EXPECT_TRUE(weight.tensor_scale);
  // By hand: element 1 is the high half of byte 0.
  const double want = e2m1_value(codes[0] >> 4) * e4m3_value(scales[0]) * (1.0F / 3000.0F);
  std::uint16_t bits = 0;
  std::memcpy(&bits, &compressed[2], 2);
  EXPECT_EQ(bits, float16_from_double(kBfloat16, want));
}

TEST_F(FloatRepack, Nvfp4PartsWithDifferentScalesStayApart) {
  std::vector<TestTensor> tensors;
  for (const std::string name : {"gate_proj", "up_proj"}) {
    tensors.push_back({name + ".weight", TensorType::kU8, {16, 64}, random_bytes(16 * 64)});
    tensors.push_back({name + ".weight_scale", TensorType::kF8E4M3, {16, 8}, random_bytes(16 * 8)});
    tensors.push_back({name + ".weight_scale_2",
                       TensorType::kF32,
                       {},
                       bytes_of_values(std::vector<float>{name == "up_proj" ? 1.0F : 0.5F})});
  }
  write(tensors);
  EXPECT_EQ(repack(false).layers, 2u);
  const ConvertReport report = repack();
  EXPECT_EQ(report.layers, 2u);
  EXPECT_NE(report.notes.at(0).find("scale of the whole tensor"), std::string::npos);
  EXPECT_EQ(unpacked("gate_proj").tensor_scale, 0.5F);
  EXPECT_EQ(unpacked("up_proj").tensor_scale, 1.0F);
}

// K = 160 in blocks of 128: five groups of 32, of which the first four have the first block's
// scale.
TEST_F(FloatRepack, BlocksThatDoNotDivideK) {
  write({{"l.weight", TensorType::kF8E4M3, {16, 160}, random_bytes(16 * 160)},
         {"l.weight_scale_inv", TensorType::kF32, {1, 2}, random_floats(2)}});
  expect_same_bits("l", {"l"});
  EXPECT_EQ(spec_of("l").gemm().weight.group_size, 32);
}

// Signed codes minus signed zero points are unsigned ones with an offset in both.
TEST_F(FloatRepack, Int8WithZeroPoints) {
  const std::vector<std::uint8_t> codes = random_bytes(16 * 128);
  const std::vector<std::uint8_t> zeros = {3, 0xFD, 0x80, 0x7F, 0, 1, 2,  3,
                                           4, 5,    6,    7,    8, 9, 10, 11};
  write({{"l.weight", TensorType::kI8, {16, 128}, codes},
         {"l.weight_scale", TensorType::kF32, {16, 1}, random_floats(16)},
         {"l.weight_zero_point", TensorType::kI8, {16, 1}, zeros}});
  config_.dtype = DType::kBf16;
  repack();
  dequantize_checkpoint(Checkpoint(folder_ / "a.safetensors"), config_, folder_ / "c.safetensors",
                        {});
  const std::vector<std::uint8_t> plain = Checkpoint(folder_ / "c.safetensors").read("l.weight");
  const QuantizedWeights got = unpacked("l");
  EXPECT_EQ(spec_of("l").gemm().weight.zero_point, ZeroPoint::kInt);
  const std::vector<std::uint8_t> scales = random_floats(16);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const int want = static_cast<std::int8_t>(codes[i]) - static_cast<std::int8_t>(zeros[i / 128]);
    ASSERT_EQ(int{got.codes[i]} - int{got.zeros[i / 128]}, want) << i;
    std::uint16_t bits = 0;
    std::memcpy(&bits, &plain[2 * i], 2);
    ASSERT_EQ(bits, round_to_16(DType::kBf16,
                                want * float_element(TensorType::kF32, scales.data(), i / 128)));
  }
}

// Experts in one tensor [E, N, K], whose scales are blocks of each expert.
TEST_F(FloatRepack, StackedFp8Experts) {
  config_.hidden_size = 256;
  write({{"experts.gate_up_proj", TensorType::kF8E4M3, {3, 72, 256}, random_bytes(3 * 72 * 256)},
         {"experts.gate_up_proj_scale_inv", TensorType::kF32, {3, 1, 2}, random_floats(6)}});
  repack();
  dequantize_checkpoint(Checkpoint(folder_ / "a.safetensors"), config_, folder_ / "c.safetensors",
                        {});
  const Checkpoint plain(folder_ / "c.safetensors");
  EXPECT_EQ(plain.find("experts.gate_up_proj")->shape, (std::vector<std::int64_t>{3, 72, 256}));
  const std::vector<std::uint8_t> want = plain.read("experts.gate_up_proj");
  for (std::size_t expert = 0; expert < 3; ++expert) {
    const QuantizedWeights got = unpacked("experts.gate_up_proj", expert);
    for (std::size_t i = 0; i < got.codes.size(); ++i) {
      const double value =
          e4m3_value(got.codes[i]) * scale_value(DType::kFp32, got.scales.data(), i / 128);
      std::uint16_t bits = 0;
      std::memcpy(&bits, &want[2 * (expert * 72 * 256 + i)], 2);
      if (std::isnan(value)) continue;
      ASSERT_EQ(bits, round_to_16(DType::kBf16, value)) << i;
    }
  }
  // Which side is K cannot be told.
  config_.hidden_size = 0;
  EXPECT_THROW(repack(), Error);
  config_.hidden_size = 72;
  EXPECT_THROW(repack(), Error);
}

// Which of them the model means cannot be told.
TEST_F(FloatRepack, CodesOfTwoFormsAreRefused) {
  write({{"l.weight", TensorType::kF8E4M3, {16, 128}, random_bytes(16 * 128)},
         {"l.weight_scale", TensorType::kF32, {}, random_floats(1)},
         {"l.blocks", TensorType::kU8, {16, 4, 16}, random_bytes(16 * 64)},
         {"l.scales", TensorType::kU8, {16, 4}, random_bytes(64)}});
  EXPECT_THROW(repack(), Error);
  EXPECT_THROW(dequantize_checkpoint(Checkpoint(folder_ / "a.safetensors"), config_,
                                     folder_ / "c.safetensors", {}),
               Error);
}

TEST_F(FloatRepack, CodesBesidePlainWeightsAreRefused) {
  write({{"l.weight", TensorType::kBf16, {16, 128}, random_bytes(16 * 256)},
         {"l.blocks", TensorType::kU8, {16, 4, 16}, random_bytes(16 * 64)},
         {"l.scales", TensorType::kU8, {16, 4}, random_bytes(64)}});
  EXPECT_THROW(repack(), Error);
}

// They are copied, and named.
TEST_F(FloatRepack, WhatNoKernelTakesStopsNothing) {
  write({{"good.weight", TensorType::kF8E4M3, {16, 128}, random_bytes(16 * 128)},
         {"good.weight_scale", TensorType::kF32, {}, random_floats(1)},
         {"gate.weight", TensorType::kF8E4M3, {1, 128}, random_bytes(128)},
         {"gate.weight_scale", TensorType::kF32, {}, random_floats(1)},
         {"conv.weight", TensorType::kF8E4M3, {16, 4, 4, 8}, random_bytes(16 * 128)},
         {"conv.weight_scale", TensorType::kF32, {16, 1, 1, 1}, random_floats(16)}});
  const ConvertReport report = repack();
  EXPECT_EQ(report.layers, 1U);
  ASSERT_EQ(report.unserved.size(), 2U);
  EXPECT_EQ(report.unserved[0].name, "conv");
  EXPECT_EQ(report.unserved[1].name, "gate");
  const Checkpoint out(folder_ / "b.safetensors");
  EXPECT_NE(out.find("good.heddle"), nullptr);
  for (const char* name :
       {"gate.weight", "gate.weight_scale", "conv.weight", "conv.weight_scale"}) {
    EXPECT_EQ(out.read(name), Checkpoint(folder_ / "a.safetensors").read(name)) << name;
  }
  // As plain weights they have the shape that the model wants.
  dequantize_checkpoint(Checkpoint(folder_ / "a.safetensors"), config_, folder_ / "c.safetensors",
                        {});
  EXPECT_EQ(Checkpoint(folder_ / "c.safetensors").find("conv.weight")->shape,
            (std::vector<std::int64_t>{16, 4, 4, 8}));
}

}  // namespace
}  // namespace heddle
