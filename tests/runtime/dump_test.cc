#include "runtime/dump.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "heddle/error.h"
#include "heddle/runtime.h"
#include "tests/temporary_folder.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

Environment dump_to(const std::string& folder) {
  return [folder](const char* name) {
    return std::string_view(name) == "HEDDLE_DUMP" ? folder.c_str() : nullptr;
  };
}

Source unplanned_source() {
  Source source;
  source.kernel_name = "some_kernel";
  source.text = "extern \"C\" __global__ void some_kernel() {}\n";
  source.arch = "sm_80";
  return source;
}

Binary small_binary() {
  Binary binary;
  binary.compiler = "nvrtc 13.0";
  binary.cubin = {0x7F, 'E', 'L', 'F'};
  return binary;
}

// By path below the folder.
std::map<std::string, std::string> files_below(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files[fs::relative(entry.path(), folder).string()] =
        std::string(std::istreambuf_iterator<char>(file), {});
  }
  return files;
}

TEST(DumpTest, WithoutTheVariableNothingIsWritten) {
  const TemporaryFolder folder;
  Dump([](const char*) { return nullptr; }).write(unplanned_source(), small_binary());
  Dump(dump_to("")).write(unplanned_source(), small_binary());
  EXPECT_TRUE(files_below(folder / "").empty());
}

TEST(DumpTest, ASourceWithoutAPlanHasTextAndCode) {
  const TemporaryFolder folder;
  Dump dump(dump_to(folder / "new/dump"));
  dump.write(unplanned_source(), small_binary());
  const auto files = files_below(folder / "new/dump");
  ASSERT_EQ(files.size(), 2U);
  for (const auto& [path, content] : files) {
    EXPECT_EQ(path.rfind("some_kernel_", 0), 0U);
    EXPECT_EQ(content, path.ends_with("/kernel.cu") ? unplanned_source().text : "\x7F\x45LF");
  }
}

TEST(DumpTest, CompilersAndArchitecturesAreApart) {
  const TemporaryFolder folder;
  Dump dump(dump_to(folder / "dump"));
  Source source = unplanned_source();
  Binary binary = small_binary();
  dump.write(source, binary);
  binary.compiler = "nvrtc 13.1";
  dump.write(source, binary);
  source.arch = "sm_90a";
  dump.write(source, binary);
  EXPECT_EQ(files_below(folder / "dump").size(), 6U);
}

TEST(DumpTest, WhatFailedIsTriedAgain) {
  const TemporaryFolder folder;
  const std::string place = folder.write("place", "a file");
  Dump dump(dump_to(place));
  for (int i = 0; i < 2; ++i) {
    try {
      dump.write(unplanned_source(), small_binary());
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "dump.unwritable");
      EXPECT_NE(std::string(error.what()).find("HEDDLE_DUMP"), std::string::npos);
    }
  }
  fs::remove(place);
  dump.write(unplanned_source(), small_binary());
  EXPECT_EQ(files_below(place).size(), 2U);
}

}  // namespace
}  // namespace heddle
