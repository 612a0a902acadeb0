// A folder under load: the cap holds while many write, and a hit stays fast among many entries.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "cache/cache.h"
#include "cache/entry.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "heddle/spec.h"
#include "heddle/target.h"
#include "processes.h"
#include "test_util.h"
#include "torture.h"

namespace heddle {
namespace {

using testing::rounds;
using testing::sample_binary;
using testing::sample_key;
using testing::start_process;
using testing::TempFolder;

// As entry_bytes(), but files may go while it looks.
std::uint64_t bytes_now(const std::string& root) {
  std::uint64_t total = 0;
  std::error_code ignored;
  for (const auto& shard : std::filesystem::directory_iterator(root + "/v1", ignored)) {
    for (const auto& file : std::filesystem::directory_iterator(shard.path(), ignored)) {
      if (file.path().extension() != ".hdl") continue;
      std::error_code gone;
      const std::uintmax_t bytes = file.file_size(gone);
      if (!gone) total += bytes;
    }
  }
  return total;
}

TEST(Load, CapHoldsWhileManyWrite) {
  constexpr int kWriters = 8;
  constexpr std::size_t kCubin = 2'000;
  const int stores = rounds(100, 3'000);  // of each writer
  const TempFolder folder;
  DiskCacheOptions options;
  options.root = folder.path();
  options.max_bytes = 60'000;
  const std::uint64_t entry =
      encode_entry(serialize(sample_key(9999)), sample_binary(0, kCubin)).size();
  std::vector<pid_t> children;
  for (int writer = 0; writer < kWriters; ++writer) {
    children.push_back(start_process([&] {
      std::mt19937_64 random(static_cast<std::uint64_t>(writer));
      DiskCache cache(options);
      for (int i = 0; i < stores; ++i) {
        const int number = static_cast<int>(random() % 1000);
        if (!cache.store(sample_key(number), sample_binary(number, kCubin))) return 1;
        const auto found = cache.find(sample_key(number));  // may be evicted already
        if (found && found->cubin != sample_binary(number, kCubin).cubin) return 2;
      }
      return 0;
    }));
  }
  std::uint64_t most = 0;
  int looks = 0;
  for (std::size_t running = children.size(); running > 0; ++looks) {
    most = std::max(most, bytes_now(folder.path()));
    int status = 0;
    while (running > 0 && ::waitpid(-1, &status, WNOHANG) > 0) {
      EXPECT_EQ(status, 0);
      --running;
    }
  }
  const auto cap = static_cast<std::uint64_t>(options.max_bytes);
  EXPECT_LE(most, cap + kWriters * entry);
  EXPECT_GT(most, cap / 2) << "the cap was never near";
  DiskCache(options).tidy();
  EXPECT_LE(bytes_now(folder.path()), cap);
  testing::tell_figure("eviction under load",
                       fmt::format("{} writers, {} stores, cap {}, never above {} ({} looks)",
                                   kWriters, kWriters * stores, cap, most, looks));
}

// Microseconds that each of many calls takes, in ascending order.
template <typename Call>
std::vector<double> time_calls(int count, const Call& call) {
  std::vector<double> us;
  for (int i = 0; i < count; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    us.push_back(took.count());
  }
  std::ranges::sort(us);
  return us;
}

// The key of a kernel that Heddle renders, and a cubin and a PTX that are as long as its own and
// compress as well.
CacheKey real_key() {
  GemmSpec spec;
  spec.shape.n = spec.shape.k = 4096;
  const Source source = render(resolve(Spec::from_gemm(spec), target_from_name("h100")), 0);
  CacheKey key = sample_key();
  key.source_text = source.text;
  return key;
}

Binary real_binary() {
  std::mt19937_64 random(1);
  std::vector<Bytes> instructions(48, Bytes(16));
  for (Bytes& each : instructions) {
    for (std::uint8_t& byte : each) byte = static_cast<std::uint8_t>(random());
  }
  Binary binary = sample_binary(0, 0);
  while (binary.cubin.size() < 30'000) {
    Bytes next = instructions[random() % instructions.size()];
    next[2] = static_cast<std::uint8_t>(random() % 64);
    next[4] = static_cast<std::uint8_t>(random() % 16);
    binary.cubin.insert(binary.cubin.end(), next.begin(), next.end());
  }
  std::string ptx;
  while (ptx.size() < 60'000) {
    ptx += fmt::format("\tfma.rn.f32 %f{}, %f{}, %f{}, %f{};\n", random() % 400, random() % 400,
                       random() % 400, random() % 400);
  }
  binary.ptx = ptx;
  return binary;
}

// A hit reads the file, checks it and the digests of the key, and decompresses the cubin; to
// decompress the texts, too, takes several times as long.
TEST(Load, AHitOfARealKernel) {
  const CacheKey key = real_key();
  const Binary binary = real_binary();
  const TempFolder folder;
  CacheOptions options;
  options.dir = folder.path();
  Cache cache(options);
  const auto make = [&] { return binary; };
  cache.get_or_make(key, make);
  const auto memory = time_calls(20'000, [&] { ASSERT_NE(cache.find(key), nullptr); });
  DiskCache* disk = cache.disk();
  const auto from_disk = time_calls(4'000, [&] { ASSERT_TRUE(disk->find(key)); });
  const Bytes entry = testing::read_bytes(testing::entry_path(folder.path(), key));
  const EntryView view = parse_entry(entry);
  const auto all_parts =
      time_calls(1'000, [&] { ASSERT_EQ(problem_of_parts(view), std::string_view()); });
  const auto median = [](const std::vector<double>& us) { return us[us.size() / 2]; };
  testing::tell_figure("hit from memory", fmt::format("median {:.2f} us", median(memory)));
  testing::tell_figure("hit from disk",
                       fmt::format("median {:.1f} us, an entry of {} bytes with a source of {} and "
                                   "a cubin of {}; all of its parts {:.1f} us",
                                   median(from_disk), entry.size(), view.source_key.length,
                                   binary.cubin.size(), median(all_parts)));
  EXPECT_LT(median(from_disk), median(all_parts));
  EXPECT_LT(3 * entry.size(), view.source_key.length + binary.cubin.size() + binary.ptx.size());
  if (testing::torture()) {
    EXPECT_LT(median(memory), 1);
    EXPECT_LT(median(from_disk), 60);
  }
}

TEST(Load, HitAmongManyEntries) {
  const int entries = rounds(500, 100'000);
  constexpr int kReads = 4'000;
  const TempFolder folder;
  DiskCacheOptions options;
  options.root = folder.path();
  options.max_bytes = 0;
  DiskCache cache(options);
  for (int i = 0; i < entries; ++i)
    ASSERT_TRUE(cache.store(sample_key(i), sample_binary(i, 2'000)));
  // Each read once before it counts: the disk's own speed is not what is measured.
  std::vector<double> us;
  for (const bool counts : {false, true}) {
    std::mt19937_64 random(3);
    us = time_calls(kReads, [&] {
      const auto number = random() % static_cast<std::uint64_t>(entries);
      ASSERT_TRUE(cache.find(sample_key(static_cast<int>(number)))) << counts;
    });
  }
  const double median = us[us.size() / 2];
  testing::tell_figure("hit among many entries",
                       fmt::format("{} entries: median {:.1f} us, 99th percentile {:.1f} us",
                                   entries, median, us[us.size() * 99 / 100]));
  // Sanitizers make it several times slower.
  if (testing::torture()) {
    EXPECT_LT(median, 50);
  }
}

}  // namespace
}  // namespace heddle
