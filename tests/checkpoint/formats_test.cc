// Round trips: random layers are packed in each foreign format by the small packers below, and read
// back; dequantised values are compared with the formula.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "checkpoint/config.h"
#include "checkpoint/convert.h"
#include "checkpoint/integer_layer.h"
#include "checkpoint/mx_fp8.h"
#include "generator/decode/float16.h"
#include "heddle/error.h"
#include "heddle/spec.h"
#include "tests/checkpoint/test_util.h"

namespace heddle {
namespace {

using Method = CheckpointConfig::Method;
using Words = std::vector<std::uint32_t>;

struct Layer {
  std::size_t n, k, group;
  int bits;
  std::vector<std::uint32_t> codes;   // [N, K]
  std::vector<std::uint32_t> zeros;   // [N, G]
  std::vector<std::uint16_t> scales;  // [N, G], FP16
  std::vector<std::int32_t> index;    // [K]

  std::size_t groups() const { return (k + group - 1) / group; }
  std::uint16_t value(std::size_t row, std::size_t column) const {
    const std::size_t meta = row * groups() + static_cast<std::size_t>(index[column]);
    const double integer = static_cast<double>(codes[row * k + column]) - zeros[meta];
    return float16_from_double(kBinary16, integer * float16_to_double(kBinary16, scales[meta]));
  }
};

Layer random_layer(std::size_t n, std::size_t k, std::size_t group, int bits, bool act_order,
                   unsigned seed = 3) {
  std::mt19937 random(seed);
  Layer layer{n, k, group, bits, {}, {}, {}, {}};
  layer.codes.resize(n * k);
  layer.zeros.resize(n * layer.groups());
  layer.scales.resize(n * layer.groups());
  for (auto& code : layer.codes) code = random() & ((1U << bits) - 1);
  for (auto& zero : layer.zeros) zero = random() & ((1U << bits) - 1);
  for (auto& scale : layer.scales) scale = static_cast<std::uint16_t>(0x1000 + random() % 0x1800);
  for (std::size_t i = 0; i < k; ++i) layer.index.push_back(static_cast<std::int32_t>(i / group));
  if (act_order) std::shuffle(layer.index.begin(), layer.index.end(), random);
  return layer;
}

template <class T>
std::vector<T> transposed(const std::vector<T>& from, std::size_t rows, std::size_t columns) {
  std::vector<T> to(from.size());
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
  }
  return to;
}

// Each row of [rows, columns] as a stream of its own.
Words pack_rows(const std::vector<std::uint32_t>& values, std::size_t columns, int bits) {
  Words words;
  for (std::size_t at = 0; at < values.size(); at += columns) {
    const Words row = pack_stream({values.begin() + static_cast<std::ptrdiff_t>(at),
                                   values.begin() + static_cast<std::ptrdiff_t>(at + columns)},
                                  bits);
    words.insert(words.end(), row.begin(), row.end());
  }
  return words;
}

TestTensor tensor(std::string name, TensorType type, std::size_t rows, std::size_t columns,
                  std::vector<std::uint8_t> bytes) {
  return {std::move(name),
          type,
          {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)},
          std::move(bytes)};
}

std::vector<TestTensor> gptq(const Layer& layer, const std::string& name, bool minus_one) {
  const auto bits = static_cast<std::size_t>(layer.bits);
  const std::size_t k_words = layer.k * bits / 32;
  std::vector<std::uint32_t> zeros = transposed(layer.zeros, layer.n, layer.groups());
  for (auto& zero : zeros) zero = (zero - (minus_one ? 1 : 0)) & ((1U << bits) - 1);
  return {tensor(name + ".qweight", TensorType::kI32, k_words, layer.n,
                 bytes_of_values(
                     transposed(pack_rows(layer.codes, layer.k, layer.bits), layer.n, k_words))),
          tensor(name + ".qzeros", TensorType::kI32, layer.groups(), layer.n * bits / 32,
                 bytes_of_values(pack_rows(zeros, layer.n, layer.bits))),
          tensor(name + ".scales", TensorType::kF16, layer.groups(), layer.n,
                 bytes_of_values(transposed(layer.scales, layer.n, layer.groups()))),
          {name + ".g_idx",
           TensorType::kI32,
           {static_cast<std::int64_t>(layer.k)},
           bytes_of_values(layer.index)}};
}

