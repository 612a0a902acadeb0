// heddle doctor: what Heddle finds on this machine, what of it is wrong, and what to do.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "heddle/version.h"
#include "tools/heddle/doctor/diagnosis.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/output.h"
#include "tools/heddle/shared/printable.h"

namespace heddle {
namespace {

Diagnosis diagnose() {
  Diagnosis diagnosis;
  diagnosis.found["version"] = HEDDLE_VERSION;
  diagnosis.lines.emplace_back("heddle", HEDDLE_VERSION);
  probe_driver(&diagnosis);  // first: what follows is compared with the GPUs
  probe_compiler(&diagnosis);
  probe_disassemblers(&diagnosis);
  probe_cache(&diagnosis);
  probe_tables(&diagnosis);
  probe_environment(&diagnosis);
  return diagnosis;
}

nlohmann::ordered_json remarks_json(const std::vector<Remark>& remarks, bool with_advice) {
  auto list = nlohmann::ordered_json::array();
  for (const Remark& remark : remarks) {
    list.push_back({{"about", remark.about}, {"text", remark.text}});
    if (with_advice) list.back()["do"] = remark.advice;
  }
  return list;
}

std::string diagnosis_text(const Diagnosis& diagnosis) {
  std::string text;
  for (const auto& [name, what] : diagnosis.lines) {
    text += fmt::format("{:<16} {}\n", name, printable(what));
  }
  for (const Remark& note : diagnosis.notes) {
    text += fmt::format("note: {}: {}\n", note.about, printable(note.text));
  }
  for (const Remark& problem : diagnosis.problems) {
    text += fmt::format("problem: {}: {}\n      do: {}\n", printable(problem.about),
                        printable(problem.text), problem.advice);
  }
  return text + (diagnosis.problems.empty()
                     ? "nothing is wrong\n"
                     : count_text(diagnosis.problems.size(), "problem") + "\n");
}

int run_doctor(bool json) {
  Diagnosis diagnosis = diagnose();
  if (json) {
    diagnosis.found["notes"] = remarks_json(diagnosis.notes, false);
    diagnosis.found["problems"] = remarks_json(diagnosis.problems, true);
    print_json(diagnosis.found);
  } else {
    print(diagnosis_text(diagnosis));
  }
  return diagnosis.problems.empty() ? kExitDone : kExitFailed;
}

}  // namespace

void add_doctor_command(CLI::App& app, Action* action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "doctor",
      "Tell what Heddle finds on this machine, what is wrong and what to do; exit code 1 if "
      "something is");
  add_json_option(*command, json.get());
  command->footer("Example:\n  heddle doctor");
  command->callback([=] { *action = [json] { return run_doctor(*json); }; });
}

}  // namespace heddle
