// The texts of a bundle: shared by kernels in blocks, read when they are asked for, or left out.
#include <gtest/gtest.h>

#include <algorithm>

#include "cache/bundle.h"
#include "cache/bundle_index.h"
#include "cache/cache.h"
#include "test_util.h"

namespace heddle {
namespace {

using testing::expect_equal;
using testing::read_bytes;
using testing::sample_binary;
using testing::sample_key;
using testing::TempFolder;
using testing::write_bytes;

// A key whose text is long and much like the others', as those of kernels are.
CacheKey long_key(int number, std::size_t bytes) {
  CacheKey key = sample_key(number);
  for (std::size_t i = 0; key.source_text.size() < bytes; ++i) {
    key.source_text += fmt::format("float value_{} = {};\n", i, i * i % 8191);
  }
  return key;
}

BundleEntry long_entry(int number, std::size_t bytes) {
  BundleEntry entry{serialize(long_key(number, bytes)), sample_binary(number), {}};
  entry.binary.ptx = fmt::format("// {}\n{}", number, long_key(0, bytes).source_text);
  return entry;
}

std::vector<BundleEntry> long_entries(int count, std::size_t bytes) {
  std::vector<BundleEntry> entries;
  for (int i = 0; i < count; ++i) entries.push_back(long_entry(i, bytes));
  return entries;
}

TEST(BundleTextsTest, WhatKernelsHaveInCommonIsStoredOnce) {
  const std::size_t one = encode_bundle(long_entries(1, 100'000)).size();
  const std::size_t twenty = encode_bundle(long_entries(20, 100'000)).size();
  EXPECT_LT(twenty, 2 * one);
}

TEST(BundleTextsTest, AreReadWhenTheyAreAskedFor) {
  const TempFolder folder;
  write_bytes(folder / "b.hdl", encode_bundle(long_entries(5, 30'000)));
  Bundle bundle(folder / "b.hdl");
  for (int i = 0; i < 5; ++i) {
    const auto found = bundle.find(long_key(i, 30'000));
    ASSERT_TRUE(found);
    expect_equal(*found, long_entry(i, 30'000).binary);
  }
  EXPECT_EQ(bundle.verify().good, 5U);
}

// After the bundle is gone, from a copy and from several threads.
TEST(BundleTextsTest, OutliveTheBundle) {
  const TempFolder folder;
  write_bytes(folder / "b.hdl", encode_bundle(long_entries(2, 30'000)));
  const Binary found = [&] {
    Bundle bundle(folder / "b.hdl");
    return bundle.find(long_key(1, 30'000)).value();
  }();
  std::filesystem::remove(folder / "b.hdl");
  const Binary copy = found;
  EXPECT_EQ(copy.ptx, long_entry(1, 30'000).binary.ptx);
  EXPECT_EQ(copy.ptx.str().data(), found.ptx.str().data()) << "copies share the text";
}

// More text than a block holds.
TEST(BundleTextsTest, FillSeveralBlocks) {
  constexpr std::size_t kLong = 6'000'000;
  const TempFolder folder;
  const Bytes bytes = encode_bundle(long_entries(4, kLong));
  EXPECT_EQ(ByteReader(ByteView(bytes).subspan(12)).u32(), 4U) << "blocks";
  write_bytes(folder / "b.hdl", bytes);
  Bundle bundle(folder / "b.hdl");
  int seen = 0;
  const VerifyReport report = bundle.for_each([&](const BundleEntry& entry) {
    const int number = std::stoi(entry.binary.kernel_name.substr(1));
    EXPECT_EQ(entry.key.source, serialize(long_key(number, kLong)).source);
    EXPECT_EQ(entry.binary.ptx, long_entry(number, kLong).binary.ptx);
    ++seen;
  });
  EXPECT_EQ(seen, 4);
  EXPECT_EQ(report.damaged, 0U);
}

TEST(BundleTextsTest, ABlockEndsBeforeTheTextThatDoesNotFit) {
  BlockFiller filler(3);
  EXPECT_EQ(filler.add(0).length, 0U) << "no text takes no place";
  EXPECT_TRUE(filler.lengths().empty());
  EXPECT_EQ(filler.add(kBundleBlockBytes - 1).block, 3U);
  EXPECT_EQ(filler.add(1).offset, kBundleBlockBytes - 1);
  EXPECT_EQ(filler.add(1).block, 4U);
  EXPECT_EQ(filler.add(kMaxPartBytes).block, 5U) << "a longer one has a block of its own";
  EXPECT_EQ(filler.lengths(), (std::vector<std::uint64_t>{kBundleBlockBytes, 1, kMaxPartBytes}));
}

TEST(BundleTextsTest, WithoutThemEveryKernelIsStillFound) {
  const TempFolder folder;
  const Bytes with = encode_bundle(long_entries(3, 30'000));
  const Bytes without = encode_bundle(long_entries(3, 30'000), {}, BundleTexts::kWithout);
  EXPECT_LT(without.size(), with.size() / 2);
  write_bytes(folder / "b.hdl", without);
  Bundle bundle(folder / "b.hdl");
  for (int i = 0; i < 3; ++i) {
    Binary expected = sample_binary(i);
    expected.ptx = {};
    expect_equal(bundle.find(long_key(i, 30'000)).value(), expected);
    expect_equal(bundle.find_any_compiler(long_key(i, 30'000)).value(), expected);
  }
  EXPECT_FALSE(bundle.find(long_key(3, 30'000)));
  EXPECT_FALSE(bundle.find(long_key(0, 20'000)));
  EXPECT_EQ(bundle.verify().good, 3U);
  for (const EntryInfo& entry : bundle.list()) {
    EXPECT_FALSE(entry.has_source);
    EXPECT_EQ(entry.ptx_bytes, 0U);
  }
  // What was left out once is not there to be put in again.
  std::vector<BundleEntry> again;
  bundle.for_each([&](BundleEntry entry) { again.push_back(std::move(entry)); });
  EXPECT_EQ(encode_bundle(again), without);
}

TEST(BundleTextsTest, GpusAreToldAndThoseOfTheSameKernelJoined) {
  std::vector<BundleEntry> entries = long_entries(2, 100);
  entries.push_back(entries[0]);
  entries[0].gpus = {"h200", "h100"};
  entries[2].gpus = {"h100", "a device, with a comma"};
  const TempFolder folder;
  write_bytes(folder / "b.hdl", encode_bundle(entries));
  Bundle bundle(folder / "b.hdl");
  const std::vector<EntryInfo> list = bundle.list();
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].gpus, (GpuNames{"a device, with a comma", "h100", "h200"}));
  EXPECT_EQ(list[1].gpus, GpuNames{});
}

TEST(BundleTextsTest, NamesOfGpusThatLie) {
  const auto parse = [](const Bytes& bytes, std::uint64_t entries) {
    const char* why = "";
    const std::vector<GpuNames> names = parse_bundle_gpus(bytes, entries, &why);
    EXPECT_EQ(why == nullptr, names.size() == entries);
    return why == nullptr;
  };
  const Bytes good = {1, 0, 0, 0, 1, 0, 0, 0, 'a', 0, 0, 0, 0};
  EXPECT_TRUE(parse(good, 2));
  EXPECT_FALSE(parse(good, 1)) << "too much";
  EXPECT_FALSE(parse(good, 3)) << "too little";
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(parse(Bytes(good.begin(), good.begin() + static_cast<long>(length)), 2));
  }
  EXPECT_FALSE(parse({1, 0, 0, 0, 0, 0, 0, 0}, 1)) << "an empty name";
  EXPECT_FALSE(parse({2, 0, 0, 0, 1, 0, 0, 0, 'b', 1, 0, 0, 0, 'a'}, 1)) << "not in order";
  EXPECT_FALSE(parse({255, 255, 255, 255, 255, 255, 255, 255}, 1));
}

}  // namespace
}  // namespace heddle
