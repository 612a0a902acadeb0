// heddle bench CONFIG --step: a whole decode step of a model.
#ifndef HEDDLE_TOOLS_HEDDLE_RUN_STEP_H_
#define HEDDLE_TOOLS_HEDDLE_RUN_STEP_H_

#include <string>
#include <vector>

#include "tools/gpu_harness/timing/graph_timer.h"
#include "tools/heddle/shared/options.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace heddle {

// What the command line says of a step, beside the options that all of `heddle bench` has.
struct StepOptions {
  bool step = false;
  std::vector<int> batches = {1, 8, 64};
  int context = 1024;
  std::string kv = "int8:head";
  bool gated = false;
  int layers = 0;  // 0: all
};

struct StepRun {
  std::string input;
  std::string target;
  CompileOptions compile;
  TimingBudget budget;
  bool json = false;
};

// --step and what goes with it alone; returns --step.
CLI::Option* add_step_options(CLI::App& command, StepOptions* options);

// Returns the exit code. Throws Error.
int bench_step(const StepOptions& options, const StepRun& run);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_RUN_STEP_H_
