// What the tools do with an operation on a GPU: check its kernels, and time them. Each operation
// implements this once, in operations/.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_HARNESS_H_
#define HEDDLE_TOOLS_GPU_HARNESS_HARNESS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/kernel.h"
#include "heddle/runtime.h"
#include "heddle/spec.h"
#include "tools/gpu_harness/checked_launch.h"
#include "tools/gpu_harness/timing/stream.h"

namespace heddle {

// A value of a row: JSON has it under `key`, tables show its text under `heading`; one without
// either is left out there.
struct Cell {
  std::string key;
  std::string heading;
  nlohmann::ordered_json value;
  std::string text;
  bool is_word = false;  // else a number, which tables align at its end
};
using Cells = std::vector<Cell>;

Cell word(std::string key, std::string heading, std::string text);
Cell number(std::string key, std::string heading, nlohmann::ordered_json value, std::string text);
// "12.3", with so many digits behind the point.
Cell number(std::string key, std::string heading, double value, int digits);
// For JSON alone.
Cell fact(std::string key, nlohmann::ordered_json value);

struct CheckOptions {
  std::vector<std::int64_t> m = {};  // where there is an M; none: the smallest of each kernel
  std::uint32_t seed = 1;
  bool cublas = false;  // also the error of cuBLAS, if there is one
};

// Sequences that decode_attention is timed with.
struct AttentionLoad {
  int sequences = 0;
  int length = 0;
  int shortest = 0;  // not 0: lengths are drawn from `shortest` to `length`, each as likely
};

struct BenchOptions {
  std::vector<std::int64_t> m = {};       // none: the usual ones
  std::vector<AttentionLoad> loads = {};  // of decode_attention; none: the usual ones
  TimingBudget budget = {};
  bool skewed = false;  // of moe: some experts are chosen more often than others
  // Of gemms.
  bool cublas = false;
  bool chain = false;  // also all specs one after another
  BuildProgress on_build = {};
  std::function<void(std::size_t spec)> on_spec = {};  // before its kernels are timed
};

struct BenchReport {
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();  // of the whole run
  std::vector<Cells> rows;
  nlohmann::ordered_json more = nlohmann::ordered_json::object();  // behind the rows in JSON
  std::string legend;                                              // lines behind the table
  std::string missing;  // why there is no baseline although one was asked for
};

// The kernel of a plan that has one, timed at one size.
struct PlanTime {
  std::size_t plan = 0;  // its place in the list
  PlannedKernel kernel;
  double us = 0;        // per launch, median
  double floor_us = 0;  // what the memory, and the tensor cores, allow at best
};
struct PlanTimes {
  double read_tb_per_s = 0;  // streaming read, measured in this run
  std::vector<PlanTime> rows;
};

class StepPart;

class Harness {
 public:
  virtual ~Harness() = default;

  // Runs kernels on random data; the same seed gives the same data. In the current context, for
  // whose device the kernel was loaded. Throws Error; Error(kUsage) for an M outside of the spec's
  // range.
  virtual std::vector<Check> check(const Kernel& kernel, const CheckOptions& options) const = 0;
  // How a check is shown, but for whether it passed.
  virtual Cells cells(const Check& check, const Plan& plan) const = 0;

  // In CUDA graphs, over buffers that rotate through more memory than the caches hold. In the
  // current context, else in device 0's primary one. Throws Error. Precondition: the specs are of
  // this operation, and one unless times_lists().
  virtual BenchReport bench(Runtime& runtime, const std::vector<Spec>& specs,
                            const BenchOptions& options) const = 0;
  virtual bool times_lists() const { return false; }
  // Whether bench() has a use for BenchOptions::loads.
  virtual bool takes_loads() const { return false; }

  // Whether time_plans() times the kernels that one is chosen from; else no one calls it.
  virtual bool has_candidates() const { return false; }
  // Times plans of one kernel each, which were made for the runtime's device: a row for each. Of
  // the options budget, on_build and on_spec count, which is told places in the list. In the
  // current context, else in device 0's primary one. Throws Error.
  virtual PlanTimes time_plans(Runtime& runtime, const std::vector<Plan>& plans,
                               const LaunchSize& size, const BenchOptions& options) const;

  // What a decode step needs to know of the operation; null of one that no step has.
  virtual const StepPart* step() const { return nullptr; }
};

const Harness& harness_of(const Spec& spec);

// For implementations.
//
// Throws Error(kUsage, "harness.m") for an M that is outside of the range, or for none.
void require_m(const MRange& range, const std::vector<std::int64_t>& m_list);
// The options' M, which require_m() has seen, or without one the smallest of each kernel.
std::vector<std::int64_t> m_list_of(const Plan& plan, const CheckOptions& options);
// Of a plan with M: it, the kernel that serves it and its tile.
Cells kernel_cells(const Check& check, const Plan& plan);
// Of a plan with one kernel, whose bytes were compared.
Cells byte_cells(const Check& check, const Plan& plan);
// "12.34"; megabytes.
std::string mb_text(std::size_t bytes);
// A time beside that of a plain copy, and a line that says so.
Cells stream_cells(const Timing& timing);
std::string stream_legend(const Target& device);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_HARNESS_H_
