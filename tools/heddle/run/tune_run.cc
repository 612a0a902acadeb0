#include "tools/heddle/run/tune_run.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <utility>

#include "heddle/error.h"
#include "heddle/version.h"
#include "tools/heddle/run/device_check.h"
#include "tools/heddle/run/tune_device.h"
#include "tools/heddle/run/tune_options.h"
#include "tools/heddle/run/tuned_file.h"
#include "tools/heddle/shared/interrupt.h"
#include "tools/heddle/shared/progress.h"

namespace heddle {
namespace {

// The table that is already in the file; its GPU must be this one.
std::optional<TunedTable> table_before(const std::string& path, const std::string& gpu) {
  std::optional<TunedTable> before;
  if (!path.empty()) before = read_tuned_file(path);
  if (before && before->gpu() != gpu) {
    throw Error(
        ErrorCategory::kUsage, "tuned.other_gpu",
        fmt::format("{} is a table of {}, and the GPU here is {}", path, before->gpu(), gpu));
  }
  return before;
}

}  // namespace

TuneRun::TuneRun(const TuneRunOptions& options)
    : options_(options), runtime_(std::make_unique<Runtime>(runtime_options(options.compile))) {
  // What cannot be written need not be measured.
  if (has_file()) check_tuned_file(options_.out);
  require_device(runtime_.get(), "");
  target_ = runtime_->device_target();
  gpu_ = tuned_gpu(target_);
  TunedTable::from_entries(gpu_, {});  // refuses a GPU that has no tables
  before_ = table_before(options.out, gpu_);
}

double TuneRun::seconds() const { return parse_seconds(options_.budget); }

std::string TuneRun::origin() const {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("heddle {} tune, {:04}-{:02}-{:02}", HEDDLE_VERSION, utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday);
}

void TuneRun::measure(
    const std::function<void(TuneDevice& device, const TuneHooks& hooks)>& work) const {
  const InterruptGuard guard;
  Progress progress(!options_.json);
  TuneHooks hooks;
  hooks.seconds = [] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  };
  hooks.interrupted = InterruptGuard::interrupted;
  hooks.show = [&progress](const std::string& line, bool is_result) {
    progress.show(line, !is_result);
  };
  GpuTuneDevice device(*runtime_);
  work(device, hooks);
}

TunedTable TuneRun::write(const TunedTable& table) const {
  TunedTable merged = before_ ? *before_ : table;
  if (before_) merged.merge(table);
  const bool says_something = !table.entries().empty() || !table.costs().empty();
  if (has_file() && says_something) write_tuned_file(options_.out, merged);
  return merged;
}

}  // namespace heddle
