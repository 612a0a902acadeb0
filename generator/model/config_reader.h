// ConfigReader: typed access to the fields of one JSON object; errors are collected.
#ifndef HEDDLE_GENERATOR_MODEL_CONFIG_READER_H_
#define HEDDLE_GENERATOR_MODEL_CONFIG_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/spec/document.h"
#include "generator/spec/findings.h"

namespace heddle {

// A field that is null counts as absent. A getter that finds a wrong value adds a finding
// ("missing_field", "wrong_type", "out_of_range") and returns its fallback, so that one pass finds
// everything; call Findings::throw_if_any before the values are used.
class ConfigReader {
 public:
  // `node` is an object and outlives the reader, as does `findings`.
  ConfigReader(const Node& node, std::string pointer, Findings& findings)
      : node_(node), pointer_(std::move(pointer)), findings_(findings) {}

  bool has(std::string_view key) const { return find(key) != nullptr; }
  // The first of `keys` (other spellings of the same field) that is there, else the first.
  std::string_view spelling(const std::vector<std::string_view>& keys) const;

  // 1 <= value <= max.
  std::int64_t required_size(std::string_view key, std::int64_t max) const;
  std::int64_t size_or(std::string_view key, std::int64_t fallback, std::int64_t max) const;
  std::int64_t required_integer(std::string_view key) const;
  // An integer or a fraction.
  double number_or(std::string_view key, double fallback) const;
  bool bool_or(std::string_view key, bool fallback) const;
  std::string required_string(std::string_view key) const;
  std::string string_or(std::string_view key, std::string_view fallback) const;
  // Empty where absent.
  std::vector<std::string> strings(std::string_view key) const;
  std::vector<std::int64_t> integers(std::string_view key) const;
  // For fields that may be of several types: no finding where the field is of another one.
  bool is_true(std::string_view key) const;
  std::string text(std::string_view key) const;
  // Null (with a finding where it is there and no object) or the object.
  const Node* object(std::string_view key) const;
  // As object(), for an array.
  const Node* array(std::string_view key) const;
  // The object itself.
  const Node& whole() const { return node_; }
  // Null or the field, whatever it is.
  const Node* node(std::string_view key) const { return find(key); }

  void add(std::string_view what, std::string_view key, std::string message,
           std::string allowed = {}) const;
  // The pointer of the object itself.
  const std::string& pointer() const noexcept { return pointer_; }
  std::string pointer(std::string_view key) const { return child_pointer(pointer_, key); }
  Findings& findings() const { return findings_; }

 private:
  const Node* find(std::string_view key) const;
  std::int64_t checked_size(const Node& node, std::string_view key, std::int64_t max) const;

  const Node& node_;
  std::string pointer_;
  Findings& findings_;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_CONFIG_READER_H_
