// decode_attention on the CPU: a case's kernel, launched on a problem, against FP64.
#ifndef HEDDLE_TESTS_EMULATOR_ATTENTION_FIXTURE_H_
#define HEDDLE_TESTS_EMULATOR_ATTENTION_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "decode_attention/config.h"
#include "runtime/launch/decode_attention_launch.h"
#include "tests/emulator/machine.h"
#include "tools/gpu_harness/operations/decode_attention/problem.h"

namespace heddle {

// The parameter is a case's place in attention_cases().
class EmulatedAttention : public testing::TestWithParam<std::size_t> {
 protected:
  EmulatedAttention();

  // Thread blocks, and how many of them a cluster has; 0 blocks: as the plan says.
  struct Grid {
    int blocks = 0;
    int cluster = 1;
  };
  // In several interleavings, with the same bits each time.
  void launch(const std::vector<std::int32_t>& lengths, const std::vector<Grid>& grids,
              bool same_lengths = false);
  // The output of one launch, element after element.
  std::vector<double> output_of(const AttentionProblem& problem) const;
  void expect_close(const std::vector<double>& out, const std::vector<double>& expected) const;

  const DecodeAttentionSpec& spec() const { return spec_; }
  int most_blocks() const { return plan_.target.sm_count * kernel().blocks_per_sm; }
  // Whether blocks have shared an item.
  bool merged() const { return merged_; }
  int page() const { return std::max(2, spec_.kv.page_size); }

 private:
  const PlannedKernel& kernel() const { return plan_.kernels.front(); }
  Grid planned_grid(const DecodeAttentionArgs& args) const;
  DecodeAttentionArgs arguments(const AttentionProblem& problem, emulator::GlobalMemory& memory,
                                bool same_lengths = false) const;
  void run(Grid grid, unsigned seed, const AttentionParameters& parameters,
           const emulator::GlobalMemory& memory) const;
  std::size_t counter_bytes() const;
  std::size_t log_sum_bytes(const AttentionProblem& problem) const;
  void clear(const DecodeAttentionArgs& args, const AttentionProblem& problem) const;
  std::vector<double> outputs(const DecodeAttentionArgs& args, std::size_t count) const;
  std::vector<std::uint8_t> results(const DecodeAttentionArgs& args,
                                    const AttentionProblem& problem) const;
  void compare(const DecodeAttentionArgs& args, const ExpectedAttention& expected) const;

  Plan plan_;
  const DecodeAttentionSpec& spec_;
  device::DecodeAttentionConfig config_;
  bool merged_ = false;
};

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_ATTENTION_FIXTURE_H_
