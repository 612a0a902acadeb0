// ConfigValue: what an expression over a config's fields yields.
#ifndef HEDDLE_GENERATOR_MODEL_CONFIG_VALUE_H_
#define HEDDLE_GENERATOR_MODEL_CONFIG_VALUE_H_

#include <string>
#include <string_view>
#include <vector>

#include "generator/model/config_reader.h"

namespace heddle {

struct ConfigValue {
  enum class Kind { kNull, kNumber, kText, kNode };

  Kind kind = Kind::kNull;
  double number = 0;  // of a boolean 0 or 1
  bool is_boolean = false;
  std::string text;
  const Node* node = nullptr;        // kNode: an array or an object
  std::string pointer;               // of the field, where it is one
  std::string field;                 // one that it was worked out from, for messages
  std::string fraction;              // of a field whose fraction it was worked out from
  std::vector<std::string> missing;  // pointers of fields that were looked for in vain
  std::vector<std::string> nulls;    // those of them that the config has, as null

  bool is_null() const noexcept { return kind == Kind::kNull; }
  // Of null: a field is null, and not missing.
  bool is_said() const noexcept { return !nulls.empty(); }
};

ConfigValue number_of(double number);
ConfigValue truth_of(bool holds);
ConfigValue text_of(std::string text);
// The value of a field.
ConfigValue value_of(const Node& node, std::string pointer);
// The field of that name, null where it is absent.
ConfigValue field_of(const ConfigReader& config, std::string_view key);
// Null, with what was looked for in both.
ConfigValue nothing(const ConfigValue& a, const ConfigValue& b);

bool same(const ConfigValue& a, const ConfigValue& b);
bool is_array(const ConfigValue& value);
// Precondition: is_array(list).
bool has(const ConfigValue& list, const ConfigValue& value);
// The field of a fraction that a number was worked out from; empty if there is none.
std::string fraction_of(const ConfigValue& value);

// For messages: a number without needless digits; a value as the config has it, in short.
std::string plain(double number);
std::string shown(const ConfigValue& value);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_CONFIG_VALUE_H_
