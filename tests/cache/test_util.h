// Helpers of the cache's tests: a folder that goes away, sample data, a file system that fails.
#ifndef HEDDLE_TESTS_CACHE_TEST_UTIL_H_
#define HEDDLE_TESTS_CACHE_TEST_UTIL_H_

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "cache/bytes.h"
#include "cache/disk_cache.h"
#include "cache/key.h"
#include "heddle/inspect/binary.h"

namespace heddle::testing {

class TempFolder {
 public:
  TempFolder() : path_(::testing::TempDir() + "heddle-cache-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline CacheKey sample_key(int number = 0) {
  return {fmt::format("extern \"C\" __global__ void k{}() {{}}", number),
          "k.cu",
          fmt::format("k{}", number),
          "sm_90a",
          "-std=c++17",
          "nvrtc 13.0 aa bb"};
}

inline Binary sample_binary(int number = 0, std::size_t cubin_bytes = 40) {
  Binary binary;
  binary.kernel_name = fmt::format("k{}", number);
  binary.arch = "sm_90a";
  binary.compiler = "nvrtc 13.0 aa bb";
  std::minstd_rand random(static_cast<unsigned>(number) + 1);  // so that it does not compress
  for (std::size_t i = 0; i < cubin_bytes; ++i) {
    binary.cubin.push_back(static_cast<std::uint8_t>(random() >> 8));
  }
  binary.ptx = ".version 9.0";
  binary.registers = 128;
  binary.spill_bytes = 4;
  binary.local_bytes = -1;
  binary.static_shared_bytes = 16;
  binary.dynamic_shared_bytes = 232448;
  binary.threads = 256;
  binary.compile_ms = 123.25;
  return binary;
}

inline void expect_equal(const Binary& a, const Binary& b) {
  EXPECT_EQ(a.kernel_name, b.kernel_name);
  EXPECT_EQ(a.arch, b.arch);
  EXPECT_EQ(a.compiler, b.compiler);
  EXPECT_EQ(a.cubin, b.cubin);
  EXPECT_EQ(a.ptx, b.ptx);
  EXPECT_EQ(a.registers, b.registers);
  EXPECT_EQ(a.spill_bytes, b.spill_bytes);
  EXPECT_EQ(a.local_bytes, b.local_bytes);
  EXPECT_EQ(a.static_shared_bytes, b.static_shared_bytes);
  EXPECT_EQ(a.dynamic_shared_bytes, b.dynamic_shared_bytes);
  EXPECT_EQ(a.threads, b.threads);
  EXPECT_EQ(a.compile_ms, b.compile_ms);
}

inline std::string entry_path(const std::string& root, const CacheKey& key) {
  const std::string id = key.id();
  return root + "/v1/" + id.substr(0, 2) + "/" + id + ".hdl";
}

inline Bytes read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void write_bytes(const std::string& path, ByteView bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << as_text(bytes);
}

// Little-endian, as the formats have their numbers.
inline void put_u64(Bytes* bytes, std::size_t at, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) (*bytes)[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

// Every regular file below `root` whose name ends so.
inline std::vector<std::string> files_ending(const std::string& root, const std::string& suffix) {
  std::vector<std::string> found;
  if (!std::filesystem::exists(root)) return found;
  for (const auto& item : std::filesystem::recursive_directory_iterator(root)) {
    if (item.is_regular_file() && item.path().string().ends_with(suffix)) {
      found.push_back(item.path().string());
    }
  }
  return found;
}

inline std::uint64_t entry_bytes(const std::string& root) {
  std::uint64_t total = 0;
  for (const std::string& path : files_ending(root, ".hdl")) {
    total += std::filesystem::file_size(path);
  }
  return total;
}

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_CACHE_TEST_UTIL_H_
