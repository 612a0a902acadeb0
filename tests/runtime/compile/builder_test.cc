#include "runtime/compile/builder.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "heddle/error.h"
#include "tests/temporary_folder.h"

namespace heddle {
namespace {

Source source_with_body(const std::string& name, const std::string& body) {
  Source source;
  source.kernel_name = name;
  source.file_name = name + ".cu";
  source.text = fmt::format("extern \"C\" __global__ void {}(int* x) {{ {} }}\n", name, body);
  source.arch = "sm_80";
  source.threads = 32;
  return source;
}

std::vector<Source> numbered_sources(int count) {
  std::vector<Source> sources;
  for (int i = 0; i < count; ++i) {
    sources.push_back(source_with_body(fmt::format("k{}", i), fmt::format("x[0] = {};", i)));
  }
  return sources;
}

class BuilderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      Nvrtc().identity();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    options_.disk_cache = false;
    options_.jobs = 3;
  }
  RuntimeOptions options_;
};

TEST_F(BuilderTest, ResultsAreInTheOrderOfTheSourcesAndASecondBuildIsAllHits) {
  Runtime runtime(options_);
  const std::vector<Source> sources = numbered_sources(5);
  const std::vector<BuildResult> built = runtime.build(sources);
  ASSERT_EQ(built.size(), sources.size());
  for (std::size_t i = 0; i < built.size(); ++i) {
    EXPECT_EQ(built[i].kernel_name, sources[i].kernel_name);
    EXPECT_EQ(built[i].binary->kernel_name, sources[i].kernel_name);
    EXPECT_FALSE(built[i].hit);
    EXPECT_FALSE(built[i].key.empty());
  }
  const std::vector<BuildResult> again = runtime.build(sources);
  for (std::size_t i = 0; i < again.size(); ++i) {
    EXPECT_TRUE(again[i].hit);
    EXPECT_EQ(again[i].key, built[i].key);
    EXPECT_EQ(again[i].binary->cubin, built[i].binary->cubin);
  }
}

TEST_F(BuilderTest, IdenticalSourcesInOneCallAreCompiledOnce) {
  int compilations = 0;
  options_.log = [&](LogLevel level, std::string_view text) {
    if (level == LogLevel::kInfo && text.rfind("compiled ", 0) == 0) ++compilations;
  };
  Runtime runtime(options_);
  const std::vector<Source> same(4, numbered_sources(1).front());
  const std::vector<BuildResult> built = runtime.build(same);
  EXPECT_EQ(compilations, 1);
  EXPECT_EQ(std::count_if(built.begin(), built.end(), [](const auto& r) { return r.hit; }), 3);
}

TEST_F(BuilderTest, ProgressCountsUpToTheTotal) {
  Runtime runtime(options_);
  std::vector<std::size_t> counts;
  runtime.build(numbered_sources(4),
                [&](const BuildResult& result, std::size_t done, std::size_t total) {
                  EXPECT_NE(result.binary, nullptr);
                  EXPECT_EQ(total, 4U);
                  counts.push_back(done);
                });
  EXPECT_EQ(counts, (std::vector<std::size_t>{1, 2, 3, 4}));
}

TEST_F(BuilderTest, ThrowsTheFirstFailureAfterTheOthersHaveEnded) {
  Runtime runtime(options_);
  std::vector<Source> sources = numbered_sources(5);
  sources[1] = source_with_body("bad_one", "one_error");
  sources[3] = source_with_body("bad_two", "another_error");
  std::size_t ready = 0;
  try {
    runtime.build(sources, [&](const BuildResult&, std::size_t, std::size_t) { ++ready; });
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kCompile);
    EXPECT_NE(error.log().find("one_error"), std::string::npos) << error.log();
  }
  EXPECT_EQ(ready, 3U);
}

TEST_F(BuilderTest, AnEnvironmentThatLeadsNowhereIsNamed) {
  const ScopedEnvironment environment("HEDDLE_NVRTC", "/nonexistent/nvrtc");
  Runtime runtime(options_);
  try {
    runtime.build(numbered_sources(1));
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kDriver);
    EXPECT_EQ(error.code(), "nvrtc.environment");
    EXPECT_NE(std::string(error.what()).find("/nonexistent/nvrtc"), std::string::npos);
  }
}

TEST_F(BuilderTest, CompilerFactsAreThoseOfTheKeys) {
  Runtime runtime(options_);
  const std::vector<int> archs = runtime.compiler_archs();
  EXPECT_TRUE(std::is_sorted(archs.begin(), archs.end()));
  EXPECT_NE(std::find(archs.begin(), archs.end(), 80), archs.end());
  EXPECT_EQ(runtime.build(numbered_sources(1))[0].binary->compiler, runtime.compiler_identity());
}

}  // namespace
}  // namespace heddle
