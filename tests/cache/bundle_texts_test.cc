// The texts of a bundle: shared by kernels in blocks, read when they are asked for, or left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "cache/bundle.h"
#include "cache/bundle_index.h"
#include "cache/cache.h"
#include "faulty_file_system.h"
#include "heddle/error.h"
#include "test_util.h"

namespace heddle {
namespace {

using testing::expect_equal;
using testing::FaultyFileSystem;
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

// One of two entries for the same kernel may have come without texts, or was compiled at another
// time: neither may depend on which is first.
TEST(BundleTextsTest, OfTheSameKernelTheTextsGoIn) {
  const BundleEntry whole = long_entry(0, 1'000);
  BundleEntry bare = whole;
  bare.key.source.clear();
  bare.binary.ptx = {};
  bare.binary.compile_ms = whole.binary.compile_ms / 2;
  BundleEntry slower = whole;
  slower.binary.compile_ms = 2 * whole.binary.compile_ms;
  const Bytes expected = encode_bundle({whole});
  std::vector<BundleEntry> entries = {bare, slower, whole};
  for (int i = 0; i < 3; ++i) {
    std::rotate(entries.begin(), entries.begin() + 1, entries.end());
    EXPECT_EQ(encode_bundle(entries), expected) << i;
    EXPECT_EQ(encode_bundle({entries[2], entries[1], entries[0]}), expected) << i;
  }
  BundleEntry only_ptx = whole;
  only_ptx.key.source.clear();
  BundleEntry only_source = whole;
  only_source.binary.ptx = {};
  EXPECT_EQ(encode_bundle({only_ptx, only_source}), expected);
  EXPECT_EQ(encode_bundle({only_source, only_ptx}), expected);
}

// Decompressing a block takes as long for one text as for all of them.
TEST(BundleTextsTest, ABlockIsReadOnceForAllOfItsTexts) {
  const TempFolder folder;
  write_bytes(folder / "b.hdl", encode_bundle(long_entries(20, 3'000)));
  FaultyFileSystem files;
  Bundle bundle(folder / "b.hdl", files);
  std::vector<Binary> found;
  for (int i = 0; i < 20; ++i) found.push_back(bundle.find(long_key(i, 3'000)).value());
  const auto reads = [&] { return std::ranges::count(files.calls, "read"); };
  const auto before = reads();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(found[i].ptx, long_entry(i, 3'000).binary.ptx);
  EXPECT_EQ(reads(), before + 1);
}

std::string error_of(const LazyText& text) {
  try {
    return "no error, but: " + text.str();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "cache.unreadable_ptx");
    return error.what();
  }
}

// An empty text says that the bundle was made without it, so a failure must not look like that.
TEST(BundleTextsTest, ATextThatCannotBeReadIsAnError) {
  const TempFolder folder;
  const std::string path = folder / "b.hdl";
  Bytes bytes = encode_bundle(long_entries(2, 3'000));
  write_bytes(path, bytes);
  FaultyFileSystem files;
  Bundle bundle(path, files);
  const Binary found = bundle.find(long_key(1, 3'000)).value();
  files.fault = [](const std::string&, int) { return EIO; };
  EXPECT_EQ(error_of(found.ptx), "bundle " + path + ": the PTX of k1 cannot be read");
  files.fault = nullptr;
  EXPECT_EQ(found.ptx, long_entry(1, 3'000).binary.ptx) << "a failure is not remembered";

  bytes.back() ^= 1;  // the last block is that of the PTX
  write_bytes(folder / "damaged.hdl", bytes);
  Bundle damaged(folder / "damaged.hdl");
  EXPECT_EQ(error_of(damaged.find(long_key(0, 3'000)).value().ptx),
            "bundle " + (folder / "damaged.hdl") + ": the PTX of k0 is damaged");
  const VerifyReport report = damaged.verify();
  ASSERT_EQ(report.damaged, 2U);
  EXPECT_EQ(report.problems[0].why, "its PTX is damaged");
}

TEST(BundleTextsTest, WhatNoReaderTakesIsNotWritten) {
  EXPECT_NO_THROW(check_entry_count(kBundleMaxItems));
  EXPECT_THROW(check_entry_count(kBundleMaxItems + 1), std::length_error);
  BundleEntry entry = long_entry(0, 100);
  entry.gpus = {std::string(kMaxPartBytes, 'g')};
  EXPECT_THROW(encode_bundle({entry}), std::length_error);
  entry.gpus = {};
  EXPECT_THROW(encode_bundle({entry}, {std::string(kMaxPartBytes, 't')}), std::length_error);
  entry.binary.ptx = std::string(kMaxPartBytes + 1, 'p');
  EXPECT_THROW(encode_bundle({entry}), std::length_error);
  EXPECT_NO_THROW(encode_bundle({entry}, {}, BundleTexts::kWithout));
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
    std::string why;
    const std::vector<GpuNames> names = parse_bundle_gpus(bytes, entries, &why);
    EXPECT_EQ(why.empty(), names.size() == entries);
    return why.empty();
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
