// The text of every decode plan compiles, to the instructions of the plan and no others. Needs
// NVRTC, not a GPU.
#include "tests/decode_kernels/decode_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string_view>

#include "generator/decode/decode_plan.h"
#include "heddle/inspect/binary.h"
#include "heddle/runtime.h"
#include "runtime/compile/ptx_summary.h"
#include "tests/memory_only.h"

namespace heddle {
namespace {

// The part of a translation unit's PTX that is the kernel's.
std::string_view ptx_of(std::string_view ptx, const std::string& entry) {
  const std::size_t begin = ptx.find(".entry " + entry + "(");
  if (begin == std::string_view::npos) return {};
  return ptx.substr(begin, ptx.find(".entry ", begin + 1) - begin);
}

// Operations of these kinds in a run, those on zero points included.
int operations(const DecodeKernel& kernel, const std::set<DecodeOpcode>& kinds) {
  int number = 0;
  for (const auto* ops : {&kernel.plan.ops, &kernel.plan.group_ops}) {
    for (const DecodeOp& op : *ops) number += kinds.contains(op.opcode) ? 1 : 0;
  }
  return number * kernel.units_per_run();
}

int occurrences(std::string_view text, std::string_view of) {
  int number = 0;
  for (std::size_t at = text.find(of); at != text.npos; at = text.find(of, at + 1)) ++number;
  return number;
}

// sub, fma and mul, all of them alike: BF16 has only fma before sm_90. What an fma subtracts is
// negated by an instruction of PTX, but not of the GPU, whose fma has a sign for it.
int pair_arithmetic(std::string_view ptx) {
  return occurrences(ptx, "f16x2 ") - occurrences(ptx, "neg.f16x2 ") -
         occurrences(ptx, "neg.bf16x2 ");
}

class DecodeKernelsOn : public testing::TestWithParam<const char*> {};

TEST_P(DecodeKernelsOn, CompileToTheInstructionsOfThePlan) {
  const DecodeKernels all = every_decode_kernel(GetParam());
  const std::vector<BuildResult> results = Runtime(memory_only()).build(all.sources);
  int checked = 0;
  double slowest_ms = 0;
  for (const BuildResult& result : results) slowest_ms = std::max(slowest_ms, result.ms);
  for (const DecodeKernel& kernel : all.kernels) {
    const std::string_view ptx = ptx_of(results[kernel.source].binary->ptx, kernel.entry);
    ASSERT_FALSE(ptx.empty()) << kernel.plan_name;
    EXPECT_EQ(ptx.find(".local"), std::string_view::npos) << kernel.plan_name;
    const std::map<std::string, int> counts = summarize_ptx(ptx).counts;
    using enum DecodeOpcode;
    EXPECT_EQ(counts.at("lop3"), operations(kernel, {kLop3})) << kernel.plan_name;
    EXPECT_EQ(counts.at("prmt"), operations(kernel, {kPrmt, kLookup, kSelect})) << kernel.plan_name;
    EXPECT_EQ(pair_arithmetic(ptx), operations(kernel, {kSub, kFma, kMulAdd, kMul, kScale}))
        << kernel.plan_name;
    checked +=
        operations(kernel, {kLop3, kPrmt, kLookup, kSelect, kSub, kFma, kMulAdd, kMul, kScale});
  }
  EXPECT_GT(checked, 1000);
  std::printf("%s: %zu plans, %d instructions; %zu translation units, the slowest in %.0f ms\n",
              GetParam(), all.kernels.size(), checked, all.sources.size(), slowest_ms);
}

INSTANTIATE_TEST_SUITE_P(Archs, DecodeKernelsOn, testing::Values("sm_80", "sm_90a"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace heddle
