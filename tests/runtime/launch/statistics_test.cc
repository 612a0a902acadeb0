// What a process counts of its kernels, on the fake driver.
#include "heddle/statistics.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "runtime/statistics_file.h"
#include "tests/runtime/fake_device.h"

namespace heddle {
namespace {

using testing::code_of;
using testing::dequantize_args;
using testing::dequantize_spec;
using testing::EngineContext;
using testing::EngineStream;

class StatisticsTest : public testing::FakeDevice {
 protected:
  void SetUp() override {
    FakeDevice::SetUp();
    before_ = statistics();
  }
  std::uint64_t launches_of(const std::string& kernel) {
    return statistics().launches[kernel] - before_.launches[kernel];
  }

  Statistics before_;  // other tests of this process count, too
};

Environment stats_in(const std::string& path) {
  return [path](const char* name) {
    return std::string_view(name) == "HEDDLE_STATS" ? path.c_str() : nullptr;
  };
}

TEST_F(StatisticsTest, CountWhatIsCompiledFoundAndLoaded) {
  const EngineContext context;
  for (int i = 0; i < 2; ++i) Runtime(options_).kernel(dequantize_spec(96));
  const Statistics now = statistics();
  EXPECT_EQ(now.cache_misses - before_.cache_misses, 1U);
  EXPECT_EQ(now.cache_hits - before_.cache_hits, 1U);
  EXPECT_EQ(now.compilations - before_.compilations, 1U);
  EXPECT_GT(now.compile_seconds, before_.compile_seconds);
  EXPECT_EQ(now.kernels_loaded - before_.kernels_loaded, 2U);
}

TEST_F(StatisticsTest, CountLaunchesOfEveryThread) {
  Runtime runtime(options_);
  const EngineContext context;
  const auto kernel = runtime.kernel<DequantizeKernel>(dequantize_spec());
  const std::string& name = kernel.plan().kernels[0].name;
  EXPECT_EQ(launches_of(name), 0U);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const EngineContext own;
      const EngineStream stream;
      for (int i = 0; i < 25; ++i) kernel.launch(dequantize_args(), stream.get());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(launches_of(name), 100U);
}

TEST_F(StatisticsTest, ALaunchThatFailsCountsNothing) {
  Runtime runtime(options_);
  const EngineContext context;
  const auto kernel = runtime.kernel<DequantizeKernel>(dequantize_spec());
  fake::state().failures["cuLaunchKernelEx"] = {1, 0, -1};
  EXPECT_NE(code_of([&] { kernel.launch(dequantize_args(), nullptr); }), "");
  EXPECT_EQ(launches_of(kernel.plan().kernels[0].name), 0U);
}

TEST_F(StatisticsTest, AsJson) {
  Statistics some;
  some.cache_hits = 3;
  some.compile_seconds = 1.5;
  some.launches = {{"a", 7}};
  EXPECT_EQ(nlohmann::json::parse(statistics_to_json(some)),
            nlohmann::json::parse(R"({"cache_hits": 3, "cache_misses": 0, "compilations": 0,
              "compile_seconds": 1.5, "kernels_loaded": 0, "launches": {"a": 7}})"));
}

TEST(StatisticsFileTest, APlaceThatCannotBeWrittenIsRefusedAtTheStart) {
  const TemporaryFolder folder;
  const std::string below = folder.write("file", "") + "/stats.json";
  std::string what;
  EXPECT_EQ(code_of([&] { write_statistics_at_exit(stats_in(below)); }, &what),
            "statistics.unwritable");
  EXPECT_NE(what.find("HEDDLE_STATS"), std::string::npos);
  write_statistics_at_exit(stats_in(""));
  write_statistics_at_exit([](const char*) { return nullptr; });
}

// A child that does nothing with Heddle does not write over what its parent counts.
TEST(StatisticsFileTest, OnlyTheProcessThatAskedWrites) {
  const TemporaryFolder folder;
  const std::string path = folder / "stats.json";
  const auto in_child = [](const auto& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      work();
      std::exit(0);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  };
  in_child([&] {
    write_statistics_at_exit(stats_in(path));
    if (::unlink(path.c_str()) != 0) std::_Exit(1);
  });
  EXPECT_TRUE(std::ifstream(path).good()) << "written at the exit";
  in_child([&] {
    write_statistics_at_exit(stats_in(path));
    if (::unlink(path.c_str()) != 0) std::_Exit(1);
    if (::fork() == 0) std::exit(0);
    int status = 0;
    ::wait(&status);
    if (std::ifstream(path).good()) std::_Exit(2);
  });
}

}  // namespace
}  // namespace heddle
