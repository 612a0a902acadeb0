#include "cache/append_log.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "faulty_file_system.h"
#include "test_util.h"

namespace heddle {
namespace {

using testing::TempFolder;

std::string text_of(const std::string& path) {
  const Bytes bytes = testing::read_bytes(path);
  return std::string(as_text(bytes));
}

TEST(AppendLog, AddsEachLineOnce) {
  const TempFolder folder;
  AppendLog log(folder / "log", {});
  for (const char* line : {"a", "b", "a"}) log.add(line);
  EXPECT_EQ(text_of(folder / "log"), "a\nb\n");
  AppendLog(folder / "log", {}).add("a");
  EXPECT_EQ(text_of(folder / "log"), "a\nb\na\n") << "another process knows nothing of the first";
}

TEST(AppendLog, WithoutAPathItDoesNothing) {
  AppendLog log("", [](const std::string& why) { ADD_FAILURE() << why; });
  log.add("a");
}

TEST(AppendLog, LinesOfManyWritersStayWhole) {
  const TempFolder folder;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      AppendLog log(folder / "log", {});
      for (int i = 0; i < 50; ++i)
        log.add(std::string(200, static_cast<char>('a' + t)) + fmt::format(" {}", i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = text_of(folder / "log");
  int lines = 0;
  for (std::size_t begin = 0; begin < text.size(); ++lines) {
    const std::size_t end = text.find('\n', begin);
    ASSERT_EQ(text.find_first_not_of(text[begin], begin), begin + 200);
    begin = end + 1;
  }
  EXPECT_EQ(lines, 200);
}

TEST(AppendLog, OtherTextsAreLeftAsTheyAre) {
  for (const std::string there : {"{}", "b", "\n c"}) {
    const TempFolder folder;
    std::ofstream(folder / "log") << there;
    std::vector<std::string> warnings;
    AppendLog log(
        folder / "log", [&](const std::string& why) { warnings.push_back(why); }, "{a");
    log.add("{a}");
    EXPECT_EQ(text_of(folder / "log"), there);
    EXPECT_EQ(warnings.size(), 1U) << there;
  }
  for (const std::string there : {"", "\n", " {a 1}\n"}) {
    const TempFolder folder;
    std::ofstream(folder / "log") << there;
    AppendLog(folder / "log", {}, "{a").add("{a}");
    EXPECT_EQ(text_of(folder / "log"), there + "{a}\n");
  }
}

TEST(AppendLog, TroubleIsToldOnce) {
  for (const std::string failing : {"open", "write", "close"}) {
    const TempFolder folder;
    testing::FaultyFileSystem files;
    files.fault = [&](const std::string& call, int) { return call == failing ? ENOSPC : 0; };
    std::vector<std::string> warnings;
    AppendLog log(
        folder / "log", [&](const std::string& why) { warnings.push_back(why); }, "", files);
    log.add("a");
    log.add("b");
    ASSERT_EQ(warnings.size(), 1U) << failing;
    EXPECT_NE(warnings[0].find("No space left"), std::string::npos);
    EXPECT_TRUE(files.open_files.empty());
  }
}

}  // namespace
}  // namespace heddle
