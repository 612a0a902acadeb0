// Times candidates for one launch on the GPU, for `heddle bench --sweep` and
// `heddle explain --measure`.
#ifndef HEDDLE_TOOLS_HEDDLE_RUN_SWEEP_H_
#define HEDDLE_TOOLS_HEDDLE_RUN_SWEEP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "generator/planner/candidates.h"
#include "heddle/runtime.h"
#include "tools/gpu_harness/harness.h"
#include "tools/heddle/run/sweep_report.h"
#include "tools/heddle/shared/progress.h"

namespace heddle {

inline constexpr double kSweepMilliseconds = 10;  // of each candidate: there may be hundreds

// The first candidate is the one that counts as chosen. All are timed once, the fastest again in
// rounds; progress goes to stderr. skewed: BenchOptions::skewed. Throws Error. Precondition: plans
// for the runtime's device, of an operation that check_has_candidates() lets pass.
Sweep sweep_at(Runtime& runtime, const std::vector<CandidatePlan>& candidates,
               const LaunchSize& size, const TimingBudget& budget, bool skewed = false);

// Has `options` tell what is compiled and timed; `names` of the specs. `progress` must live as long
// as the measuring.
void show_bench_progress(Progress* progress, const std::vector<std::string>& names,
                         BenchOptions* options);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_RUN_SWEEP_H_
