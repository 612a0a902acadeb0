// What `heddle build` did, and how it is told.
#ifndef HEDDLE_TOOLS_HEDDLE_BUILD_BUILD_REPORT_H_
#define HEDDLE_TOOLS_HEDDLE_BUILD_BUILD_REPORT_H_

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/model.h"
#include "heddle/runtime.h"

namespace heddle {

// The outcome of one kernel on the GPU of this machine.
struct KernelCheck {
  std::int64_t m = 0;  // of a gemm or row_transform, else 0
  // Relative Frobenius error against FP64; of weights, the share of wrong ones; of row_transform,
  // the largest share that an output has used of its tolerance.
  double error = 0;
  std::string fault;  // what is wrong; empty if nothing is
};

// One operation of the model that the target can serve.
struct BuiltOperation {
  std::string name;
  Plan plan;
  std::vector<std::size_t> results;  // for each kernel of the plan, index into Build::results
  std::vector<KernelCheck> checks;   // for each M range; empty if nothing was run
};

struct UnservedOperation {
  std::string name;
  std::vector<std::string> reasons;
};

// The kernels that were made first, on request.
struct FirstBuild {
  MRange m;
  std::size_t kernels = 0;
  std::size_t general = 0;  // of these: serve all other M until their own kernels are there
  std::size_t compiled = 0;
  double ms = 0;            // until all of them were there
  double processor_ms = 0;  // the same, of all processors
};

struct Build {
  Target target;
  std::vector<BuiltOperation> operations;
  std::vector<UnservedOperation> unserved;
  std::vector<std::string> unused;   // what tuned tables have for the operations and is not used
  std::vector<BuildResult> results;  // one for each different source
  Model model;  // its layers; kernels that the target refuses are no kernels of theirs any more
  bool listed = false;  // nothing was compiled, on request
  std::optional<FirstBuild> first;
  double total_ms = 0;
  double processor_ms = 0;  // of all processors
};

// One line for each kernel of each operation, then the notes and a line with the sums.
std::string build_text(const Build& build);

// One line, without its end.
std::string first_text(const FirstBuild& first);

// The document of `heddle build --json`; docs in README.md of this folder.
nlohmann::ordered_json build_json(const Build& build);

// What its family shows in tables: "64x128x64 s4 k2" is tokens, rows, depth of a tile; stages,
// split-K.
std::string tile_text(const PlannedKernel& kernel);
// "1..16"
std::string m_text(const PlannedKernel& kernel);
// As above, for any kernel of the plan; "-" for one that no M chooses.
std::string tile_text(const Plan& plan, std::size_t kernel);
std::string m_text(const Plan& plan, std::size_t kernel);
// [1, 16]; null of one that no M chooses.
nlohmann::ordered_json m_json(const Plan& plan, std::size_t kernel);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_BUILD_BUILD_REPORT_H_
