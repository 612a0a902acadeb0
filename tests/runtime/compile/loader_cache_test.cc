#include "runtime/compile/loader_cache.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>

namespace heddle {
namespace {

void append(std::string& bytes, std::uint32_t value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A cache of two libraries in glibc's format: header, entries of 24 bytes, strings.
std::string cache_of_two() {
  const std::string strings("liba.so.1\0/lib/liba.so.1\0libb.so\0/opt/libb.so\0", 46);
  std::string bytes = "glibc-ld.so.cache1.1";
  append(bytes, 2);
  append(bytes, static_cast<std::uint32_t>(strings.size()));
  for (int i = 0; i < 5; ++i) append(bytes, 0);
  const std::uint32_t base = 48 + 2 * 24;
  for (const auto& [name, path] : {std::pair{0U, 10U}, {25U, 33U}}) {
    for (const std::uint32_t word : {0x303U, base + name, base + path, 0U, 0U, 0U}) {
      append(bytes, word);
    }
  }
  return bytes + strings;
}

TEST(LoaderCacheTest, FindsPathsByPrefix) {
  EXPECT_EQ(paths_in_loader_cache(cache_of_two(), "liba"),
            std::vector<std::string>{"/lib/liba.so.1"});
  EXPECT_EQ(paths_in_loader_cache(cache_of_two(), "libb.so"),
            std::vector<std::string>{"/opt/libb.so"});
  EXPECT_EQ(paths_in_loader_cache(cache_of_two(), "lib").size(), 2U);
}

TEST(LoaderCacheTest, SurvivesTruncationAndGarbage) {
  const std::string good = cache_of_two();
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_LE(paths_in_loader_cache(good.substr(0, size), "lib").size(), 2U);
  }
  EXPECT_TRUE(paths_in_loader_cache("", "lib").empty());
  EXPECT_TRUE(paths_in_loader_cache(std::string(500, 'x'), "lib").empty());
}

// Shows that the format is the one that this machine's loader really has.
TEST(LoaderCacheTest, ReadsTheCacheOfThisMachine) {
  std::ifstream file("/etc/ld.so.cache", std::ios::binary);
  const std::string cache(std::istreambuf_iterator<char>(file), {});
  if (cache.empty()) GTEST_SKIP() << "no /etc/ld.so.cache";
  EXPECT_FALSE(paths_in_loader_cache(cache, "libc.so").empty());
}

}  // namespace
}  // namespace heddle
