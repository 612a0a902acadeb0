#include "runtime/recorder.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "cache/cache_roots.h"
#include "generator/spec/document.h"
#include "generator/spec/findings.h"
#include "generator/target/target_json.h"
#include "heddle/error.h"

namespace heddle {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kRecordVersion = 1;
constexpr std::string_view kRecordStart = "{\"heddle_record\"";
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

// Pointers of a part are relative to it.
void add_problems(std::string_view part, const std::vector<Problem>& problems, Findings* findings) {
  for (Problem problem : problems) {
    problem.pointer = std::string(part) + problem.pointer;
    findings->add("malformed", std::move(problem));
  }
}

void refuse_unknown_members(const Node& root, Findings* findings) {
  for (std::size_t i = 0; i < root.keys.size(); ++i) {
    const std::string& key = root.keys[i];
    if (key == "heddle_record" || key == "spec" || key == "target") continue;
    findings->add("malformed",
                  {child_pointer("", key), "the field is unknown", excerpt(root.items[i]), "", ""});
  }
}

// What is written out again is read by Spec::parse(): `line` is sound JSON without duplicates.
std::optional<Spec> spec_of(std::string_view line, Findings* findings) {
  try {
    return Spec::parse(json::parse(line).at("spec").dump());
  } catch (const Error& error) {
    add_problems("/spec", error.problems(), findings);
    return std::nullopt;
  }
}

// The line's spec and target, or what is wrong with it in `findings`.
std::optional<RecordedSpec> parse_line(std::string_view line, Findings* findings) {
  const std::optional<Node> root = read_document(line, DocumentLimits{}, *findings);
  if (!root) return std::nullopt;
  const auto refuse = [&](const char* pointer, const char* why, std::string allowed) {
    findings->add("malformed", {pointer, why, "", std::move(allowed), ""});
  };
  const Node* const version = root->find("heddle_record");
  if (version == nullptr || version->as_integer() != kRecordVersion) {
    refuse("", "no line of a record of this version",
           fmt::format("an object with \"heddle_record\": {}", kRecordVersion));
    return std::nullopt;
  }
  refuse_unknown_members(*root, findings);
  RecordedSpec recorded;
  if (root->find("spec") == nullptr) {
    refuse("/spec", "the field is required", "a spec");
  } else if (findings->empty()) {
    if (std::optional<Spec> spec = spec_of(line, findings)) recorded.spec = *std::move(spec);
  }
  if (const Node* const target = root->find("target"); target != nullptr) {
    add_problems("/target", read_target(*target, &recorded.target), findings);
  } else {
    refuse("/target", "the field is required", "the facts of a GPU");
  }
  if (!findings->empty()) return std::nullopt;
  return recorded;
}

}  // namespace

Recorder::Recorder(const RuntimeOptions& options, Logger* logger)
    : log_(
          record_path(options),
          [logger](const std::string& why) {
            logger->log(LogLevel::kWarning, "recording specs: " + why);
          },
          std::string(kRecordStart)) {}

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
  return first != std::string_view::npos && text.substr(first).starts_with(kRecordStart);
}

std::vector<RecordedSpec> parse_record(std::string_view text) {
  std::vector<RecordedSpec> specs;
  Findings findings("record");
  std::set<std::string_view> known;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.find_first_not_of(kSpace) == std::string_view::npos) continue;
    if (!known.insert(line).second) continue;
    Findings of_line("record");
    if (std::optional<RecordedSpec> spec = parse_line(line, &of_line)) {
      specs.push_back(*std::move(spec));
      continue;
    }
    for (Problem problem : of_line.problems()) {
      problem.pointer =
          fmt::format("line {}{}{}", number, problem.pointer.empty() ? "" : ": ", problem.pointer);
      findings.add("malformed", std::move(problem));
    }
  }
  findings.throw_if_any();
  return specs;
}

}  // namespace heddle
