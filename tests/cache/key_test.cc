#include "cache/key.h"

#include <gtest/gtest.h>

#include <set>

#include "cache/memory_cache.h"
#include "test_util.h"

namespace heddle {
namespace {

using testing::sample_key;

TEST(CacheKey, TextIsAsDocumented) {
  const CacheKey key{"src\n", "f.cu", "k", "sm_80", "-a -b", "nvrtc 1"};
  EXPECT_EQ(key.text(),
            "heddle key 1\nkernel 1\nk\narch 5\nsm_80\noptions 5\n-a -b\nfile 4\nf.cu\n"
            "source 4\nsrc\n\ncompiler 7\nnvrtc 1\n");
}

TEST(CacheKey, EveryFieldCounts) {
  std::set<std::string> ids{sample_key().id()};
  for (auto field : {&CacheKey::source_text, &CacheKey::file_name, &CacheKey::kernel_name,
                     &CacheKey::arch, &CacheKey::options, &CacheKey::compiler}) {
    CacheKey key = sample_key();
    key.*field += "x";
    EXPECT_TRUE(ids.insert(key.id()).second);
    EXPECT_EQ(key.source_digest() == sample_key().source_digest(), field == &CacheKey::compiler);
  }
}

TEST(CacheKey, BytesCannotMoveBetweenFields) {
  CacheKey a = sample_key();
  CacheKey b = sample_key();
  a.arch = "sm_80\noptions 1\nx";
  a.options = "";
  b.arch = "sm_80";
  b.options = "x\noptions 0\n";
  EXPECT_NE(a.text(), b.text());
}

TEST(CacheKey, IdIsTwoLowerCaseDigests) {
  const std::string id = sample_key().id();
  ASSERT_EQ(id.size(), 65U);
  EXPECT_EQ(id[32], '-');
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef-"), std::string::npos);
  EXPECT_EQ(id, serialize(sample_key()).id());
}

// A known answer of the reference implementation: the name of a file must never change.
TEST(Digest, KnownAnswer) { EXPECT_EQ(hex(digest("")), "99aa06d3014798d86001c324468d497f"); }

TEST(MemoryCache, ComparesWholeKeys) {
  MemoryCache memory;
  CacheKey other = sample_key();
  other.source_text[0] = 'X';  // same length: the same hash
  ASSERT_EQ(CacheKeyHash()(sample_key()), CacheKeyHash()(other));
  const auto binary = std::make_shared<const Binary>(testing::sample_binary());
  memory.put(sample_key(), binary);
  EXPECT_EQ(memory.find(sample_key()), binary);
  EXPECT_EQ(memory.find(other), nullptr);
  memory.clear();
  EXPECT_EQ(memory.find(sample_key()), nullptr);
}

}  // namespace
}  // namespace heddle
