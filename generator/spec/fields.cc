#include "generator/spec/fields.h"

#include <algorithm>
#include <charconv>

#include "generator/spec/in_quotes.h"

namespace heddle {
namespace {

// "a", "a or b", "a, b or c"
void append_choice(std::string& text, std::string_view choice, bool first, bool last) {
  if (!first) text += last ? " or " : ", ";
  text += choice;
}

std::string integers_text(const Field& field) {
  std::string text;
  for (const std::int64_t also : field.also) text += std::to_string(also) + ", ";
  if (!text.empty()) text += "or ";
  text += std::to_string(field.min);
  if (field.max != field.min) text += " to " + std::to_string(field.max);
  if (field.multiple != 1) text += ", a multiple of " + std::to_string(field.multiple);
  return text;
}

float number_of(std::int64_t value) {
  return std::bit_cast<float>(static_cast<std::int32_t>(value));
}

// The shortest text that reads as the same number of this type.
template <class Number>
std::string number_text(Number value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string words_text(const Field& field) {
  std::string text;
  for (std::size_t i = 0; i < field.choices().size(); ++i) {
    append_choice(text, in_quotes(field.choices()[i]), i == 0, i + 1 == field.choices().size());
  }
  return text;
}

std::string members_text(const FieldTable& table, const Field& field) {
  std::string text;
  for (const Field& child : table.fields) {
    if (child.parent() != field.pointer) continue;
    if (!text.empty()) text += ", ";
    text += field.kind == FieldKind::kTuple ? allowed_text(table, child) : child.name();
  }
  return field.kind == FieldKind::kTuple ? '[' + text + ']' : "an object of " + text;
}

}  // namespace

const Field* FieldTable::find(std::string_view parent, std::string_view name) const noexcept {
  for (const Field& field : fields) {
    if (field.parent() == parent && field.name() == name) return &field;
  }
  return nullptr;
}

const Field* FieldTable::find(std::string_view pointer) const noexcept {
  for (const Field& field : fields) {
    if (field.pointer == pointer) return &field;
  }
  return nullptr;
}

bool holds(const FieldTable& table, const Condition* condition, const void* object) {
  if (condition == nullptr) return false;
  const Field& field = *table.find(condition->pointer);
  const std::optional<std::int64_t> value = field.slot.get(object);
  if (!value || !allows(field, *value)) return false;
  const std::string_view word = field.choices()[static_cast<std::size_t>(*value)];
  return std::find(condition->words.begin(), condition->words.end(), word) !=
         condition->words.end();
}

bool allows(const Field& field, std::int64_t value) noexcept {
  switch (field.kind) {
    case FieldKind::kBool:
      return value == 0 || value == 1;
    case FieldKind::kNumber: {
      // The ends as FP32, too, since they may be rounded out of the range; a NaN is in none.
      const float number = number_of(value);
      return number >= static_cast<float>(field.least) && number <= static_cast<float>(field.most);
    }
    case FieldKind::kWord:
      return value >= 0 && value < static_cast<std::int64_t>(field.choices().size());
    case FieldKind::kInteger:
      if (std::find(field.also.begin(), field.also.end(), value) != field.also.end()) return true;
      return value >= field.min && value <= field.max && value % field.multiple == 0;
    case FieldKind::kObject:
    case FieldKind::kTuple:
    case FieldKind::kList:
    case FieldKind::kLabel:
      break;
  }
  return false;
}

bool allows(const Field& field, const std::vector<int>& values) noexcept {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] > field.max) return false;
    if (std::find(values.begin(), values.begin() + i, values[i]) != values.begin() + i)
      return false;
  }
  return true;
}

std::string why_not(const Field& field, std::int64_t value) {
  const bool is_other = field.kind == FieldKind::kInteger && value >= field.min &&
                        value <= field.max && value % field.multiple != 0;
  return is_other ? "is not a multiple of " + std::to_string(field.multiple) : "is out of range";
}

std::string why_not(const Field& field, const std::vector<int>& values) {
  const bool in_range = std::all_of(values.begin(), values.end(),
                                    [&](int value) { return value >= 0 && value <= field.max; });
  return in_range ? "has a value twice" : "has a value out of range";
}

std::int64_t same_value(const Field& other, std::int64_t value, const Field& field) {
  if (field.kind != FieldKind::kWord) return value;
  const std::string_view same = other.choices()[static_cast<std::size_t>(value)];
  const auto word = std::find(field.choices().begin(), field.choices().end(), same);
  const bool is_none = word == field.choices().end() || same == field.no_default;
  return is_none ? field.default_otherwise : word - field.choices().begin();
}

std::string allowed_text(const FieldTable& table, const Field& field) {
  switch (field.kind) {
    case FieldKind::kInteger:
      return integers_text(field);
    case FieldKind::kNumber:
      return "numbers from " + number_text(field.least) + " to " + number_text(field.most);
    case FieldKind::kBool:
      return "true or false";
    case FieldKind::kWord:
      return words_text(field);
    case FieldKind::kList:
      return "a list of distinct integers from 0 to " + std::to_string(field.max);
    case FieldKind::kLabel:
      return std::to_string(field.min) + " to " + std::to_string(field.max) +
             " characters of A-Z, a-z, 0-9, \".\", \"_\", \"-\"";
    case FieldKind::kObject:
    case FieldKind::kTuple:
      break;
  }
  return members_text(table, field);
}

std::span<const std::string_view> Field::choices() const noexcept {
  return is_operation ? operation_words() : words;
}

std::string value_text(const Field& field, std::int64_t value) {
  if (field.kind == FieldKind::kBool) return value != 0 ? "true" : "false";
  if (field.kind == FieldKind::kNumber) return number_text(number_of(value));
  if (field.kind == FieldKind::kWord)
    return in_quotes(field.choices()[static_cast<std::size_t>(value)]);
  return std::to_string(value);
}

std::string value_text(const std::vector<int>& values) {
  std::string text;
  for (const int value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return '[' + text + ']';
}

}  // namespace heddle