// [N, M] to [M, N / 8] in AWQ's order.
Words awq_words(const std::vector<std::uint32_t>& values, std::size_t n, std::size_t m) {
  Words words(m * n / 8);
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t w = 0; w < n / 8; ++w) {
      const std::size_t order[] = {0, 2, 4, 6, 1, 3, 5, 7};
      for (std::size_t i = 0; i < 8; ++i) {
        words[row * (n / 8) + w] |= values[(8 * w + order[i]) * m + row] << (4 * i);
      }
    }
  }
  return words;
}

std::vector<TestTensor> awq(const Layer& layer, const std::string& name) {
  return {tensor(name + ".qweight", TensorType::kI32, layer.k, layer.n / 8,
                 bytes_of_values(awq_words(layer.codes, layer.n, layer.k))),
          tensor(name + ".qzeros", TensorType::kI32, layer.groups(), layer.n / 8,
                 bytes_of_values(awq_words(layer.zeros, layer.n, layer.groups()))),
          tensor(name + ".scales", TensorType::kF16, layer.groups(), layer.n,
                 bytes_of_values(transposed(layer.scales, layer.n, layer.groups())))};
}

std::vector<TestTensor> compressed(const Layer& layer, const std::string& name) {
  const auto bits = static_cast<std::size_t>(layer.bits);
  const std::vector<std::uint32_t> by_group = transposed(layer.zeros, layer.n, layer.groups());
  const std::size_t zero_words = (layer.n * bits + 31) / 32;
  return {tensor(name + ".weight_packed", TensorType::kI32, layer.n, (layer.k * bits + 31) / 32,
                 bytes_of_values(pack_rows(layer.codes, layer.k, layer.bits))),
          tensor(name + ".weight_scale", TensorType::kF16, layer.n, layer.groups(),
                 bytes_of_values(layer.scales)),
          tensor(name + ".weight_zero_point", TensorType::kI32, zero_words, layer.groups(),
                 bytes_of_values(transposed(pack_rows(by_group, layer.n, layer.bits),
                                            layer.groups(), zero_words))),
          {name + ".weight_shape",
           TensorType::kI64,
           {2},
           bytes_of_values(std::vector<std::int64_t>{static_cast<std::int64_t>(layer.n),
                                                     static_cast<std::int64_t>(layer.k)})},
          {name + ".weight_g_idx",
           TensorType::kI32,
           {static_cast<std::int64_t>(layer.k)},
           bytes_of_values(layer.index)}};
}

CheckpointConfig config_of(Method method, const Layer& layer, bool minus_one = false) {
  CheckpointConfig config;
  config.method = method;
  config.bits = layer.bits;
  config.group_size = static_cast<int>(layer.group);
  config.zero_is_minus_one = minus_one;
  return config;
}

void expect_reads(const std::vector<TestTensor>& tensors, const CheckpointConfig& config,
                  const Layer& want) {
  const TemporaryFolder folder;
  write_tensors(folder / "a.safetensors", tensors);
  const Checkpoint checkpoint(folder / "a.safetensors");
  const std::vector<LayerName> names = quantised_layers(checkpoint);
  ASSERT_EQ(names.size(), 1u);
  const IntegerLayer got = IntegerLayer::read(checkpoint, names.front(), config);
  // From an odd row, so that the slow ways are taken, too.
  for (const std::size_t first : {std::size_t{0}, std::size_t{8}, std::size_t{3}}) {
    const std::size_t rows = want.n - first;
    std::vector<std::uint8_t> codes(rows * want.k);
    got.codes(static_cast<std::int64_t>(first), static_cast<std::int64_t>(rows), codes.data());
    ASSERT_TRUE(std::equal(codes.begin(), codes.end(),
                           want.codes.begin() + static_cast<std::ptrdiff_t>(first * want.k)));
  }
  EXPECT_TRUE(
      std::equal(got.zeros().begin(), got.zeros().end(), want.zeros.begin(), want.zeros.end()));
  EXPECT_EQ(got.scales(), bytes_of_values(want.scales));
  std::vector<std::uint16_t> values(want.n * want.k);
  got.rows(0, got.n(), DType::kFp16, values.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], want.value(i / want.k, i % want.k)) << i;
  }
}

