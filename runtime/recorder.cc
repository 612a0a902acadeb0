#include "runtime/recorder.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cache/cache_roots.h"
#include "generator/target/target_json.h"
#include "heddle/error.h"

namespace heddle {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kRecordVersion = 1;
constexpr int kMostDepth = 64;  // of a line
constexpr std::string_view kSpace = " \t\r\n";

std::string record_path(const RuntimeOptions& options) {
  if (!options.record_file.empty()) return options.record_file;
  const char* path = process_environment("HEDDLE_RECORD");
  return path != nullptr ? path : "";
}

ordered_json to_json(const Target& target) {
  ordered_json object = {{"name", target.name}, {"major", target.major}, {"minor", target.minor}};
  add_target_facts(target, &object);
  return object;
}

Target target_of(const json& object) {
  Target target;
  target.name = object.at("name").get<std::string>();
  target.major = object.at("major").get<int>();
  target.minor = object.at("minor").get<int>();
  read_target_facts(object, &target);
  if (target.sm_count < 1 || target.shared_per_block < 1 || target.shared_per_sm < 1 ||
      target.registers_per_sm < 1 || target.major < 1) {
    throw Error(ErrorCategory::kSpec, "record.malformed",
                "a target without multiprocessors or memory");
  }
  return target;
}

RecordedSpec parse_line(std::string_view line) {
  try {
    // The spec is written out again, level by level.
    const auto check_depth = [](int depth, json::parse_event_t, const json&) {
      if (depth > kMostDepth)
        throw Error(ErrorCategory::kSpec, "record.malformed", "nested too deep");
      return true;
    };
    const json object = json::parse(line, check_depth);
    if (object.at("heddle_record").get<int>() != kRecordVersion) {
      throw Error(ErrorCategory::kSpec, "record.version", "another version of records");
    }
    return {Spec::parse(object.at("spec").dump()), target_of(object.at("target"))};
  } catch (const json::exception& error) {
    throw Error(ErrorCategory::kSpec, "record.malformed",
                fmt::format("no line of a record: {}", error.what()));
  }
}

}  // namespace

Recorder::Recorder(const RuntimeOptions& options, Logger* logger)
    : log_(record_path(options), [logger](const std::string& why) {
        logger->log(LogLevel::kWarning, "recording specs: " + why);
      }) {}

void Recorder::record(const Plan& plan) { log_.add(record_line(plan.spec, plan.target)); }

std::string record_line(const Spec& spec, const Target& target) {
  auto spec_json = ordered_json::parse(spec.canonical_json());
  if (!spec.name().empty()) spec_json["name"] = spec.name();
  const ordered_json line = {
      {"heddle_record", kRecordVersion}, {"spec", spec_json}, {"target", to_json(target)}};
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

bool is_record(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  return first != std::string_view::npos && text.substr(first).starts_with("{\"heddle_record\"");
}

std::vector<RecordedSpec> parse_record(std::string_view text) {
  std::vector<RecordedSpec> specs;
  std::vector<Problem> problems;
  std::set<std::string_view> known;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.find_first_not_of(kSpace) == std::string_view::npos) continue;
    if (!known.insert(line).second) continue;
    try {
      specs.push_back(parse_line(line));
    } catch (const Error& error) {
      for (Problem problem : error.problems()) {
        problem.pointer = fmt::format("line {}{}{}", number, problem.pointer.empty() ? "" : ": ",
                                      problem.pointer);
        problems.push_back(std::move(problem));
      }
    }
  }
  if (!problems.empty()) throw Error(ErrorCategory::kSpec, "record.malformed", std::move(problems));
  return specs;
}

}  // namespace heddle
