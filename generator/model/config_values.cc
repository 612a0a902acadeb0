#include "generator/model/config_values.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "generator/model/expression_reader.h"
#include "generator/spec/document.h"

namespace heddle {
namespace {

using ValueKind = ConfigValue::Kind;

}  // namespace

ConfigValues::ConfigValues(const ConfigReader& config, const ConfigReader& root,
                           std::span<const NamedExpression> defaults,
                           std::span<const NamedExpression> names)
    : ExpressionScope(config, root) {
  for (const NamedExpression& name : defaults) names_[name.name] = name.is;
  for (const NamedExpression& name : names) names_[name.name] = name.is;
}

void ConfigValues::set_layer(std::int64_t layer) {
  begin_layer(layer);
  known_.clear();
}

ConfigValue ConfigValues::named(std::string_view name) {
  const auto found = names_.find(name);
  if (found == names_.end() || open_.count(name) != 0) {
    return field_of(config(), name);
  }
  const auto known = known_.find(name);
  if (known != known_.end()) return known->second;
  open_.insert(name);
  ConfigValue value = ExpressionReader(found->second, this).read();
  open_.erase(name);
  return known_.emplace(name, std::move(value)).first->second;
}

ConfigValue ConfigValues::value(Expression expression) {
  return ExpressionReader(expression, this).read();
}

std::int64_t ConfigValues::integer(Expression expression, std::int64_t min, std::int64_t max) {
  const ConfigValue result = value(expression);
  if (result.is_null()) {
    add_missing(result, expression);
    return std::max<std::int64_t>(min, 1);
  }
  const std::string what =
      result.pointer.empty() ? std::string(expression) + " is" : std::string("is");
  const bool is_whole = result.kind == ValueKind::kNumber && !result.is_boolean &&
                        result.number == std::floor(result.number);
  if (!result.fraction.empty()) {
    add("wrong_type", {result.fraction, "must be an integer", "a fraction", "", ""});
  } else if (!is_whole) {
    add("wrong_type", {result.field, "must be an integer", shown(result), "", ""});
  } else if (result.number < static_cast<double>(min) || result.number > static_cast<double>(max)) {
    // A value of no field is out of a range only by a field that is named already.
    const bool follows = result.field.empty() && !config().findings().empty();
    if (follows) return std::max<std::int64_t>(min, 1);
    add("out_of_range", {result.field, what + " out of range", plain(result.number),
                         std::to_string(min) + " to " + std::to_string(max), ""});
  } else {
    return static_cast<std::int64_t>(result.number);
  }
  return std::max<std::int64_t>(min, 1);
}

std::int64_t ConfigValues::size(Expression expression, std::int64_t max) {
  return integer(expression, 1, max);
}

std::int64_t ConfigValues::count(Expression expression, std::int64_t max) {
  return integer(expression, 0, max);
}

double ConfigValues::number(Expression expression) {
  const ConfigValue result = value(expression);
  if (result.is_null()) add_missing(result, expression);
  if (!result.is_null() && (result.kind != ValueKind::kNumber || result.is_boolean)) {
    add("wrong_type", {result.field, "must be a number", shown(result), "", ""});
  }
  return result.kind == ValueKind::kNumber ? result.number : 1;
}

bool ConfigValues::flag(Expression expression) {
  const ConfigValue result = value(expression);
  if (result.is_null()) add_missing(result, expression);
  if (!result.is_null() && result.kind != ValueKind::kNumber) {
    add("wrong_type", {result.field, "must be a boolean", shown(result), "", ""});
  }
  return result.kind != ValueKind::kNumber || result.number != 0;
}

std::string ConfigValues::text(Expression expression) {
  const ConfigValue result = value(expression);
  if (result.is_null()) add_missing(result, expression);
  if (!result.is_null() && result.kind != ValueKind::kText) {
    add("wrong_type", {result.field, "must be a string", shown(result), "", ""});
  }
  return result.text;
}

std::vector<std::pair<std::string, std::string>> ConfigValues::seen(Expression expression) {
  ExpressionReader reader(expression, this);
  reader.read();
  return reader.seen();
}

std::string ConfigValues::fields_of(std::span<const Expression> expressions) {
  std::string text;
  std::set<std::string> told;
  for (const Expression expression : expressions) {
    ExpressionReader reader(expression, this);
    const ConfigValue value = reader.read();
    for (const auto& [pointer, shown] : reader.seen()) {
      if (told.insert(pointer).second) {
        text.append(text.empty() ? "" : ", ").append(pointer).append(" is ").append(shown);
      }
    }
    for (const std::string& pointer : value.missing) {
      if (told.insert(pointer).second) {
        const auto& nulls = value.nulls;
        const bool is_null = std::find(nulls.begin(), nulls.end(), pointer) != nulls.end();
        text.append(text.empty() ? "" : ", ").append(pointer);
        text.append(is_null ? " is null" : " is not given");
      }
    }
  }
  return text;
}

}  // namespace heddle
