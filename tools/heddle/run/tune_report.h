// What `heddle tune` says of what it measured.
#ifndef HEDDLE_TOOLS_HEDDLE_RUN_TUNE_REPORT_H_
#define HEDDLE_TOOLS_HEDDLE_RUN_TUNE_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "heddle/tuned.h"
#include "tools/tune/tuner.h"

namespace heddle {

// A line for each step, then one for all.
std::string tune_text(const TuneReport& report);
// `table`: the whole table that was written.
nlohmann::ordered_json tune_json(const TuneReport& report, const TunedTable& table);

// Prints what was not reached and what is wrong; the exit code of the command.
int report_tuning(const TuneReport& report);

// Exit code of an interrupted command, as shells have it for SIGINT.
inline constexpr int kExitInterrupted = 130;

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_RUN_TUNE_REPORT_H_
