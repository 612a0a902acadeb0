#include "cache/bundle.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "bundle_cases.h"
#include "cache/cache.h"
#include "cache/entry.h"
#include "faulty_file_system.h"
#include "heddle/error.h"
#include "memory_file_system.h"
#include "test_util.h"

namespace heddle {
namespace {

using testing::bundle_problem;
using testing::expect_equal;
using testing::MemoryFileSystem;
using testing::put_u64;
using testing::read_bytes;
using testing::sample_binary;
using testing::sample_entries;
using testing::sample_key;
using testing::TempFolder;
using testing::write_bytes;

BundleEntry entry_of(const CacheKey& key, const Binary& binary) {
  return {serialize(key), binary, {}};
}

// PTX that cannot be read is an error when it is read; the kernel is right all the same.
void expect_equal_but_for_ptx(Binary found, const Binary& expected) {
  try {
    EXPECT_EQ(found.ptx, expected.ptx);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "cache.unreadable_ptx");
  }
  found.ptx = expected.ptx;
  expect_equal(found, expected);
}

TEST(Bundle, FindsWhatWasPutIn) {
  const TempFolder folder;
  for (const int count : {0, 1, 2, 3, 50}) {
    write_bytes(folder / "b.hdl", encode_bundle(sample_entries(count)));
    Bundle bundle(folder / "b.hdl");
    for (int i = 0; i < count; ++i) {
      const auto found = bundle.find(sample_key(i));
      ASSERT_TRUE(found) << i;
      expect_equal(*found, sample_binary(i));
    }
    EXPECT_FALSE(bundle.find(sample_key(count)));
    EXPECT_EQ(bundle.verify().good, static_cast<std::size_t>(count));
    EXPECT_EQ(bundle.verify().damaged, 0U);
    EXPECT_EQ(bundle.list().size(), static_cast<std::size_t>(count));
  }
}

TEST(Bundle, BytesDependOnTheEntriesAlone) {
  std::vector<BundleEntry> entries = sample_entries(9);
  const Bytes once = encode_bundle(entries);
  std::reverse(entries.begin(), entries.end());
  entries.push_back(entries.front());
  EXPECT_EQ(encode_bundle(entries), once);
}

TEST(Bundle, FieldsAreWhereTheDocumentSays) {
  const Bytes bytes = encode_bundle(sample_entries(2));
  EXPECT_EQ(as_text(bytes).substr(0, 8), "\x89HDB\r\n\x1a\n");
  const auto u64_at = [&](std::size_t at) { return ByteReader(ByteView(bytes).subspan(at)).u64(); };
  EXPECT_EQ(u64_at(8), 3U + (std::uint64_t{2} << 32)) << "version 3, two blocks";
  EXPECT_EQ(u64_at(16), bytes.size());
  EXPECT_EQ(u64_at(24), 2U);
  const std::size_t index_end = 48 + 2 * 64 + 2 * 48;
  EXPECT_EQ(u64_at(48 + 32), index_end) << "the first entry's offset";
  EXPECT_EQ(u64_at(48 + 48), serialize(sample_key(0)).source.size());
  EXPECT_EQ(u64_at(48 + 56), sample_binary(0).ptx.size());
  EXPECT_EQ(as_text(bytes).substr(index_end, 4), "\x89HDL");
  const std::size_t block = 48 + 2 * 64;
  EXPECT_EQ(u64_at(block + 16), 1U) << "the kind: source parts";
  EXPECT_EQ(u64_at(block + 24), 2 * serialize(sample_key(0)).source.size());
  EXPECT_EQ(u64_at(block + 32), u64_at(48 + 64 + 32) + u64_at(48 + 64 + 40))
      << "the first block follows the last entry";
  EXPECT_EQ(u64_at(block + 48 + 16), 2U) << "the kind: PTX";
  EXPECT_EQ(u64_at(block + 48 + 32) + u64_at(block + 48 + 40), bytes.size());
}

TEST(Bundle, TheLatestCompilerOfSeveral) {
  std::vector<BundleEntry> entries = sample_entries(3);
  for (const char* compiler : {"nvrtc 13.9", "nvrtc 13.10", "nvrtc 12.8"}) {
    CacheKey key = sample_key(7);
    Binary binary = sample_binary(7);
    key.compiler = binary.compiler = compiler;
    entries.push_back(entry_of(key, binary));
  }
  const TempFolder folder;
  write_bytes(folder / "b.hdl", encode_bundle(entries));
  Bundle bundle(folder / "b.hdl");
  EXPECT_EQ(bundle.find_any_compiler(sample_key(7)).value().compiler, "nvrtc 13.10");
  EXPECT_FALSE(bundle.find_any_compiler(sample_key(8)));
}

TEST(Bundle, AsALayerOfACache) {
  const TempFolder folder;
  write_bytes(folder / "model.hdl", encode_bundle(sample_entries(2)));
  CacheOptions options;
  options.dir = "rw:" + (folder / "own") + ":ro:" + (folder / "model.hdl");
  Cache cache(options);
  bool hit = false;
  for (const int i : {0, 1}) {
    const auto found = cache.get_or_make(
        sample_key(i), []() -> Binary { throw std::logic_error("must not be made"); }, &hit);
    expect_equal(*found, sample_binary(i));
    EXPECT_TRUE(hit);
  }
  EXPECT_NE(cache.get_or_make(sample_key(2), [] { return sample_binary(2); }), nullptr);
  EXPECT_EQ(testing::files_ending(folder / "own", ".hdl").size(), 1U);
}

// Whichever bit of header, index or entries is flipped: never a wrong kernel, and verify() sees it.
TEST(Bundle, EveryBitFlipped) {
  MemoryFileSystem files;
  const Bytes original = encode_bundle(sample_entries(2));
  const int fd = files.open(-1, "/b.hdl", O_CREAT | O_RDWR, 0600);
  ASSERT_GE(fd, 0);
  files.close(fd);
  for (std::size_t bit = 0; bit < 8 * original.size(); ++bit) {
    Bytes bytes = original;
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    files.at("/b.hdl")->bytes = bytes;
    Bundle bundle("/b.hdl", files);
    EXPECT_GE(bundle.verify().damaged, 1U) << "bit " << bit;
    for (const int i : {0, 1}) {
      const auto found = bundle.find(sample_key(i));
      if (found) expect_equal_but_for_ptx(*found, sample_binary(i));
    }
  }
  EXPECT_EQ(files.open_files(), 0);
}

TEST(Bundle, EveryTruncationAndGarbage) {
  const Bytes original = encode_bundle(sample_entries(2));
  for (std::size_t length = 0; length < original.size(); length += length < 200 ? 1 : 13) {
    EXPECT_NE(bundle_problem(Bytes(original.begin(), original.begin() + static_cast<long>(length))),
              "")
        << length;
  }
  Bytes longer = original;
  longer.push_back(0);
  EXPECT_EQ(bundle_problem(longer), "wrong length");
  EXPECT_EQ(bundle_problem(Bytes(100, 0)), "not a bundle");
  EXPECT_EQ(bundle_problem(original), "");
}

// With right checksums, so that only the checks of the numbers themselves are left.
TEST(Bundle, NumbersThatLie) {
  const Bytes original = encode_bundle(sample_entries(2));
  const auto seal = [](Bytes* bytes, std::size_t items) {
    Bytes checked(bytes->begin(), bytes->begin() + 32);
    checked.insert(checked.end(), bytes->begin() + 48,
                   bytes->begin() + 48 + static_cast<long>(64 * items + 2 * 48));
    std::ranges::copy(digest(checked.data(), checked.size()), bytes->begin() + 32);
  };
  const auto with_u64 = [&](std::size_t at, std::uint64_t value) {
    Bytes bytes = original;
    put_u64(&bytes, at, value);
    seal(&bytes, 2);
    return bundle_problem(bytes);
  };
  for (const std::uint64_t lie : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 31,
                                  std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    EXPECT_NE(with_u64(24, lie), "") << "count " << lie;
    for (const std::size_t at : {32, 40, 48, 56}) {
      EXPECT_NE(with_u64(48 + at, lie), "") << "entry, at " << at << ' ' << lie;
    }
    for (const std::size_t at : {16, 24, 32, 40}) {
      if (at == 16 && lie == 1) continue;  // that is what it is
      EXPECT_NE(with_u64(48 + 2 * 64 + at, lie), "") << "block, at " << at << ' ' << lie;
    }
  }
  Bytes swapped = original;
  std::swap_ranges(swapped.begin() + 48, swapped.begin() + 80, swapped.begin() + 112);
  seal(&swapped, 2);
  EXPECT_EQ(bundle_problem(swapped), "an index that is not in order");
}

// No other version is read, and the reason names it.
TEST(Bundle, OfAnotherVersion) {
  for (const std::uint8_t version : {1, 2, 4}) {
    Bytes bytes = encode_bundle(sample_entries(2));
    bytes[8] = version;
    EXPECT_EQ(bundle_problem(bytes), "it is of format version " + std::to_string(version) +
                                         ", and this Heddle's is 3: make it again with heddle "
                                         "bundle create");
  }
}

// An index that gives a sound entry another key's name.
TEST(Bundle, EntriesOfOtherKeysAreMisses) {
  std::vector<BundleEntry> entries = sample_entries(2);
  std::swap(entries[0].key.digests.source, entries[1].key.digests.source);
  const TempFolder folder;
  write_bytes(folder / "b.hdl", encode_bundle(entries));
  Bundle bundle(folder / "b.hdl");
  EXPECT_EQ(bundle.problem(), "");
  for (const int i : {0, 1}) {
    EXPECT_FALSE(bundle.find(sample_key(i)));
    EXPECT_FALSE(bundle.find_any_compiler(sample_key(i)));
  }
  EXPECT_EQ(bundle.verify().damaged, 2U);
}

TEST(Bundle, IsPublishedWholeOrNotAtAll) {
  const TempFolder folder;
  const Bytes bytes = encode_bundle(sample_entries(2));
  for (const std::string failing : {"open", "write", "sync"}) {
    testing::FaultyFileSystem files;
    files.fault = [&](const std::string& call, int) { return call == failing ? ENOSPC : 0; };
    EXPECT_EQ(publish_bundle(folder / "b.hdl", bytes, files), -ENOSPC) << failing;
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << failing;
  }
  ASSERT_EQ(publish_bundle(folder / "b.hdl", bytes), 0);
  EXPECT_EQ(read_bytes(folder / "b.hdl"), bytes);
  EXPECT_EQ(publish_bundle(folder / "none/b.hdl", bytes), -ENOENT);
}

TEST(Bundle, FilesThatAreNotTrusted) {
  const TempFolder folder;
  const std::string path = folder / "b.hdl";
  std::vector<std::string> warnings;
  const auto expect_refused = [&](const char* what) {
    warnings.clear();
    Bundle bundle(path, posix_file_system(), [&](auto why) { warnings.push_back(why); });
    EXPECT_FALSE(bundle.find(sample_key()));
    EXPECT_FALSE(bundle.find(sample_key()));
    ASSERT_EQ(warnings.size(), 1U) << what;
    EXPECT_NE(warnings[0].find(path), std::string::npos) << warnings[0];
  };
  expect_refused("absent");
  write_bytes(folder / "real", encode_bundle(sample_entries(1)));
  ASSERT_EQ(::chmod((folder / "real").c_str(), 0666), 0);
  std::filesystem::create_hard_link(folder / "real", path);
  expect_refused("writable by all");
  ASSERT_EQ(::chmod(path.c_str(), 0444), 0);
  EXPECT_TRUE(Bundle(path).find(sample_key())) << "an image's files may have several names";
  std::filesystem::remove(path);
  std::filesystem::create_symlink(folder / "real", path);
  expect_refused("a link");
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  expect_refused("a fifo");
}

TEST(Bundle, AnyFailingCallIsAMiss) {
  const TempFolder folder;
  write_bytes(folder / "b.hdl", encode_bundle(sample_entries(3)));
  for (const int error : {EIO, ESTALE, EMFILE, EINTR, ENOMEM}) {
    for (int at = 0; at < 16; ++at) {
      testing::FaultyFileSystem files;
      files.fault = [&](const std::string&, int number) { return number == at ? error : 0; };
      {
        Bundle bundle(folder / "b.hdl", files);
        for (const int i : {0, 1, 2}) {
          const auto found = bundle.find(sample_key(i));
          if (found) expect_equal_but_for_ptx(*found, sample_binary(i));
        }
        files.fault = nullptr;
        EXPECT_TRUE(bundle.find(sample_key(0))) << "a failure is not remembered";
      }
      EXPECT_TRUE(files.open_files.empty());
    }
  }
}

}  // namespace
}  // namespace heddle
