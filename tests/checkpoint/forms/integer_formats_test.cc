// Round trips: random layers are packed in each quantised format and read back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "checkpoint/codes/unpack_codes.h"
#include "checkpoint/files/checkpoint.h"
#include "checkpoint/forms/integer_layer.h"
#include "heddle/error.h"
#include "tests/checkpoint/quantised_formats.h"

namespace heddle {
namespace {

void expect_reads(const std::vector<TestTensor>& tensors, const CheckpointConfig& config,
                  const Layer& want) {
  const TemporaryFolder folder;
  write_tensors(folder / "a.safetensors", tensors);
  const Checkpoint checkpoint(folder / "a.safetensors");
  const std::vector<LayerName> names = layers_of(checkpoint);
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
  std::vector<std::uint8_t> zeros(want.zeros.size());
  got.zeros(0, got.n(), zeros.data());
  EXPECT_TRUE(std::equal(zeros.begin(), zeros.end(), want.zeros.begin(), want.zeros.end()));
  std::vector<std::uint8_t> scales(want.scales.size() * 2);
  got.scales(0, got.n(), scales.data());
  EXPECT_EQ(scales, bytes_of_values(want.scales));
  std::vector<std::uint16_t> values(want.n * want.k);
  got.rows(0, got.n(), DType::kFp16, values.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], want.value(i / want.k, i % want.k)) << i;
  }
}

TEST(IntegerFormats, Gptq) {
  for (const int bits : {2, 3, 4, 8}) {
    for (const bool act_order : {false, true}) {
      for (const bool minus_one : {false, true}) {
        const Layer layer = random_layer(64, 192, 32, bits, act_order);
        expect_reads(gptq(layer, "l", minus_one), config_of(Storage::kGptq, layer, minus_one),
                     layer);
      }
    }
  }
}

// A zero point of 0 borrows from the next in its word, and that one from the one behind it if it is
// 0, too; nothing is borrowed from another word.
TEST(IntegerFormats, BorrowsOfGptqStayInTheirWord) {
  for (const int bits : {2, 3, 4, 8}) {
    const unsigned most = (1U << bits) - 1;
    const std::vector<std::uint32_t> patterns[] = {
        {0}, {most}, {0, most}, {most, 0, 0}, {0, 0, 0, 1}, {1, 0, 0, 0, 0, 2, 0}};
    for (const std::vector<std::uint32_t>& pattern : patterns) {
      Layer layer = random_layer(64, 64, 32, bits, false);
      for (std::size_t i = 0; i < layer.zeros.size(); ++i) {
        // Along N, as the stream of a group has them.
        layer.zeros[i] = pattern[i / layer.groups() % pattern.size()];
      }
      expect_reads(gptq(layer, "l", true), config_of(Storage::kGptq, layer, true), layer);
    }
  }
}

TEST(IntegerFormats, Awq) {
  for (const std::size_t k : {96u, 100u}) {
    const Layer layer = random_layer(40, k, k / 2, 4, false);
    expect_reads(awq(layer, "l"), config_of(Storage::kAwq, layer), layer);
  }
}

TEST(IntegerFormats, CompressedTensors) {
  for (const int bits : {2, 4, 8}) {
    for (const std::size_t k : {192u, 193u}) {
      const Layer layer = random_layer(20, k, k == 192 ? 64 : k, bits, k == 192);
      expect_reads(compressed(layer, "l"), config_of(Storage::kPacked, layer), layer);
    }
  }
}

// Every tensor of a layer, cut to a wrong shape or type, is refused by name.
TEST(IntegerFormats, ContradictionsNameTheLayer) {
  const Layer layer = random_layer(64, 128, 32, 4, true);
  const std::vector<TestTensor> forms[] = {gptq(layer, "deep.l", true), awq(layer, "deep.l"),
                                           compressed(layer, "deep.l")};
  const Storage storages[] = {Storage::kGptq, Storage::kAwq, Storage::kPacked};
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
          IntegerLayer::read(checkpoint, layers_of(checkpoint).front(),
                             config_of(storages[f], layer));
          ADD_FAILURE() << bad.name << " " << change;
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find("deep.l"), std::string::npos) << error.what();
        }
      }
    }
  }
}

TEST(IntegerFormats, TheBiasOfAWordHasAOneInEachFieldThatLiesInIt) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (const int word_bits : {8, 16, 32, 64}) {
      std::uint64_t ones = 0;
      if (word_bits % bits == 0) {
        for (int at = 0; at < word_bits; at += bits) ones |= std::uint64_t{1} << at;
      }
      EXPECT_EQ(gptq_word_bias(bits, word_bits), ones) << bits << ' ' << word_bits;
    }
  }
}

TEST(IntegerFormats, GroupIndexOutOfRange) {
  Layer layer = random_layer(32, 64, 32, 4, true);
  layer.index[5] = 2;
  const TemporaryFolder folder;
  write_tensors(folder / "a.safetensors", gptq(layer, "l", true));
  const Checkpoint checkpoint(folder / "a.safetensors");
  EXPECT_THROW(IntegerLayer::read(checkpoint, layers_of(checkpoint).front(),
                                  config_of(Storage::kGptq, layer)),
               Error);
}

// compressed-tensors fills an index that is not in use with -1; in GPTQ -1 is no group.
TEST(IntegerFormats, GptqHasNoIndexThatIsNotInUse) {
  Layer layer = random_layer(32, 64, 32, 4, false);
  std::fill(layer.index.begin(), layer.index.end(), -1);
  const TemporaryFolder folder;
  write_tensors(folder / "a.safetensors", gptq(layer, "l", true));
  const Checkpoint checkpoint(folder / "a.safetensors");
  EXPECT_THROW(IntegerLayer::read(checkpoint, layers_of(checkpoint).front(),
                                  config_of(Storage::kGptq, layer)),
               Error);
}

}  // namespace
}  // namespace heddle
