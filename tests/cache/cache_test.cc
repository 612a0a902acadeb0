#include "cache/cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "test_util.h"
#include "torture.h"

namespace heddle {
namespace {

using testing::expect_equal;
using testing::sample_binary;
using testing::sample_key;
using testing::TempFolder;

CacheOptions on(const std::string& dir) {
  CacheOptions options;
  options.dir = dir;
  return options;
}

Binary never() { throw std::logic_error("must not be made"); }

TEST(Cache, MakesThenHitsMemoryThenDisk) {
  const TempFolder folder;
  Cache cache(on(folder.path()));
  bool hit = true;
  EXPECT_EQ(cache.find(sample_key()), nullptr);
  const auto made = cache.get_or_make(
      sample_key(), [] { return sample_binary(); }, &hit);
  EXPECT_FALSE(hit);
  EXPECT_EQ(cache.get_or_make(sample_key(), never, &hit), made);
  EXPECT_TRUE(hit);
  Cache second(on(folder.path()));
  expect_equal(*second.get_or_make(sample_key(), never, &hit), sample_binary());
  EXPECT_TRUE(hit);
  EXPECT_TRUE(testing::files_ending(folder.path(), ".lock").empty());
}

TEST(Cache, WithoutDisk) {
  const TempFolder folder;
  CacheOptions options = on(folder.path());
  options.disk = false;
  Cache cache(options);
  const auto made = cache.get_or_make(sample_key(), [] { return sample_binary(); });
  EXPECT_EQ(cache.get_or_make(sample_key(), never), made);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Cache, FailureToMakeIsPassedOnAndNotKept) {
  const TempFolder folder;
  Cache cache(on(folder.path()));
  const auto fail = []() -> Binary { throw std::runtime_error("no"); };
  EXPECT_THROW(cache.get_or_make(sample_key(), fail), std::runtime_error);
  EXPECT_TRUE(testing::files_ending(folder.path(), ".lock").empty());
  EXPECT_NE(cache.get_or_make(sample_key(), [] { return sample_binary(); }), nullptr);
}

TEST(Cache, ReadOnlyLayersAreSearchedInOrder) {
  const TempFolder low;
  const TempFolder high;
  const TempFolder writable;
  Cache(on(low.path())).get_or_make(sample_key(0), [] { return sample_binary(7); });
  Cache(on(low.path())).get_or_make(sample_key(1), [] { return sample_binary(1); });
  Cache(on(high.path())).get_or_make(sample_key(0), [] { return sample_binary(0); });
  CacheOptions options = on(writable.path());
  options.read_only_roots = {high.path(), low.path()};
  Cache cache(options);
  expect_equal(*cache.get_or_make(sample_key(0), never), sample_binary(0));
  expect_equal(*cache.get_or_make(sample_key(1), never), sample_binary(1));
  EXPECT_TRUE(std::filesystem::is_empty(writable.path()));
}

TEST(Cache, AnyCompilerOverAllRoots) {
  const TempFolder layer;
  const TempFolder writable;
  CacheKey key = sample_key();
  Binary binary = sample_binary();
  const auto make = [&] { return binary; };
  key.compiler = binary.compiler = "nvrtc 13.0";
  Cache(on(layer.path())).get_or_make(key, make);
  key.compiler = binary.compiler = "nvrtc 12.9";
  Cache(on(writable.path())).get_or_make(key, make);
  CacheOptions options = on(writable.path());
  options.read_only_roots = {layer.path()};
  Cache cache(options);
  EXPECT_EQ(cache.find_any_compiler(sample_key())->compiler, "nvrtc 13.0");
  EXPECT_EQ(cache.find_any_compiler(sample_key()), cache.find_any_compiler(key)) << "in memory";
  EXPECT_EQ(cache.find_any_compiler(sample_key(1)), nullptr);
}

TEST(Cache, RemakeReplacesWhatWasRefused) {
  const TempFolder folder;
  Cache cache(on(folder.path()));
  const auto bad = cache.get_or_make(sample_key(), [] { return sample_binary(1); });
  const auto good = cache.remake(sample_key(), bad, [] { return sample_binary(0); });
  expect_equal(*good, sample_binary(0));
  EXPECT_EQ(cache.remake(sample_key(), bad, never), good) << "another thread did it already";
  EXPECT_EQ(cache.get_or_make(sample_key(), never), good);
  expect_equal(*Cache(on(folder.path())).get_or_make(sample_key(), never), sample_binary(0));
}

TEST(Cache, ClearForgetsEverything) {
  const TempFolder folder;
  Cache cache(on(folder.path()));
  cache.get_or_make(sample_key(), [] { return sample_binary(); });
  EXPECT_EQ(cache.clear(), 1U);
  EXPECT_EQ(cache.find(sample_key()), nullptr);
}

// Without a disk nothing but SingleFlight keeps the threads apart.
void expect_threads_make_once(bool disk) {
  const TempFolder folder;
  CacheOptions options = on(folder.path());
  options.disk = disk;
  Cache cache(options);
  constexpr int kKeys = 4;
  std::atomic<int> made{0};
  std::atomic<int> misses{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kKeys; ++i) {
        const int number = (i + t) % kKeys;
        bool hit = false;
        const auto make = [&] {
          ++made;
          for (int n = 0; n < 1000; ++n) std::this_thread::yield();  // let the others come
          return sample_binary(number);
        };
        expect_equal(*cache.get_or_make(sample_key(number), make, &hit), sample_binary(number));
        misses += hit ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, kKeys);
  EXPECT_EQ(misses, kKeys);
}

TEST(Cache, ThreadsMakeOnce) { expect_threads_make_once(true); }
TEST(Cache, ThreadsMakeOnceWithoutDisk) { expect_threads_make_once(false); }

TEST(Cache, ThreadsGetClearAndEvictTogether) {
  const int threads_in_all = testing::rounds(8, 32);
  const int calls = testing::rounds(50, 1'000);  // of each
  const TempFolder folder;
  CacheOptions options = on(folder.path());
  options.max_bytes = 2000;  // some of the seven entries
  Cache cache(options);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < threads_in_all; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < calls; ++i) {
        const int number = (i * 5 + t) % 7;
        const auto make = [&] { return sample_binary(number); };
        const auto got = cache.get_or_make(sample_key(number), make);
        if (got->cubin != sample_binary(number).cubin) ++wrong;
        if (i % 10 == t % 10) cache.clear();
        if (i % 16 == t % 16) cache.disk()->tidy();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  testing::tell_figure("threads",
                       fmt::format("{} threads of {} calls each, 0 wrong", threads_in_all, calls));
}

TEST(Cache, EveryThreadSeesTheFailure) {
  Cache cache([] {
    CacheOptions options;
    options.disk = false;
    return options;
  }());
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      try {
        cache.get_or_make(sample_key(), []() -> Binary { throw std::runtime_error("no"); });
      } catch (const std::runtime_error&) {
        ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 8);
}

}  // namespace
}  // namespace heddle
