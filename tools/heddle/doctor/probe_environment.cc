// The variables of the environment: those that are read, and those that nothing reads.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cache/cache_roots.h"
#include "generator/spec/near_miss.h"
#include "runtime/environment_variables.h"
#include "runtime/log_threshold.h"
#include "runtime/recorder.h"
#include "tools/heddle/doctor/diagnosis.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOwnPrefix = "HEDDLE_";

void show_variables(Diagnosis* diagnosis) {
  for (const char* name : kEnvironmentVariables) {
    const char* const value = process_environment(name);
    diagnosis->found["environment"].push_back({{"name", name}});
    diagnosis->found["environment"].back()["value"] =
        value != nullptr ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
    if (value != nullptr) diagnosis->lines.emplace_back(name, value);
  }
}

void find_unread_variables(Diagnosis* diagnosis) {
  std::vector<std::string_view> own;
  for (const std::string_view name : kEnvironmentVariables) {
    if (name.starts_with(kOwnPrefix)) own.push_back(name);
  }
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with(kOwnPrefix)) continue;
    if (std::find(own.begin(), own.end(), name) != own.end()) continue;
    const std::string meant = did_you_mean(name, own);
    diagnosis->problems.push_back({std::string(name), "nothing in Heddle reads this variable",
                                   meant.empty() ? "unset it" : meant + " Else unset it"});
  }
}

// Why Heddle cannot add to the file; empty if it can, or would make it.
std::string problem_of_record(const std::string& path) {
  std::error_code none;
  if (!fs::exists(path, none)) return why_not_makable(path);
  if (!fs::is_regular_file(path, none)) return "it is no regular file";
  if (::access(path.c_str(), W_OK) != 0) return std::generic_category().message(errno);
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || is_record(line)) return {};
  return "it has another text, which is nobody's to add to";
}

std::string problem_of_dump(const std::string& path) {
  std::error_code none;
  return fs::exists(path, none) ? why_not_makable(fs::path(path) / "kernel")
                                : why_not_makable(path);
}

std::string problem_of_new_file(const std::string& path) {
  std::error_code none;
  if (fs::exists(path, none) && !fs::is_regular_file(path, none)) return "it is no regular file";
  return why_not_makable(path);
}

void check_variable(const char* name, std::string (*problem_of)(const std::string&),
                    const char* advice, Diagnosis* diagnosis) {
  const char* const value = process_environment(name);
  if (value == nullptr || *value == '\0') return;
  const std::string problem = problem_of(value);
  if (problem.empty()) return;
  diagnosis->problems.push_back({name, fmt::format("cannot write {}: {}", value, problem), advice});
}

}  // namespace

void probe_environment(Diagnosis* diagnosis) {
  diagnosis->found["environment"] = nlohmann::ordered_json::array();
  examine("environment", "correct the variable", diagnosis, [&] {
    show_variables(diagnosis);
    find_unread_variables(diagnosis);
    check_variable("HEDDLE_RECORD", problem_of_record,
                   "name a new file, or a record that you may write to", diagnosis);
    check_variable("HEDDLE_DUMP", problem_of_dump, "name a folder that you may write to",
                   diagnosis);
    check_variable("HEDDLE_STATS", problem_of_new_file, "name a file that you may write",
                   diagnosis);
  });
  examine("HEDDLE_LOG", "correct or unset it", diagnosis,
          [] { log_threshold(LogThreshold::kWarning); });
}

}  // namespace heddle
