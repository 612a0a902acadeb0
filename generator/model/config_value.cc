#include "generator/model/config_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "generator/spec/document.h"

namespace heddle {

using ValueKind = ConfigValue::Kind;

ConfigValue number_of(double number) {
  ConfigValue value;
  value.kind = ValueKind::kNumber;
  value.number = number;
  return value;
}

ConfigValue truth_of(bool holds) { return number_of(holds ? 1 : 0); }

ConfigValue text_of(std::string text) {
  ConfigValue value;
  value.kind = ValueKind::kText;
  value.text = std::move(text);
  return value;
}

ConfigValue nothing(const ConfigValue& a, const ConfigValue& b) {
  ConfigValue value;
  value.missing = a.missing;
  value.missing.insert(value.missing.end(), b.missing.begin(), b.missing.end());
  value.nulls = a.nulls;
  value.nulls.insert(value.nulls.end(), b.nulls.begin(), b.nulls.end());
  return value;
}

ConfigValue value_of(const Node& node, std::string pointer) {
  ConfigValue value;
  value.pointer = std::move(pointer);
  value.kind = ValueKind::kNumber;
  switch (node.kind) {
    case Node::Kind::kNull:
      value.kind = ValueKind::kNull;
      break;
    case Node::Kind::kBool:
      value.number = node.boolean ? 1 : 0;
      value.is_boolean = true;
      break;
    case Node::Kind::kInteger:
      value.number = static_cast<double>(node.integer);
      break;
    case Node::Kind::kNumber:
      value.number = node.number;
      break;
    case Node::Kind::kString:
      value.kind = ValueKind::kText;
      value.text = node.text;
      break;
    case Node::Kind::kArray:
    case Node::Kind::kObject:
      value.kind = ValueKind::kNode;
      value.node = &node;
      break;
  }
  return value;
}

bool same(const ConfigValue& a, const ConfigValue& b) {
  return a.kind == b.kind && (a.kind == ValueKind::kText ? a.text == b.text : a.number == b.number);
}

bool is_array(const ConfigValue& value) {
  return value.kind == ValueKind::kNode && value.node->kind == Node::Kind::kArray;
}

bool has(const ConfigValue& list, const ConfigValue& value) {
  return std::any_of(list.node->items.begin(), list.node->items.end(),
                     [&](const Node& item) { return same(value_of(item, ""), value); });
}

std::string fraction_of(const ConfigValue& value) {
  if (!value.fraction.empty() || value.pointer.empty()) return value.fraction;
  const bool whole = value.kind != ValueKind::kNumber || value.number == std::floor(value.number);
  return whole ? std::string() : value.pointer;
}

std::string plain(double number) {
  constexpr double kLargest = 9e15;
  if (!(number > -kLargest && number < kLargest)) return "a number beyond all sizes";
  const auto whole = static_cast<std::int64_t>(number);
  if (static_cast<double>(whole) == number) return std::to_string(whole);
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

std::string shown(const ConfigValue& value) {
  switch (value.kind) {
    case ValueKind::kNumber:
      if (value.is_boolean) return value.number != 0 ? "true" : "false";
      return plain(value.number);
    case ValueKind::kText:
      return '"' + excerpt(value.text) + '"';
    case ValueKind::kNode:
      return excerpt(*value.node);
    case ValueKind::kNull:
      break;
  }
  return "null";
}

ConfigValue field_of(const ConfigReader& config, std::string_view key) {
  const Node* node = config.node(key);
  if (node != nullptr) return value_of(*node, config.pointer(key));
  ConfigValue value;
  value.missing.push_back(config.pointer(key));
  if (config.whole().find(key) != nullptr) value.nulls = value.missing;
  return value;
}

}  // namespace heddle
