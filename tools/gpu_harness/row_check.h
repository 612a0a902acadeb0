// Runs row_transform kernels on random data and compares them with FP64.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_ROW_CHECK_H_
#define HEDDLE_TOOLS_GPU_HARNESS_ROW_CHECK_H_

#include <cstdint>
#include <string>

#include "heddle/row_transform.h"

namespace heddle {

struct RowCheck {
  std::int64_t m = 0;
  std::size_t kernel = 0;  // of the plan: which ran
  // The largest share of its tolerance that an output has used: the rounding of the output and what
  // FP32 leaves open. Of 8 bits: by how many codes one is away from that of FP64.
  double worst = 0;
  std::string mismatch;  // the first one; empty if there is none
  bool guards_intact = false;
  bool repeatable = false;  // a second launch gave the same bits

  bool passed() const noexcept { return mismatch.empty() && guards_intact && repeatable; }
  std::string fault() const;  // empty if there is none
};

// Rows that are parts of wider ones, and dense ones. In the current context, for whose device the
// kernel was loaded. Precondition: M is in the spec's range. Throws Error.
RowCheck check_rows(const RowTransformKernel& kernel, std::int64_t m, std::uint32_t seed = 1);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_ROW_CHECK_H_
