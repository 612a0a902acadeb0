// What `heddle run` and `heddle bench` do with row_transform.
#ifndef HEDDLE_TOOLS_HEDDLE_ROW_TRANSFORM_H_
#define HEDDLE_TOOLS_HEDDLE_ROW_TRANSFORM_H_

#include <cstdint>
#include <vector>

#include "heddle/runtime.h"
#include "heddle/spec.h"
#include "tools/gpu_harness/graph_timer.h"

namespace heddle {

// For each number of rows; where none is named, the smallest that each kernel serves. Prints what
// came of it; returns the exit code.
int run_row_transform(Runtime& runtime, const Spec& spec, const std::vector<std::int64_t>& m_list,
                      std::uint32_t seed, bool json);

// The times next to those of a plain copy of as many bytes; where none is named, for 1 to 4096
// rows.
int bench_row_transform(Runtime& runtime, const Spec& spec, const std::vector<std::int64_t>& m_list,
                        const TimingBudget& budget, bool json);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_ROW_TRANSFORM_H_
