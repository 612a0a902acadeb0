#include "generator/model/expression_reader.h"

#include <algorithm>
#include <cmath>

#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

using ValueKind = ConfigValue::Kind;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_object(const ConfigValue& value) {
  return value.kind == ValueKind::kNode && value.node->kind == Node::Kind::kObject;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

bool compare(std::string_view sign, double left, double right) {
  if (sign == "<") return left < right;
  if (sign == "<=") return left <= right;
  if (sign == ">") return left > right;
  return left >= right;
}

}  // namespace

void ExpressionReader::malformed() const {
  throw Error(ErrorCategory::kInternal, "model.expression",
              "not an expression: " + std::string(text_));
}

void ExpressionReader::space() {
  while (at_ < text_.size() && text_[at_] == ' ') ++at_;
}

// A word is a token only where it ends.
bool ExpressionReader::take(std::string_view token) {
  space();
  if (text_.substr(at_, token.size()) != token) return false;
  const std::size_t end = at_ + token.size();
  if (is_word(token.back()) && end < text_.size() && is_word(text_[end])) return false;
  at_ = end;
  return true;
}

void ExpressionReader::expect(std::string_view token) {
  if (!take(token)) malformed();
}

std::string_view ExpressionReader::name() {
  space();
  const std::size_t begin = at_;
  while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  if (begin == at_) malformed();
  return text_.substr(begin, at_ - begin);
}

template <typename Read>
ConfigValue ExpressionReader::skipping(bool skip, Read read) {
  const bool before = std::exchange(skip_, skip_ || skip);
  ConfigValue value = read();
  skip_ = before;
  return value;
}

double ExpressionReader::number(const ConfigValue& value) {
  if (value.kind == ValueKind::kNumber && !value.is_boolean) return value.number;
  wrong_type(value, "must be a number");
  return 1;
}

bool ExpressionReader::truth(const ConfigValue& value) {
  if (value.kind == ValueKind::kNumber) return value.number != 0;
  wrong_type(value, "must be a boolean");
  return true;
}

void ExpressionReader::wrong_type(const ConfigValue& value, const char* what) {
  scope_.add("wrong_type", {place_of(value), what, shown(value), "", ""});
}

const std::string& ExpressionReader::place_of(const ConfigValue& value) const {
  if (!value.pointer.empty()) return value.pointer;
  return value.field.empty() ? field_ : value.field;
}

ConfigValue ExpressionReader::read() {
  ConfigValue value = alternatives();
  space();
  if (at_ != text_.size()) malformed();
  value.field = place_of(value);
  return value;
}

ConfigValue ExpressionReader::alternatives() {
  ConfigValue value = either();
  while (take("??")) {
    const bool decided = skip_ || !value.is_null();
    ConfigValue other = skipping(decided, [&] { return either(); });
    if (decided) continue;
    value = other.is_null() ? nothing(value, other) : std::move(other);
  }
  return value;
}

ConfigValue ExpressionReader::either() {
  ConfigValue value = both();
  while (take("||")) {
    const bool decided = skip_ || (!value.is_null() && truth(value));
    const ConfigValue other = skipping(decided, [&] { return both(); });
    if (decided && !skip_) value = truth_of(true);
    if (decided) continue;
    value = value.is_null() || other.is_null() ? nothing(value, other) : truth_of(truth(other));
  }
  return value;
}

ConfigValue ExpressionReader::both() {
  ConfigValue value = compared();
  while (take("&&")) {
    const bool decided = skip_ || (!value.is_null() && !truth(value));
    const ConfigValue other = skipping(decided, [&] { return compared(); });
    if (decided && !skip_) value = truth_of(false);
    if (decided) continue;
    value = value.is_null() || other.is_null() ? nothing(value, other) : truth_of(truth(other));
  }
  return value;
}

ConfigValue ExpressionReader::compared() {
  ConfigValue a = sum();
  for (const std::string_view sign : {"==", "!=", "<=", ">=", "<", ">", "has"}) {
    if (!take(sign)) continue;
    const ConfigValue b = sum();
    if (skip_) return a;
    if (a.is_null() || b.is_null()) return nothing(a, b);
    if (sign == "has") return is_among(a, b);
    if (sign == "==") return truth_of(same(a, b));
    if (sign == "!=") return truth_of(!same(a, b));
    return truth_of(compare(sign, number(a), number(b)));
  }
  return a;
}

// Whether a list of layers holds this one. Another type would hold none, which the config has not
// said; nor has it where an entry is no layer.
ConfigValue ExpressionReader::is_among(const ConfigValue& list, const ConfigValue& value) {
  if (!is_array(list)) {
    wrong_type(list, "must be an array");
    return truth_of(false);
  }
  for (std::size_t i = 0; value.kind == ValueKind::kNumber && i < list.node->items.size(); ++i) {
    const ConfigValue item =
        value_of(list.node->items[i], child_pointer(list.pointer, std::to_string(i)));
    if (item.kind != ValueKind::kNumber || item.is_boolean) wrong_type(item, "must be an integer");
    check_field(item);
  }
  return truth_of(has(list, value));
}

