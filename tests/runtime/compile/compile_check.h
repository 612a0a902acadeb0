// For the tests that compile kernels.
#ifndef HEDDLE_TESTS_RUNTIME_COMPILE_COMPILE_CHECK_H_
#define HEDDLE_TESTS_RUNTIME_COMPILE_COMPILE_CHECK_H_

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "generator/planner/choose.h"
#include "heddle/inspect/binary.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "tests/every_kernel.h"
#include "tests/shared_runtime.h"

namespace heddle {

// Unless every_kernel(), architectures take turns with the kernels of a list: one of 80, 90 and 120
// compiles each; 75, which has no BF16, a quarter of them besides.
inline bool has_turn(std::size_t number, int arch) {
  if (every_kernel()) return true;
  if (arch < 80) return (number + number / 4) % 4 == 0;
  // Shifted from round to round, or a list whose entries come in threes would be split by their
  // place in these.
  const std::size_t turn = arch < 90 ? 0 : arch < 120 ? 1 : 2;
  return (number + number / 3) % 3 == turn;
}

// One kernel of a plan in `turns`, beginning with number `first` modulo that.
inline void add_in_turns(const Plan& plan, std::size_t turns, std::size_t first,
                         std::vector<Source>* sources) {
  if (every_kernel()) turns = 1;
  turns = std::min(turns, plan.kernel_count());
  for (std::size_t i = first % turns; i < plan.kernel_count(); i += turns) {
    sources->push_back(render(plan, i));
  }
}

// The kernels of a plan; of sm_90, which has the most for each, a third.
inline void add_kernels(const Plan& plan, std::size_t first, std::vector<Source>* sources) {
  if (plan.target.arch() == 90) return add_in_turns(plan, 3, first, sources);
  for (Source& source : render_all(plan)) sources->push_back(std::move(source));
}

// The architectures of the compiler that Heddle has kernels for.
inline std::vector<int> compiled_archs() {
  std::vector<int> archs;
  for (const int arch : runtime().compiler_archs()) {
    if (arch >= 75) archs.push_back(arch);
  }
  return archs;
}

// The candidate's kernel. Kernels of one build differ in their names.
inline Source candidate_source(Plan plan, const Candidate& one, std::size_t number) {
  const std::string name = fmt::format("{}_{}", plan.kernels.front().name, number);
  plan.kernels = {planned_kernel(plan, one.kernel, name)};
  return render(plan, 0);
}

// Each compiles, fits the target's register file and shared memory, and spills nothing.
inline void expect_no_spills(const std::vector<Source>& sources, const Target& target,
                             Runtime& compiler = runtime()) {
  ASSERT_FALSE(sources.empty()) << "nothing to compile for " << target.name;
  int most_registers = 0;
  for (const BuildResult& result : compiler.build(sources)) {
    const Binary& binary = *result.binary;
    EXPECT_EQ(binary.spill_bytes, 0) << result.kernel_name << " on " << target.name;
    EXPECT_EQ(binary.local_bytes, 0) << result.kernel_name << " on " << target.name;
    EXPECT_LE(binary.registers * binary.threads, target.registers_per_sm) << result.kernel_name;
    EXPECT_LE(binary.static_shared_bytes + binary.dynamic_shared_bytes, target.shared_per_block);
    EXPECT_FALSE(binary.cubin.empty());
    most_registers = std::max(most_registers, binary.registers);
  }
  std::printf("%s: %zu kernels, at most %d registers\n", target.name.c_str(), sources.size(),
              most_registers);
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_RUNTIME_COMPILE_COMPILE_CHECK_H_
