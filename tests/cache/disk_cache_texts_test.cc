// What a DiskCache stores of an entry: nothing that no reader takes, and texts or none.
#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

#include "cache/entry.h"
#include "disk_cache_fixture.h"

namespace heddle {
namespace {

using testing::read_bytes;
using testing::sample_binary;
using testing::sample_key;
using testing::write_bytes;

class DiskCacheTextsTest : public testing::DiskCacheFixture {};

// Such an entry would be read as damaged, deleted and compiled again each time.
TEST_F(DiskCacheTextsTest, AnEntryThatNobodyCouldReadIsNotStored) {
  Binary binary = sample_binary();
  binary.cubin.resize(kMaxPartBytes + 1);
  EXPECT_THROW(encode_entry(serialize(sample_key()), binary), std::length_error);
  DiskCache cache(options());
  EXPECT_FALSE(cache.store(sample_key(), binary));
  EXPECT_FALSE(std::filesystem::exists(path(0)));
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_NE(warnings_[0].find("cannot store k0: its cubin has more than 64 MiB"), std::string::npos)
      << warnings_[0];
}

TEST_F(DiskCacheTextsTest, TellsWhetherAnEntryHasItsTexts) {
  DiskCache cache(options());
  const SerialKey key = serialize(sample_key());
  EXPECT_FALSE(cache.has_texts(key.digests)) << "no folder";
  ASSERT_TRUE(cache.store(sample_key(), sample_binary()));
  EXPECT_TRUE(cache.has_texts(key.digests));
  EXPECT_FALSE(cache.has_texts(serialize(sample_key(1)).digests)) << "no entry";
  Bytes bytes = read_bytes(path(0));
  bytes.back() ^= 1;
  write_bytes(path(0), bytes);
  EXPECT_FALSE(cache.has_texts(key.digests)) << "damaged";
  ASSERT_TRUE(cache.store(key.digests, encode_entry(key, sample_binary(), EntryTexts::kWithout)));
  EXPECT_FALSE(cache.has_texts(key.digests)) << "without texts";
  Binary without_ptx = sample_binary();
  without_ptx.ptx = {};
  ASSERT_TRUE(cache.store(sample_key(), without_ptx));
  EXPECT_FALSE(cache.has_texts(key.digests)) << "without PTX";
}

}  // namespace
}  // namespace heddle