// A product of sides and heads with none of them would leave a part of a matrix out.
void ExpressionReader::check_factor(const ConfigValue& value) {
  const bool is_zero = value.kind == ValueKind::kNumber && value.number == 0 && !value.is_boolean;
  if (!is_zero || value.pointer.empty()) return;
  scope_.add("out_of_range", {value.pointer, "is out of range", "0", "a number from 1 on", ""});
}

// What the config says of sizes, counts and layers is not negative.
void ExpressionReader::check_field(const ConfigValue& value) {
  if (value.kind != ValueKind::kNumber || value.pointer.empty() || value.number >= 0) return;
  scope_.add("out_of_range",
             {value.pointer, "is out of range", shown(value), "a number that is not negative", ""});
}

ConfigValue ExpressionReader::sum() {
  ConfigValue value = product();
  while (true) {
    const char sign = take("+") ? '+' : take("-") ? '-' : 0;
    if (sign == 0) return value;
    value = arithmetic(value, sign, product());
  }
}

ConfigValue ExpressionReader::product() {
  ConfigValue value = single();
  while (true) {
    const char sign = take("*") ? '*' : take("/") ? '/' : take("%") ? '%' : 0;
    if (sign == 0) return value;
    value = arithmetic(value, sign, single());
  }
}

ConfigValue ExpressionReader::arithmetic(const ConfigValue& a, char sign, const ConfigValue& b) {
  if (skip_ || a.is_null() || b.is_null()) return nothing(a, b);
  if (sign == '*') {
    check_factor(a);
    check_factor(b);
  }
  const double left = number(a);
  ConfigValue result = number_of(result_of(left, sign, number(b), b.pointer));
  result.fraction = fraction_of(a).empty() ? fraction_of(b) : fraction_of(a);
  return result;
}

double ExpressionReader::result_of(double left, char sign, double right, const std::string& field) {
  switch (sign) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '%':
      return remainder(left, right, field);
    default:
      return quotient(left, right, field);
  }
}

// The place of a layer in an interval of layers, such as "every sixth layer".
double ExpressionReader::remainder(double left, double right, const std::string& interval) {
  if (right >= 1 && right == std::floor(right)) return std::fmod(left, right);
  scope_.add("out_of_range",
             {interval, "is no interval of layers", plain(right), "an integer from 1 on", ""});
  return 0;
}

// Divides sizes and numbers of heads, which must leave no remainder. If there are findings,
// whatever else is wrong has been reported.
double ExpressionReader::quotient(double left, double right, const std::string& divisor) {
  const bool whole = left == std::floor(left) && right == std::floor(right);
  if (right != 0 && !(whole && std::fmod(left, right) != 0)) return left / right;
  if (scope_.config().findings().empty()) {
    // A number of the family's own divides what comes of the field.
    Problem problem = {divisor, "does not divide " + plain(left), plain(right), "a divisor", ""};
    if (divisor.empty()) {
      problem = {field_, "is no multiple of " + plain(right), plain(left), "a multiple", ""};
    }
    scope_.add("out_of_range", std::move(problem));
  }
  return 1;
}

ConfigValue ExpressionReader::single() {
  if (take("!")) {
    ConfigValue value = single();
    return skip_ || value.is_null() ? value : truth_of(!truth(value));
  }
  if (take("(")) {
    ConfigValue value = alternatives();
    expect(")");
    return value;
  }
  if (take("'")) return quoted_text();
  space();
  if (at_ < text_.size() && is_digit(text_[at_])) return digits();
  return word();
}

ConfigValue ExpressionReader::quoted_text() {
  const std::size_t end = text_.find('\'', at_);
  if (end == text_.npos) malformed();
  std::string text(text_.substr(at_, end - at_));
  at_ = end + 1;
  return text_of(std::move(text));
}

ConfigValue ExpressionReader::digits() {
  double number = 0;
  double unit = 0;  // of the digits behind the point
  for (; at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.'); ++at_) {
    if (text_[at_] == '.') {
      unit = 1;
      continue;
    }
    number = number * 10 + (text_[at_] - '0');
    unit *= 10;
  }
  return number_of(unit == 0 ? number : number / unit);
}

ConfigValue ExpressionReader::word() {
  const std::string_view first = name();
  if (first == "true" || first == "false") {
    ConfigValue value = truth_of(first == "true");
    value.is_boolean = true;
    return value;
  }
  if (first == "null") return {};
  if (first == "layer") {
    return number_of(static_cast<double>(skip_ ? 0 : scope_.take_layer()));
  }
  if (at_ < text_.size() && text_[at_] == '(') return function(first);
  if (first == "root") {
    expect(".");
    const std::string_view key = name();
    return path(skip_ ? ConfigValue() : field_of(scope_.root(), key));
  }
  return path(skip_ ? ConfigValue() : scope_.named(first));
}

