#include "generator/tuned/read_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "generator/tuned/families.h"
#include "generator/tuned/members.h"
#include "generator/tuned/read_entry.h"

namespace heddle {
namespace {

// Limits on values of a version that is not this library's: their number and their size.
constexpr std::size_t kMostValues = 100;
constexpr double kMostValue = 1e9;

std::map<std::string, double> known_values(const Node& node, const std::string& pointer,
                                           std::span<const CostParameter> parameters,
                                           Findings* findings) {
  Members members(node, pointer, findings);
  std::vector<std::string_view> names;
  names.reserve(parameters.size());
  for (const CostParameter& one : parameters) names.push_back(one.name);
  members.know_only(names);
  std::map<std::string, double> values;
  for (const CostParameter& one : parameters) {
    const Node* const value = members.need(one.name, "a number");
    if (value == nullptr) continue;
    const CostRange range = range_of(one);
    const auto number = members.positive(*value, one.name, range.least, range.most);
    if (number) values.emplace(one.name, *number);
  }
  return values;
}

std::map<std::string, double> unknown_values(Members& family, const Node& node,
                                             const std::string& pointer, Findings* findings) {
  std::map<std::string, double> values;
  if (node.keys.empty() || node.keys.size() > kMostValues) {
    family.refuse("out_of_range", node, "values", "has no parameters, or too many",
                  fmt::format("1 to {} parameters", kMostValues));
    return values;
  }
  Members members(node, pointer, findings);
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const std::string& name = node.keys[i];
    Node text;
    text.kind = Node::Kind::kString;
    text.text = name;
    const bool is_name = members.line(text, name, kLongestLine).has_value();
    const auto number = members.positive(node.items[i], name, 0, kMostValue);
    if (is_name && number) values.emplace(name, *number);
  }
  return values;
}

// The costs of a family, as far as nothing is wrong with them; the rest goes to the findings.
TunedCosts read_family(const Node& node, const std::string& name, const std::string& pointer,
                       Findings* findings) {
  TunedCosts costs;
  costs.family = name;
  if (!is_kind(node, Node::Kind::kObject, pointer, findings)) return costs;
  Members family(node, pointer, findings);
  family.know_only({"version", "values", "from"});
  const Node* const version = family.need("version", "the version of the family's costs");
  const Node* const values = family.need("values", "an object of numbers by parameter");
  if (const Node* const from = family.find("from")) {
    costs.from = family.line(*from, "from", kLongestLine).value_or("");
  }
  if (version == nullptr || values == nullptr) return costs;
  const auto number = family.integer(*version, "version", 1, kMostFamilyVersion);
  const std::string of_values = pointer + "/values";
  if (!number || !is_kind(*values, Node::Kind::kObject, of_values, findings)) return costs;
  costs.version = static_cast<int>(*number);
  const TunedFamilyCosts known = tuned_family_costs(name);
  costs.values = costs.version == known.version
                     ? known_values(*values, of_values, known.parameters, findings)
                     : unknown_values(family, *values, of_values, findings);
  return costs;
}

}  // namespace

std::vector<TunedCosts> read_costs(const Node& node, const std::string& pointer,
                                   Findings* findings) {
  std::vector<TunedCosts> all;
  if (!is_kind(node, Node::Kind::kObject, pointer, findings)) return all;
  Members members(node, pointer, findings);
  std::vector<std::string_view> names = tuned_family_names();
  members.know_only(names);
  std::sort(names.begin(), names.end());
  for (const std::string_view name : names) {
    const Node* const family = members.find(name);
    if (family == nullptr) continue;
    all.push_back(read_family(*family, std::string(name), child_pointer(pointer, name), findings));
  }
  return all;
}

}  // namespace heddle
