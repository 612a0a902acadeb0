// Bundles of versions 1 and 2, which Heddle wrote before it compressed them.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "bundle_cases.h"
#include "cache/bundle.h"
#include "test_util.h"

namespace heddle {
namespace {

using testing::bundle_problem;
using testing::expect_equal;
using testing::read_bytes;
using testing::TempFolder;
using testing::write_bytes;

Bytes golden(const std::string& name) {
  return read_bytes(std::string(HEDDLE_BUNDLES) + "/" + name);
}

TEST(OldBundle, IsReadInFull) {
  const TempFolder folder;
  for (const auto& [name, count, tables] : {std::tuple{"empty", 0, 0},
                                            {"one", 1, 0},
                                            {"three", 3, 0},
                                            {"one_and_two_tables", 1, 2},
                                            {"tables_only", 0, 1}}) {
    write_bytes(folder / "b.hdl", golden(name));
    Bundle bundle(folder / "b.hdl");
    EXPECT_EQ(bundle.problem(), "") << name;
    EXPECT_EQ(bundle.tuned_tables().texts.size(), static_cast<std::size_t>(tables)) << name;
    int seen = 0;
    const VerifyReport report = bundle.for_each([&](const BundleEntry& entry) {
      ++seen;
      EXPECT_EQ(entry.key.digests, digests_of(entry.key.source, entry.key.compiler));
      EXPECT_FALSE(entry.binary.cubin.empty());
      EXPECT_FALSE(entry.binary.ptx.empty());
      EXPECT_TRUE(entry.gpus.empty()) << "these versions do not say it";
    });
    EXPECT_EQ(seen, count) << name;
    EXPECT_EQ(report.damaged, 0U) << name;
    ASSERT_EQ(bundle.list().size(), static_cast<std::size_t>(count)) << name;
    for (const EntryInfo& entry : bundle.list()) EXPECT_TRUE(entry.has_source);
  }
}

// Read and written again, a bundle holds the same in the new format.
TEST(OldBundle, IsWrittenInTheNewFormat) {
  const TempFolder folder;
  write_bytes(folder / "old.hdl", golden("three"));
  std::vector<BundleEntry> entries;
  Bundle(folder / "old.hdl").for_each([&](BundleEntry each) {
    entries.push_back(std::move(each));
  });
  const Bytes written = encode_bundle(entries);
  EXPECT_EQ(written.at(8), 3);
  write_bytes(folder / "new.hdl", written);
  std::size_t number = 0;
  Bundle(folder / "new.hdl").for_each([&](const BundleEntry& each) {
    EXPECT_EQ(each.key.source, entries.at(number).key.source);
    expect_equal(each.binary, entries.at(number++).binary);
  });
  EXPECT_EQ(number, 3U);
}

// With the checksum made right, so that only the checks of the numbers themselves are left.
TEST(OldBundle, NumbersThatLie) {
  for (const auto& [name, index_bytes] : {std::pair{"three", 3 * 48}, {"one_and_two_tables", 96}}) {
    const Bytes original = golden(name);
    for (long at = 24; at < 48 + index_bytes; at += at == 24 ? 24 : 8) {
      for (const std::uint64_t lie : {std::uint64_t{1} << 31, ~std::uint64_t{0}}) {
        Bytes bytes = original;
        for (int i = 0; i < 8; ++i) bytes[at + i] = static_cast<std::uint8_t>(lie >> (8 * i));
        Bytes checked(bytes.begin(), bytes.begin() + 32);
        checked.insert(checked.end(), bytes.begin() + 48, bytes.begin() + 48 + index_bytes);
        std::ranges::copy(digest(checked.data(), checked.size()), bytes.begin() + 32);
        const TempFolder folder;
        write_bytes(folder / "b.hdl", bytes);
        EXPECT_GE(Bundle(folder / "b.hdl").verify().damaged, 1U) << name << " at " << at;
      }
    }
  }
}

TEST(OldBundle, EveryByteChanged) {
  const TempFolder folder;
  for (const char* name : {"three", "one_and_two_tables"}) {
    Bytes bytes = golden(name);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      bytes[at] ^= 0x10;
      write_bytes(folder / "b.hdl", bytes);
      EXPECT_GE(Bundle(folder / "b.hdl").verify().damaged, 1U) << name << " at " << at;
      bytes[at] ^= 0x10;
    }
  }
  EXPECT_EQ(bundle_problem(golden("count_lies")), "more entries than fit");
}

}  // namespace
}  // namespace heddle