ConfigValue ExpressionReader::path(ConfigValue value) {
  if (!skip_ && !place_of(value).empty()) field_ = place_of(value);
  while (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == '[')) {
    if (text_[at_++] == '.') {
      value = member(value, name());
    } else {
      const ConfigValue index = alternatives();
      expect("]");
      value = item(value, index);
    }
  }
  if (!skip_ && !value.pointer.empty()) {
    seen_.emplace_back(value.pointer, shown(value));
    check_field(value);
  }
  return value;
}

ConfigValue ExpressionReader::member(const ConfigValue& value, std::string_view key) {
  if (skip_) return value;
  if (!is_object(value) && !value.is_null()) wrong_type(value, "must be an object");
  const Node* found = is_object(value) ? value.node->find(key) : nullptr;
  std::string pointer =
      child_pointer(value.missing.empty() ? value.pointer : value.missing.back(), key);
  if (found != nullptr && found->kind != Node::Kind::kNull) return value_of(*found, pointer);
  ConfigValue none;
  none.missing.push_back(std::move(pointer));
  if (found != nullptr) none.nulls = none.missing;
  return none;
}

ConfigValue ExpressionReader::item(const ConfigValue& value, const ConfigValue& index) {
  if (skip_ || value.is_null() || index.is_null()) return nothing(value, index);
  const bool is_text = value.kind == ValueKind::kText;
  const bool is_list = is_array(value);
  if (is_object(value)) return member(value, plain(number(index)));
  if (!is_text && !is_list) {
    wrong_type(value, "must be an array");
    return {};
  }
  const double at = number(index);
  const std::size_t size = is_text ? value.text.size() : value.node->items.size();
  if (at < 0 || at >= static_cast<double>(size)) {
    scope_.add("out_of_range", {value.pointer, "has no entry for decoder layer " + plain(at),
                                std::to_string(size) + " entries", "one for each layer", ""});
    return {};
  }
  const auto i = static_cast<std::size_t>(at);
  const std::string pointer = child_pointer(value.pointer, std::to_string(i));
  if (is_list) return value_of(value.node->items[i], pointer);
  ConfigValue character = text_of(value.text.substr(i, 1));
  character.pointer = pointer;
  return character;
}

ConfigValue ExpressionReader::of_layer(const ConfigValue& value) {
  if (!is_array(value)) return value;
  return item(value, number_of(static_cast<double>(scope_.take_layer())));
}

// A field that model classes have a default for.
ConfigValue ExpressionReader::value_or_class_default(std::string_view called,
                                                     const ConfigValue& value,
                                                     const ConfigValue& usual) {
  if (!value.is_null() || value.is_said() || scope_.leaves_missing()) return value;
  if (called == "required_else") {
    scope_.add_missing(value, text_, usual.is_null() ? std::string() : shown(usual));
  } else {
    const std::string field = value.missing.empty() ? std::string(text_) : value.missing.front();
    scope_.assume(field + " is " + shown(usual) + ", since the config does not say it");
  }
  return usual;
}

ConfigValue ExpressionReader::function(std::string_view called) {
  constexpr std::string_view kOfOne[] = {"given", "length", "floor", "sqrt", "of_layer"};
  constexpr std::string_view kOfTwo[] = {"even", "quotient", "ratio",
                                         "when", "assumed",  "required_else"};
  const auto is_in = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), called) != std::end(names);
  };
  if (!is_in(kOfOne) && !is_in(kOfTwo)) malformed();
  expect("(");
  ConfigValue value = alternatives();
  ConfigValue other = number_of(1);
  if (is_in(kOfTwo)) {
    expect(",");
    const bool decided = called == "when" && !skip_ && (value.is_null() || !truth(value));
    other = skipping(decided, [&] { return alternatives(); });
    if (decided) other = {};
  }
  expect(")");
  if (skip_) return value;
  if (called == "when") return other;
  if (called == "assumed" || called == "required_else")
    return value_or_class_default(called, value, other);
  if (called == "given") return truth_of(!value.is_null());
  if (called == "of_layer") return of_layer(value);
  if (value.is_null() || other.is_null()) return nothing(value, other);
  if (called == "length") {
    if (value.kind == ValueKind::kNode)
      return number_of(static_cast<double>(value.node->items.size()));
    wrong_type(value, "must be an array");
    return number_of(1);
  }
  const double left = number(value);
  const double right = number(other);
  if (called == "floor") return number_of(std::floor(left));
  if (called == "sqrt") return number_of(left < 0 ? 0 : std::sqrt(left));
  if (right == 0) return number_of(1);
  if (called == "ratio") return number_of(left / right);
  return number_of(called == "even" ? std::ceil(left / right) * right : std::floor(left / right));
}

}  // namespace heddle
