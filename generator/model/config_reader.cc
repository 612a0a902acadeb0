#include "generator/model/config_reader.h"

#include <utility>

namespace heddle {

const Node* ConfigReader::find(std::string_view key) const {
  const Node* node = node_.find(key);
  return node != nullptr && node->kind == Node::Kind::kNull ? nullptr : node;
}

std::string_view ConfigReader::spelling(const std::vector<std::string_view>& keys) const {
  for (const std::string_view key : keys) {
    if (has(key)) return key;
  }
  return keys.front();
}

void ConfigReader::add(std::string_view what, std::string_view key, std::string message,
                       std::string allowed) const {
  const Node* node = find(key);
  findings_.add(what, {pointer(key), std::move(message),
                       node == nullptr ? std::string() : excerpt(*node), std::move(allowed), ""});
}

std::int64_t ConfigReader::checked_size(const Node& node, std::string_view key,
                                        std::int64_t max) const {
  const std::optional<std::int64_t> value = node.as_integer();
  if (!value) {
    add("wrong_type", key, "must be an integer");
  } else if (*value < 1 || *value > max) {
    add("out_of_range", key, "is out of range", "1 to " + std::to_string(max));
  } else {
    return *value;
  }
  return 1;
}

std::int64_t ConfigReader::required_size(std::string_view key, std::int64_t max) const {
  if (const Node* node = find(key)) return checked_size(*node, key, max);
  add("missing_field", key, "the field is required");
  return 1;
}

std::int64_t ConfigReader::size_or(std::string_view key, std::int64_t fallback,
                                   std::int64_t max) const {
  const Node* node = find(key);
  return node == nullptr ? fallback : checked_size(*node, key, max);
}

std::int64_t ConfigReader::required_integer(std::string_view key) const {
  const Node* node = find(key);
  if (node == nullptr) {
    add("missing_field", key, "the field is required");
    return 1;
  }
  const std::optional<std::int64_t> value = node->as_integer();
  if (!value) add("wrong_type", key, "must be an integer");
  return value.value_or(1);
}

double ConfigReader::number_or(std::string_view key, double fallback) const {
  const Node* node = find(key);
  if (node == nullptr) return fallback;
  if (node->kind == Node::Kind::kInteger) return static_cast<double>(node->integer);
  if (node->kind == Node::Kind::kNumber) return node->number;
  add("wrong_type", key, "must be a number");
  return fallback;
}

bool ConfigReader::bool_or(std::string_view key, bool fallback) const {
  const Node* node = find(key);
  if (node == nullptr) return fallback;
  if (node->kind == Node::Kind::kBool) return node->boolean;
  add("wrong_type", key, "must be a boolean");
  return fallback;
}

std::string ConfigReader::required_string(std::string_view key) const {
  if (has(key)) return string_or(key, "");
  add("missing_field", key, "the field is required");
  return {};
}

std::string ConfigReader::string_or(std::string_view key, std::string_view fallback) const {
  const Node* node = find(key);
  if (node == nullptr) return std::string(fallback);
  if (node->kind == Node::Kind::kString) return node->text;
  add("wrong_type", key, "must be a string");
  return std::string(fallback);
}

std::vector<std::string> ConfigReader::strings(std::string_view key) const {
  const Node* node = find(key);
  if (node == nullptr) return {};
  std::vector<std::string> texts;
  bool good = node->kind == Node::Kind::kArray;
  for (const Node& item : node->items) {
    good = good && item.kind == Node::Kind::kString;
    texts.push_back(item.text);
  }
  if (good) return texts;
  add("wrong_type", key, "must be an array of strings");
  return {};
}

std::vector<std::int64_t> ConfigReader::integers(std::string_view key) const {
  const Node* node = find(key);
  if (node == nullptr) return {};
  std::vector<std::int64_t> values;
  bool good = node->kind == Node::Kind::kArray;
  for (const Node& item : node->items) {
    const std::optional<std::int64_t> value = item.as_integer();
    good = good && value.has_value();
    values.push_back(value.value_or(0));
  }
  if (good) return values;
  add("wrong_type", key, "must be an array of integers");
  return {};
}

bool ConfigReader::is_true(std::string_view key) const {
  const Node* node = find(key);
  return node != nullptr && node->kind == Node::Kind::kBool && node->boolean;
}

std::string ConfigReader::text(std::string_view key) const {
  const Node* node = find(key);
  return node != nullptr && node->kind == Node::Kind::kString ? node->text : std::string();
}

const Node* ConfigReader::array(std::string_view key) const {
  const Node* node = find(key);
  if (node == nullptr || node->kind == Node::Kind::kArray) return node;
  add("wrong_type", key, "must be an array");
  return nullptr;
}

const Node* ConfigReader::object(std::string_view key) const {
  const Node* node = find(key);
  if (node == nullptr || node->kind == Node::Kind::kObject) return node;
  add("wrong_type", key, "must be an object");
  return nullptr;
}

}  // namespace heddle
