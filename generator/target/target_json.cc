#include "generator/target/target_json.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>

#include "generator/target/check_target.h"

namespace heddle {
namespace {

bool is_architecture(std::string_view name) { return name == "major" || name == "minor"; }

Problem wrong(const char* name, const char* why, std::string value, std::string allowed) {
  return {std::string("/") + name, why, std::move(value), std::move(allowed), ""};
}

std::string range_text(const FactRange& range, bool is_whole) {
  return std::string(is_whole ? "an integer from " : "a number from ") + std::to_string(range.min) +
         " to " + std::to_string(range.max);
}

// Reads a member that is within `range`, so that the conversion loses nothing.
template <class Number>
bool read_number(const Node& node, const FactRange& range, Number* number) {
  if constexpr (std::is_integral_v<Number>) {
    const std::optional<std::int64_t> value = node.as_integer();
    if (!value || *value < range.min || *value > range.max) return false;
    *number = static_cast<Number>(*value);
    return true;
  } else {
    if (node.kind != Node::Kind::kInteger && node.kind != Node::Kind::kNumber) return false;
    *number = node.kind == Node::Kind::kInteger ? static_cast<Number>(node.integer) : node.number;
    return *number >= static_cast<Number>(range.min) && *number <= static_cast<Number>(range.max);
  }
}

void refuse_unknown(const Node& object, std::vector<Problem>* problems) {
  for (std::size_t i = 0; i < object.keys.size(); ++i) {
    bool is_known = object.keys[i] == "name";
    const Target none;
    for_each_fact(none, [&](const char* name, const auto&, const FactRange&) {
      is_known = is_known || object.keys[i] == name;
    });
    if (is_known) continue;
    problems->push_back({child_pointer("", object.keys[i]), "the field is unknown",
                         excerpt(object.items[i]), "", ""});
  }
}

}  // namespace

void add_target_facts(const Target& target, nlohmann::ordered_json* object) {
  for_each_fact(target, [&](const char* name, const auto& fact, const FactRange&) {
    if (!is_architecture(name)) (*object)[name] = fact;
  });
}

std::vector<Problem> read_target(const Node& object, Target* target) {
  if (object.kind != Node::Kind::kObject) {
    return {{"", "must be an object", excerpt(object), "", ""}};
  }
  std::vector<Problem> problems;
  refuse_unknown(object, &problems);
  const Node* name = object.find("name");
  if (name == nullptr || name->kind != Node::Kind::kString) {
    problems.push_back(
        wrong("name", "must be a string", name == nullptr ? "none" : excerpt(*name), ""));
  } else {
    target->name = name->text;
  }
  for_each_fact(*target, [&](const char* fact, auto& number, const FactRange& range) {
    const Node* node = object.find(fact);
    if (node != nullptr && read_number(*node, range, &number)) return;
    constexpr bool kIsWhole = std::is_integral_v<std::remove_reference_t<decltype(number)>>;
    problems.push_back(wrong(fact, "the target's fact is missing or none that a GPU has",
                             node == nullptr ? "none" : excerpt(*node),
                             range_text(range, kIsWhole)));
  });
  // What no single number tells.
  if (problems.empty()) problems = target_problems(*target);
  return problems;
}

}  // namespace heddle
