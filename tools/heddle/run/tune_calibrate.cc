#include "tools/heddle/run/tune_calibrate.h"

#include <utility>
#include <vector>

#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "heddle/tuned.h"
#include "tools/heddle/run/calibrate_report.h"
#include "tools/heddle/shared/output.h"
#include "tools/tune/calibration.h"
#include "tools/tune/calibration_problems.h"

namespace heddle {
namespace {

// The costs that the output file has already, beside those in use.
TunedTables current_costs(const TuneRun& run) {
  TunedTables tables = run.runtime().tuned_tables();
  if (run.before()) {
    tables.add(TunedTable::from_entries(run.gpu(), {}, run.before()->costs()));
  }
  return tables;
}

// The problems that this GPU can serve.
std::vector<CalibrationJob> jobs_for(const TuneRun& run) {
  const TunedTables tables = current_costs(run);
  std::vector<CalibrationJob> jobs;
  for (CalibrationProblem& one : calibration_problems()) {
    try {
      Plan plan = resolve(Spec::from_gemm(one.gemm), run.target(), tables);
      jobs.push_back({std::move(one.name), std::move(plan), std::move(one.m)});
    } catch (const Error& error) {
      // GPUs before sm_80 have no BF16; what they have is measured with the other formats.
      if (error.category() != ErrorCategory::kUnsupported) throw;
    }
  }
  return jobs;
}

}  // namespace

int run_calibration(const TuneRun& run) {
  const std::vector<CalibrationJob> jobs = jobs_for(run);
  CalibrationOptions options;
  options.seconds = run.seconds();
  CalibrationMeasurement measured;
  run.measure([&](TuneDevice& device, const TuneHooks& hooks) {
    measured = measure_calibration(device, jobs, options, hooks);
  });
  const std::vector<FamilyCalibration> families = calibrate(measured.cells);
  const TunedTable table =
      run.write(TunedTable::from_entries(run.gpu(), {}, costs_to_write(families, run.origin())));
  if (run.json()) {
    print_json(calibration_json(measured, families, table));
  } else {
    print(run.has_file() ? calibration_text(families) : table.to_json());
  }
  flush_output();
  return report_calibration(measured, families);
}

}  // namespace heddle
