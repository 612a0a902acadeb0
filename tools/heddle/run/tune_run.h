// What the two ways of `heddle tune` have in common: what they measure kernels on, until when, and
// the table that the result goes to.
#ifndef HEDDLE_TOOLS_HEDDLE_RUN_TUNE_RUN_H_
#define HEDDLE_TOOLS_HEDDLE_RUN_TUNE_RUN_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "heddle/runtime.h"
#include "heddle/target.h"
#include "heddle/tuned.h"
#include "tools/heddle/shared/options.h"
#include "tools/tune/tuner.h"

namespace heddle {

struct TuneRunOptions {
  std::string budget = "60s";
  std::string out;
  CompileOptions compile;
  bool json = false;
};

class TuneRun {
 public:
  // Throws Error for a machine without a GPU, a GPU that has no tables, and an output file that is
  // no table of this GPU: before any work is done.
  explicit TuneRun(const TuneRunOptions& options);

  Runtime& runtime() const noexcept { return *runtime_; }
  const Target& target() const noexcept { return target_; }
  const std::string& gpu() const noexcept { return gpu_; }
  bool json() const noexcept { return options_.json; }
  bool has_file() const noexcept { return !options_.out.empty(); }
  // The output file's table, if there is one already.
  const std::optional<TunedTable>& before() const noexcept { return before_; }
  double seconds() const;
  // "heddle 0.1.0 tune, 2026-01-31"
  std::string origin() const;

  // Measures with the GPU, while SIGINT asks for an end instead of ending the process, and progress
  // is shown.
  void measure(const std::function<void(TuneDevice& device, const TuneHooks& hooks)>& work) const;

  // The output file's table, if there is one, with this one merged over it; the file then has it if
  // the new one says anything.
  TunedTable write(const TunedTable& table) const;

 private:
  const TuneRunOptions options_;
  std::unique_ptr<Runtime> runtime_;
  Target target_;
  std::string gpu_;
  std::optional<TunedTable> before_;  // of the output file
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_RUN_TUNE_RUN_H_
