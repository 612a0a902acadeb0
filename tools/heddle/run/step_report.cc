#include "tools/heddle/run/step_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "tools/heddle/shared/printable.h"
#include "tools/heddle/shared/table.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

std::string megabytes(double bytes) { return fmt::format("{:.2f}", 1e-6 * bytes); }

ordered_json row_json(const StepBenchReport& report, const StepTiming& row,
                      const DecodeStep& step) {
  auto kernels = ordered_json::array();
  for (std::size_t i = 0; i < row.kernels.size(); ++i) {
    const StepKernelTiming& kernel = row.kernels[i];
    const double floor_us = report.floor_us(kernel.bytes);
    kernels.push_back({{"name", step.kernels[i].name()},
                       {"op", to_string(step.kernels[i].op())},
                       {"launches", kernel.launches},
                       {"in_step_us", kernel.in_step_us},
                       {"alone_us", kernel.alone_us},
                       {"bytes", kernel.bytes},
                       {"floor_us", floor_us},
                       {"times_floor", kernel.in_step_us / floor_us}});
  }
  const double floor_us = report.floor_us(row.bytes());
  return {{"batch", row.load.sequences},
          {"context", row.load.context},
          {"us", row.us},
          {"tokens_per_s", row.tokens_per_s()},
          {"bytes", row.bytes()},
          {"floor_us", floor_us},
          {"times_floor", row.us / floor_us},
          {"sm_mhz", row.sm_mhz},
          {"sum_in_step_us", row.in_step_us()},
          {"sum_alone_us", row.alone_us()},
          {"kernels", std::move(kernels)}};
}

std::string steps_text(const StepBenchReport& report) {
  Table table({{"BATCH", Align::kRight},
               {"CONTEXT", Align::kRight},
               {"ms", Align::kRight},
               {"TOKENS/s", Align::kRight},
               {"MB", Align::kRight},
               {"FLOOR ms", Align::kRight},
               {"x FLOOR", Align::kRight},
               {"SM MHz", Align::kRight}});
  for (const StepTiming& row : report.rows) {
    const double floor_us = report.floor_us(row.bytes());
    table.add_row({fmt::format("{}", row.load.sequences), fmt::format("{}", row.load.context),
                   fmt::format("{:.3f}", 1e-3 * row.us), fmt::format("{:.0f}", row.tokens_per_s()),
                   megabytes(row.bytes()), fmt::format("{:.3f}", 1e-3 * floor_us),
                   fmt::format("{:.2f}", row.us / floor_us), fmt::format("{:.0f}", row.sm_mhz)});
  }
  return table.text();
}

std::string kernels_text(const StepBenchReport& report, const StepTiming& row,
                         const DecodeStep& step) {
  Table table({{"KERNEL"},
               {"LAUNCHES", Align::kRight},
               {"IN STEP us", Align::kRight},
               {"ALONE us", Align::kRight},
               {"MB", Align::kRight},
               {"FLOOR us", Align::kRight},
               {"x FLOOR", Align::kRight},
               {"% OF STEP", Align::kRight}});
  for (std::size_t i = 0; i < row.kernels.size(); ++i) {
    const StepKernelTiming& kernel = row.kernels[i];
    const double floor_us = report.floor_us(kernel.bytes);
    table.add_row({step.kernels[i].name(), fmt::format("{}", kernel.launches),
                   fmt::format("{:.2f}", kernel.in_step_us), fmt::format("{:.2f}", kernel.alone_us),
                   megabytes(kernel.bytes), fmt::format("{:.2f}", floor_us),
                   fmt::format("{:.2f}", kernel.in_step_us / floor_us),
                   fmt::format("{:.1f}", 100 * static_cast<double>(kernel.launches) *
                                             kernel.in_step_us / row.us)});
  }
  return table.text() + fmt::format(
                            "sum of {} launches: {:.3f} ms in the step, {:.3f} ms alone; "
                            "the step: {:.3f} ms\n",
                            step.launches.size(), 1e-3 * row.in_step_us(), 1e-3 * row.alone_us(),
                            1e-3 * row.us);
}

}  // namespace

ordered_json step_json(const StepBenchReport& report, const DecodeStep& step) {
  auto rows = ordered_json::array();
  for (const StepTiming& row : report.rows) rows.push_back(row_json(report, row, step));
  return {{"device", report.device.name},
          {"read_tb_per_s", report.read_tb_per_s},
          {"layers", step.layers},
          {"model_layers", step.model_layers},
          {"launches", step.launches.size()},
          {"notes", step.notes},
          {"steps", std::move(rows)}};
}

std::string step_text(const StepBenchReport& report, const DecodeStep& step) {
  std::string text = steps_text(report);
  for (const StepTiming& row : report.rows) {
    text += fmt::format("\nbatch {}, context {}:\n", row.load.sequences, row.load.context) +
            kernels_text(report, row, step);
  }
  text += '\n';
  for (const std::string& note : step.notes) text += fmt::format("note: {}\n", printable(note));
  return text + fmt::format("{}: streaming read {:.2f} TB/s; FLOOR is all bytes at that rate\n",
                            report.device.name, report.read_tb_per_s);
}

}  // namespace heddle
