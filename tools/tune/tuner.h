// tune(): measures candidates of gemms at their steps of M until a budget is spent.
#ifndef HEDDLE_TOOLS_TUNE_TUNER_H_
#define HEDDLE_TOOLS_TUNE_TUNER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "generator/families/gemm_family.h"
#include "heddle/inspect/plan.h"
#include "heddle/tuned.h"
#include "tools/tune/surroundings.h"

namespace heddle {

struct TuneJob {
  std::string name;
  Plan plan;  // of a gemm, made for the device without a table's entries
};

struct TuneOptions {
  MRange m{1, 4096};      // steps that serve some of these
  double seconds = 60;    // for all jobs and steps
  std::size_t most = 12;  // candidates of a step
  std::string from;       // TunedEntry::from
};

// A step that was measured.
struct TunedStep {
  std::string name;  // the job's
  MRange m;
  std::string family;
  std::string kernel;   // the fastest one's label
  double us = 0;        // with m.max tokens
  double error = 0;     // of us, as in MedianTime
  double first_us = 0;  // of the kernel that was predicted to be the fastest; 0: it has no time
  std::size_t candidates = 0;  // that were timed
};

struct TuneReport {
  std::vector<TunedEntry> entries;
  std::vector<TunedStep> steps;
  std::vector<std::string> not_measured;  // "qkv_proj, M 9 to 16"
  std::vector<std::string> faults;        // of kernels, and what ended the measuring
  bool interrupted = false;
};

// The steps of the gemm's M that serve some M of `m`.
std::vector<MRange> steps_in(const GemmShape& shape, const MRange& m);

// Job after job, step after step, each with an equal share of the time that is left. Throws nothing
// that the device throws: what was measured until then is in the report.
TuneReport tune(TuneDevice& device, const std::vector<TuneJob>& jobs, const TuneOptions& options,
                const TuneHooks& hooks);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_TUNE_TUNER_H_
