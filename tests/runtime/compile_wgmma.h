// Kernels with wgmma compile without spills, and the assembler has nothing to say.
#ifndef HEDDLE_TESTS_RUNTIME_COMPILE_WGMMA_H_
#define HEDDLE_TESTS_RUNTIME_COMPILE_WGMMA_H_

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "generator/render/source_list.h"
#include "tests/planned_kernel.h"
#include "tests/runtime/compile/compile_check.h"

namespace heddle {

// The plan's first kernel, which this changes.
inline WarpgroupKernel config_of_first(const Plan& plan) {
  return config_of<WarpgroupKernel>(plan.kernels.front());
}
inline Source render_with(Plan& plan, WarpgroupKernel config) {
  config.settle();
  plan.kernels[0] = with_config(plan, plan.kernels[0], config);
  return render(plan, 0);
}

// Tokens and rows of every tile with at most so many sums.
inline std::vector<std::pair<int, int>> every_tile(int most = 128 * 256) {
  std::vector<std::pair<int, int>> tiles;
  for (const int m : {16, 32, 64, 96, 128, 160, 192, 256}) {
    for (const int n : {64, 128, 256}) {
      const bool shares_rows = m >= 32 && m <= 128;  // warpgroups share no others
      if (m * n <= most && (n != 64 || shares_rows)) tiles.emplace_back(m, n);
    }
  }
  return tiles;
}

class CompileWgmma : public testing::Test {
 protected:
  // Kernels of several ranges of M may be one text, which is compiled once.
  void check(const std::vector<Source>& all) {
    SourceList list;
    for (const Source& source : all) list.add(source);
    const std::vector<Source>& sources = list.sources();
    std::printf("%zu texts of %zu kernels\n", sources.size(), all.size());
    RuntimeOptions options = memory_only();
    options.log = [this](LogLevel level, std::string_view text) {
      if (level >= LogLevel::kWarning) warnings_ += text;
    };
    Runtime runtime(options);
    const std::vector<BuildResult> results = runtime.build(sources);
    ASSERT_EQ(results.size(), sources.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      const BuildResult& result = results[i];
      const std::string& ptx = result.binary->ptx.str();
      EXPECT_EQ(result.binary->spill_bytes, 0) << result.kernel_name;
      EXPECT_EQ(result.binary->local_bytes, 0) << result.kernel_name;
      const bool four = sources[i].text.find("/*warpgroups=*/4,") != std::string::npos;
      EXPECT_EQ(result.binary->threads, four ? 640 : 384) << result.kernel_name;
      EXPECT_NE(ptx.find("wgmma.mma_async"), std::string::npos) << result.kernel_name;
    }
    EXPECT_EQ(warnings_, "");
  }

  // Kernels of a spec that sets its tile; where a tile of 128 rows has many tokens, also the one
  // whose blocks read tokens once.
  static void add_tile(const GemmSpec& spec, int turn, std::vector<Source>* sources) {
    Plan plan = resolve(Spec::from_gemm(spec), target_from_name("h200"));
    add_in_turns(plan, 2, turn, sources);
    if (spec.tile.n != 128 || spec.tile.m <= 128) return;
    WarpgroupKernel c = config_of_first(plan);
    wgmma_share_tokens(2, c);
    sources->push_back(render_with(plan, c));
  }

 private:
  std::string warnings_;
};

}  // namespace heddle

#endif  // HEDDLE_TESTS_RUNTIME_COMPILE_WGMMA_H_
