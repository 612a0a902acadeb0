// Bundles with tuned tables.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "bundle_cases.h"
#include "cache/bundle.h"
#include "cache/cache.h"
#include "cache/entry.h"
#include "faulty_file_system.h"
#include "memory_file_system.h"
#include "test_util.h"
#include "torture.h"

namespace heddle {
namespace {

using testing::expect_equal;
using testing::MemoryFileSystem;
using testing::put_u64;
using testing::read_bytes;
using testing::sample_binary;
using testing::sample_entries;
using testing::sample_key;
using testing::TempFolder;
using testing::write_bytes;

using Texts = std::vector<std::string>;

const Texts kTables = {"a table", "the second"};
constexpr std::size_t kEntries = 2;
// The places of the fields of the tables' item, which follows those of sources and PTX. The tables
// are too short to be compressed.
constexpr std::size_t kItem =
    kBundleHeaderBytes + kBundleItemBytes * kEntries + 2 * kBundleBlockItemBytes;
constexpr std::size_t kKind = kItem + 16;
constexpr std::size_t kLength = kItem + 24;
constexpr std::size_t kOffset = kItem + 32;
constexpr std::size_t kStored = kItem + 40;
constexpr std::size_t kIndexEnd = kItem + kBundleBlockItemBytes;

Bytes sample_bundle(const Texts& tables = kTables) {
  return encode_bundle(sample_entries(static_cast<int>(kEntries)), tables);
}

std::uint64_t u64_at(const Bytes& bytes, std::size_t at) {
  return ByteReader(ByteView(bytes).subspan(at)).u64();
}

std::size_t tables_offset(const Bytes& bytes) {
  return static_cast<std::size_t>(u64_at(bytes, kOffset));
}

// Makes the file's length and both checksums right, so that only what they do not cover is left.
void seal_tables_bundle(Bytes* bytes) {
  put_u64(bytes, 16, bytes->size());
  const std::uint64_t at = u64_at(*bytes, kOffset);
  if (at <= bytes->size()) {
    std::ranges::copy(digest(bytes->data() + at, bytes->size() - at), bytes->begin() + kItem);
  }
  Bytes checked(bytes->begin(), bytes->begin() + 32);
  checked.insert(checked.end(), bytes->begin() + kBundleHeaderBytes, bytes->begin() + kIndexEnd);
  std::ranges::copy(digest(checked.data(), checked.size()), bytes->begin() + 32);
}

// A bundle with these bytes in place of its tables, and everything about them right.
Bytes with_section(const Bytes& section) {
  Bytes bytes = sample_bundle();
  bytes.resize(tables_offset(bytes));
  bytes.insert(bytes.end(), section.begin(), section.end());
  put_u64(&bytes, kLength, section.size());
  put_u64(&bytes, kStored, section.size());
  seal_tables_bundle(&bytes);
  return bytes;
}

class BundleTables : public ::testing::Test {
 protected:
  void SetUp() override {
    const int fd = files_.open(-1, "/b.hdl", O_CREAT | O_RDWR, 0600);
    ASSERT_GE(fd, 0);
    files_.close(fd);
  }
  Bundle bundle_of(const Bytes& bytes) {
    files_.at("/b.hdl")->bytes = bytes;
    return Bundle("/b.hdl", files_);
  }
  // What is wrong with a file that must be of no use at all.
  std::string refused(const Bytes& bytes) {
    files_.at("/b.hdl")->bytes = bytes;
    int warnings = 0;
    Bundle bundle("/b.hdl", files_, [&](const std::string&) { ++warnings; });
    EXPECT_TRUE(bundle.tuned_tables().texts.empty());
    EXPECT_TRUE(bundle.tuned_tables().texts.empty());
    EXPECT_FALSE(bundle.find(sample_key(0)));
    EXPECT_EQ(warnings, 1);
    return bundle.problem();
  }

