// Entries that were changed after they were written: misses that heal, whatever was done to them.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "cache/cache.h"
#include "memory_file_system.h"
#include "test_util.h"
#include "torture.h"

namespace heddle {
namespace {

using testing::entry_path;
using testing::MemoryFileSystem;
using testing::sample_binary;
using testing::sample_key;

const std::string kRoot = "/cache/root";

class CorruptionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    get(0);
    original_ = entry()->bytes;
  }

  CacheOptions options() {
    CacheOptions options;
    options.dir = kRoot;
    options.files = &files_;
    return options;
  }
  // In a new process; whether it was found.
  bool get(int number) {
    bool hit = false;
    Cache cache(options());
    const auto got = cache.get_or_make(
        sample_key(number), [&] { return sample_binary(number); }, &hit);
    EXPECT_EQ(got->cubin, sample_binary(number).cubin);
    EXPECT_EQ(got->kernel_name, sample_binary(number).kernel_name);
    return hit;
  }
  MemoryFileSystem::NodePtr entry(int number = 0) {
    return files_.at(entry_path(kRoot, sample_key(number)));
  }
  // Each must be a miss, and the process after it has a hit again.
  bool heals(const Bytes& bytes) {
    entry()->bytes = bytes;
    const bool missed = !get(0);
    const bool found_again = get(0);
    if (missed && found_again && entry()->bytes == original_) ++healed_;
    return missed && found_again && entry()->bytes == original_;
  }
  void tell(const char* what) {
    testing::tell_figure(what, fmt::format("{} cases, every one a miss that healed", healed_));
  }

  MemoryFileSystem files_;
  Bytes original_;
  int healed_ = 0;
};

TEST_F(CorruptionTest, EveryBitFlipped) {
  ASSERT_TRUE(get(0));
  for (std::size_t bit = 0; bit < 8 * original_.size(); ++bit) {
    Bytes bytes = original_;
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    ASSERT_TRUE(heals(bytes)) << "bit " << bit;
  }
  tell("bits of an entry flipped");
}

TEST_F(CorruptionTest, CutAtEveryLength) {
  for (std::size_t length = 0; length < original_.size(); ++length) {
    const Bytes cut(original_.begin(), original_.begin() + static_cast<std::ptrdiff_t>(length));
    ASSERT_TRUE(heals(cut)) << length;
  }
  tell("entry cut at every length");
}

// What a file system may leave in place of blocks that it lost; of any size, anywhere.
TEST_F(CorruptionTest, ZeroedBlocks) {
  for (const std::size_t block : {1, 8, 16, 64, 512, 4096}) {
    for (std::size_t begin = 0; begin < original_.size(); begin += block) {
      Bytes bytes = original_;
      const std::size_t end = std::min(begin + block, bytes.size());
      std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                bytes.begin() + static_cast<std::ptrdiff_t>(end), std::uint8_t{0});
      if (bytes == original_) continue;  // they were zero before
      ASSERT_TRUE(heals(bytes)) << block << " bytes at " << begin;
    }
  }
  tell("blocks of zeros");
}

TEST_F(CorruptionTest, GarbageAppended) {
  for (const std::size_t count : {1, 2, 15, 16, 17, 96, 112, 4096}) {
    for (const std::uint8_t byte : {0x00, 0xff, 0x89}) {
      Bytes bytes = original_;
      bytes.insert(bytes.end(), count, byte);
      ASSERT_TRUE(heals(bytes)) << count;
    }
  }
  Bytes twice = original_;
  twice.insert(twice.end(), original_.begin(), original_.end());
  ASSERT_TRUE(heals(twice));
  tell("garbage appended");
}

TEST_F(CorruptionTest, Replaced) {
  for (const Bytes& bytes : {Bytes(), Bytes(1), Bytes(112), Bytes(1 << 20, 0xff)}) {
    ASSERT_TRUE(heals(bytes)) << bytes.size();
  }
}

// Sound entries under each other's names, in one shard or two.
TEST_F(CorruptionTest, SwappedEntries) {
  int same_shard = 0;
  for (int other = 1; other < 600; ++other) {
    const bool same = sample_key(0).id().substr(0, 2) == sample_key(other).id().substr(0, 2);
    if (!same && other > 20) continue;
    same_shard += same ? 1 : 0;
    get(other);
    std::swap(entry(0)->bytes, entry(other)->bytes);
    EXPECT_FALSE(get(0)) << other;
    EXPECT_FALSE(get(other)) << other;
    EXPECT_TRUE(get(0)) << other;
    EXPECT_TRUE(get(other)) << other;
  }
  EXPECT_GT(same_shard, 0);
}

// The digests of two sources are the same, in name and header: the second digest of the source, or
// the compiler, tells them apart.
TEST_F(CorruptionTest, ForcedDigestCollision) {
  const KeyDigests wanted = sample_key(0).digests();
  for (const bool same_source : {false, true}) {
    CacheKey key = sample_key(same_source ? 0 : 1);
    if (same_source) key.compiler += "x";
    SerialKey other = serialize(key);
    other.digests.source = wanted.source;
    const Bytes bytes = encode_entry(other, sample_binary(1));
    ASSERT_EQ(parse_entry(bytes).status, EntryStatus::kOk);
    EXPECT_TRUE(heals(bytes));
    entry()->bytes = bytes;
    Cache cache(options());
    const auto any = cache.find_any_compiler(sample_key(0));
    // A source that is the same may come from any compiler; another one never.
    EXPECT_EQ(any != nullptr, same_source);
    entry()->bytes = original_;
  }
}

// A reader of a read-only root heals nothing, and is not led astray either.
TEST_F(CorruptionTest, InAReadOnlyLayer) {
  CacheOptions layered = options();
  layered.dir = "/other";
  layered.read_only_roots = {kRoot};
  for (const std::size_t at : {std::size_t{0}, std::size_t{20}, original_.size() / 2}) {
    entry()->bytes = original_;
    entry()->bytes[at] ^= 1;
    const Bytes before = entry()->bytes;
    bool hit = true;
    Cache cache(layered);
    const auto got = cache.get_or_make(
        sample_key(0), [] { return sample_binary(0); }, &hit);
    EXPECT_FALSE(hit);
    EXPECT_EQ(got->cubin, sample_binary(0).cubin);
    EXPECT_EQ(entry()->bytes, before);
    cache.clear();
  }
}

}  // namespace
}  // namespace heddle