TEST(Formats, Gptq) {
  for (const int bits : {2, 3, 4, 8}) {
    for (const bool act_order : {false, true}) {
      for (const bool minus_one : {false, true}) {
        const Layer layer = random_layer(64, 192, 32, bits, act_order);
        expect_reads(gptq(layer, "l", minus_one), config_of(Method::kGptq, layer, minus_one),
                     layer);
      }
    }
  }
}

TEST(Formats, Awq) {
  for (const std::size_t k : {96u, 100u}) {
    const Layer layer = random_layer(40, k, k / 2, 4, false);
    expect_reads(awq(layer, "l"), config_of(Method::kAwq, layer), layer);
  }
}

TEST(Formats, CompressedTensors) {
  for (const int bits : {2, 4, 8}) {
    for (const std::size_t k : {192u, 193u}) {
      const Layer layer = random_layer(20, k, k == 192 ? 64 : k, bits, k == 192);
      expect_reads(compressed(layer, "l"), config_of(Method::kCompressedTensors, layer), layer);
    }
  }
}

// Every tensor of a layer, cut to a wrong shape or type, is refused by name.
TEST(Formats, ContradictionsNameTheLayer) {
  const Layer layer = random_layer(64, 128, 32, 4, true);
  const std::vector<TestTensor> forms[] = {gptq(layer, "deep.l", true), awq(layer, "deep.l"),
                                           compressed(layer, "deep.l")};
  const Method methods[] = {Method::kGptq, Method::kAwq, Method::kCompressedTensors};
  for (std::size_t f = 0; f < 3; ++f) {
    for (std::size_t t = 0; t < forms[f].size(); ++t) {
      for (int change = 0; change < 3; ++change) {
        std::vector<TestTensor> tensors = forms[f];
        TestTensor& bad = tensors[t];
        if (change == 0) bad.shape = {std::int64_t(bad.bytes.size()) / bytes_of(bad.type), 1, 1};
        if (change == 1) bad.type = TensorType::kBool, bad.shape = {std::int64_t(bad.bytes.size())};
        if (change == 2)
          bad.shape.front() += 1, bad.bytes.resize(*tensor_bytes(bad.type, bad.shape));
        const TemporaryFolder folder;
        write_tensors(folder / "a.safetensors", tensors);
        const Checkpoint checkpoint(folder / "a.safetensors");
        try {
          IntegerLayer::read(checkpoint, quantised_layers(checkpoint).front(),
                             config_of(methods[f], layer));
          ADD_FAILURE() << bad.name << " " << change;
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find("deep.l"), std::string::npos) << error.what();
        }
      }
    }
  }
}

TEST(Formats, GroupIndexOutOfRange) {
  Layer layer = random_layer(32, 64, 32, 4, true);
  layer.index[5] = 2;
  const TemporaryFolder folder;
  write_tensors(folder / "a.safetensors", gptq(layer, "l", true));
  const Checkpoint checkpoint(folder / "a.safetensors");
  EXPECT_THROW(IntegerLayer::read(checkpoint, quantised_layers(checkpoint).front(),
                                  config_of(Method::kGptq, layer)),
               Error);
}

TEST(Formats, Fp8WithEachKindOfScale) {
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
    config.fp8_block_n = 2;
    config.fp8_block_k = 64;
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

TEST(Formats, Mxfp4) {
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
    options.fuse = fuse;
    return repack_checkpoint(Checkpoint(folder_ / "a.safetensors"),
                             config_of(Method::kGptq, parts_.front(), true),
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

TEST_F(FuseTest, RefusesDifferentOrders) {
  write({32, 32, 32}, true, false);
  try {
    repack(true);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("act-order"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("a.k_proj"), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "b.safetensors"));
}

}  // namespace
}  // namespace heddle