  MemoryFileSystem files_;
};

TEST_F(BundleTables, RoundTrip) {
  Bundle bundle = bundle_of(sample_bundle());
  EXPECT_EQ(bundle.problem(), "");
  EXPECT_EQ(bundle.tuned_tables().texts, kTables);
  EXPECT_EQ(bundle.tuned_tables().path, "/b.hdl");
  for (const int i : {0, 1}) expect_equal(bundle.find(sample_key(i)).value(), sample_binary(i));
  EXPECT_EQ(bundle.verify().good, kEntries);
  EXPECT_EQ(bundle_of(encode_bundle({}, kTables)).tuned_tables().texts, kTables);
}

TEST_F(BundleTables, BytesDependOnEntriesAndTablesAlone) {
  EXPECT_EQ(sample_bundle({kTables[1], kTables[0], kTables[1]}), sample_bundle());
  EXPECT_NE(sample_bundle({kTables[0]}), sample_bundle());
}

TEST_F(BundleTables, FieldsAreWhereTheDocumentSays) {
  const Bytes bytes = sample_bundle();
  EXPECT_EQ(u64_at(bytes, 8), 3U + (std::uint64_t{3} << 32)) << "version 3, three blocks";
  EXPECT_EQ(u64_at(bytes, 16), bytes.size());
  EXPECT_EQ(u64_at(bytes, kKind), 3U);
  EXPECT_EQ(u64_at(bytes, 24), kEntries);
  EXPECT_EQ(u64_at(bytes, 48 + 32), kIndexEnd) << "the first entry";
  const std::size_t section = kTables[0].size() + kTables[1].size() + 16;
  EXPECT_EQ(u64_at(bytes, kLength), section);
  EXPECT_EQ(u64_at(bytes, kStored), section);
  EXPECT_EQ(tables_offset(bytes) + section, bytes.size());
  EXPECT_EQ(u64_at(bytes, tables_offset(bytes)), kTables[0].size());
  EXPECT_EQ(as_text(bytes).substr(tables_offset(bytes) + 8, kTables[0].size()), kTables[0]);
}

TEST_F(BundleTables, LongTablesAreCompressed) {
  const Texts tables = {std::string(100'000, 'a'), std::string(100'000, 'b')};
  const Bytes bytes = sample_bundle(tables);
  EXPECT_LT(bytes.size(), 5'000U);
  EXPECT_EQ(bundle_of(bytes).tuned_tables().texts, tables);
}

TEST_F(BundleTables, EveryBitFlipped) {
  const Bytes original = sample_bundle();
  const std::size_t section = tables_offset(original);
  for (std::size_t bit = 0; bit < 8 * original.size(); ++bit) {
    Bytes bytes = original;
    const std::size_t at = bit / 8;
    bytes[at] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    const bool of_kernel = at >= kIndexEnd && at < section;
    if (of_kernel) {
      Bundle bundle = bundle_of(bytes);
      // Texts share a block, so that several kernels may be without them.
      EXPECT_GE(bundle.verify().damaged, 1U) << "bit " << bit;
      EXPECT_EQ(bundle.tuned_tables().texts, kTables) << "bit " << bit;
    } else {
      EXPECT_NE(refused(bytes), "") << "bit " << bit;
    }
  }
  EXPECT_EQ(files_.open_files(), 0);
  testing::tell_figure("bits of a bundle with tuned tables flipped",
                       fmt::format("{} cases", 8 * original.size()));
}

// As before, but with all checksums made right: what is read must then be what is written.
TEST_F(BundleTables, EveryByteOfTheTablesForged) {
  const Bytes original = sample_bundle();
  for (std::size_t at = tables_offset(original); at < original.size(); ++at) {
    for (const std::uint8_t change : {0x01, 0x10, 0x80, 0xff}) {
      Bytes bytes = original;
      bytes[at] ^= change;
      seal_tables_bundle(&bytes);
      Bundle bundle = bundle_of(bytes);
      const Texts texts = bundle.tuned_tables().texts;
      EXPECT_EQ(bundle.problem().empty(), !texts.empty()) << at;
      if (texts.empty()) continue;
      EXPECT_EQ(sample_bundle(texts), bytes) << at;
    }
  }
}

TEST_F(BundleTables, EveryTruncationAndGarbage) {
  const Bytes original = sample_bundle();
  for (std::size_t length = 0; length < original.size(); ++length) {
    const Bytes cut(original.begin(), original.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_NE(refused(cut), "") << length;
  }
  Bytes longer = original;
  longer.push_back(0);
  EXPECT_EQ(refused(longer), "wrong length");
}

// The file is shorter than it was when it was opened.
TEST_F(BundleTables, TablesThatCannotBeRead) {
  const TempFolder folder;
  write_bytes(folder / "b.hdl", sample_bundle());
  for (int at = 0; at < 8; ++at) {
    testing::FaultyFileSystem files;
    files.fault = [&](const std::string&, int number) { return number == at ? EIO : 0; };
    {
      Bundle bundle(folder / "b.hdl", files);
      const Texts texts = bundle.tuned_tables().texts;
      EXPECT_TRUE(texts.empty() || texts == kTables);
      files.fault = nullptr;
      EXPECT_EQ(bundle.tuned_tables().texts, kTables) << "a failure is not remembered";
    }
    EXPECT_TRUE(files.open_files.empty());
  }
}

TEST_F(BundleTables, NumbersThatLie) {
  const Bytes original = sample_bundle();
  for (const std::size_t field : {kKind, kLength, kOffset, kStored}) {
    const std::uint64_t truth = u64_at(original, field);
    for (const std::uint64_t lie :
         {std::uint64_t{0}, std::uint64_t{1}, truth - 1, truth + 1, kBundleMaxTablesBytes,
          kBundleMaxTablesBytes + 1, std::uint64_t{1} << 63,
          std::numeric_limits<std::uint64_t>::max()}) {
      if (lie == truth) continue;
      Bytes bytes = original;
      put_u64(&bytes, field, lie);
      seal_tables_bundle(&bytes);
      EXPECT_NE(refused(bytes), "") << field << ' ' << lie;
    }
  }
}

TEST_F(BundleTables, SectionsThatAreNoTables) {
  EXPECT_EQ(bundle_of(with_section(encode_bundle_tables(kTables))).problem(), "");
  EXPECT_NE(refused(with_section({})), "") << "a block is not empty";
  const auto of = [](const Texts& texts) {
    Bytes section;
    ByteWriter writer(&section);
    for (const std::string& text : texts) {
      writer.u64(text.size());
      writer.bytes(as_bytes(text));
    }
    return section;
  };
  for (const Texts& texts : {Texts{""}, {"", "a"}, {"b", "a"}, {"a", "a"}, {"a", ""}}) {
    EXPECT_NE(refused(with_section(of(texts))), "");
  }
  Bytes section = of({"a", "b"});
  for (std::size_t length = 1; length < section.size(); ++length) {
    if (length == 9) continue;  // one table
    const auto end = section.begin() + static_cast<std::ptrdiff_t>(length);
    EXPECT_NE(refused(with_section(Bytes(section.begin(), end))), "") << length;
  }
  for (const std::uint64_t lie :
       {std::uint64_t{2}, std::uint64_t{1} << 32, std::numeric_limits<std::uint64_t>::max()}) {
    put_u64(&section, 9, lie);
    EXPECT_NE(refused(with_section(section)), "") << lie;
  }
}

// As long as is allowed, and a byte more.
TEST_F(BundleTables, TheLongestTables) {
  const auto of_length = [](std::uint64_t bytes) {
    return encode_bundle({}, {std::string(static_cast<std::size_t>(bytes - 8), 'x')});
  };
  EXPECT_EQ(bundle_of(of_length(kBundleMaxTablesBytes)).problem(), "");
  EXPECT_THROW(of_length(kBundleMaxTablesBytes + 1), std::length_error);
}

TEST_F(BundleTables, OfACacheInTheOrderOfItsLayers) {
  const TempFolder folder;
  write_bytes(folder / "plain.hdl", sample_bundle({}));
  for (const char* name : {"1", "2", "3"}) {
    write_bytes(folder / (name + std::string(".hdl")), sample_bundle({name}));
  }
  CacheOptions options;
  options.dir = "rw:" + (folder / "own") + ":ro:" + (folder / "2.hdl") + ":ro:" + folder.path() +
                ":ro:" + (folder / "plain.hdl") + ":ro:" + (folder / "1.hdl");
  options.read_only_roots = {folder / "absent.hdl", folder / "3.hdl"};
  int warnings = 0;
  options.warn = [&](const std::string&) { ++warnings; };
  Cache cache(options);
  Texts found;
  for (const LayerTables& tables : cache.tuned_tables()) {
    EXPECT_EQ(tables.path, folder / (tables.texts.at(0) + ".hdl"));
    found.push_back(tables.texts.at(0));
  }
  EXPECT_EQ(found, (Texts{"2", "1", "3"}));
  EXPECT_EQ(warnings, 1);
  options.disk = false;
  EXPECT_TRUE(Cache(options).tuned_tables().empty());
}

}  // namespace
}  // namespace heddle
