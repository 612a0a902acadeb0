#include "generator/model/config_values.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

using Kind = ConfigValue::Kind;

ConfigValue number_of(double number) {
  ConfigValue value;
  value.kind = Kind::kNumber;
  value.number = number;
  return value;
}

ConfigValue text_of(std::string text) {
  ConfigValue value;
  value.kind = Kind::kText;
  value.text = std::move(text);
  return value;
}

// Null, with what was looked for in both.
ConfigValue nothing(ConfigValue a, const ConfigValue& b) {
  ConfigValue value;
  value.missing = std::move(a.missing);
  value.missing.insert(value.missing.end(), b.missing.begin(), b.missing.end());
  return value;
}

ConfigValue value_of(const Node& node, std::string pointer) {
  ConfigValue value;
  value.pointer = std::move(pointer);
  value.kind = Kind::kNumber;
  switch (node.kind) {
    case Node::Kind::kNull:
      value.kind = Kind::kNull;
      break;
    case Node::Kind::kBool:
      value.number = node.boolean ? 1 : 0;
      break;
    case Node::Kind::kInteger:
      value.number = static_cast<double>(node.integer);
      break;
    case Node::Kind::kNumber:
      value.number = node.number;
      break;
    case Node::Kind::kString:
      value.kind = Kind::kText;
      value.text = node.text;
      break;
    case Node::Kind::kArray:
    case Node::Kind::kObject:
      value.kind = Kind::kNode;
      value.node = &node;
      break;
  }
  return value;
}

ConfigValue field(const ConfigReader& config, std::string_view key) {
  const Node* node = config.node(key);
  if (node != nullptr) return value_of(*node, config.pointer(key));
  ConfigValue value;
  value.missing.push_back(config.pointer(key));
  return value;
}

bool same(const ConfigValue& a, const ConfigValue& b) {
  return a.kind == b.kind && (a.kind == Kind::kText ? a.text == b.text : a.number == b.number);
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

// Reads an expression from left to right and works it out at once. With skip_ it is only read: the
// other side of an operator has decided.
class ExpressionReader {
 public:
  ExpressionReader(Expression text, ConfigValues* values) : text_(text), values_(*values) {}

  ConfigValue read() {
    ConfigValue value = alternatives();
    space();
    if (at_ != text_.size()) malformed();
    return value;
  }

  // Every field that was looked at, for messages.
  const std::vector<std::pair<std::string, std::string>>& seen() const noexcept { return seen_; }

 private:
  [[noreturn]] void malformed() const {
    throw Error(ErrorCategory::kInternal, "model.expression",
                "not an expression: " + std::string(text_));
  }

  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool take(std::string_view token) {
    space();
    if (text_.substr(at_, token.size()) != token) return false;
    const bool word = is_word(token.back());
    const std::size_t end = at_ + token.size();
    if (word && end < text_.size() && is_word(text_[end])) return false;
    at_ = end;
    return true;
  }

  void expect(std::string_view token) {
    if (!take(token)) malformed();
  }

  ConfigValue alternatives() {
    ConfigValue value = either();
    while (take("??")) {
      const bool decided = skip_ || !value.is_null();
      ConfigValue other = skipping(decided, [&] { return either(); });
      if (decided) continue;
      value = other.is_null() ? nothing(std::move(value), other) : std::move(other);
    }
    return value;
  }

  template <typename Read>
  ConfigValue skipping(bool skip, Read read) {
    const bool before = std::exchange(skip_, skip_ || skip);
    ConfigValue value = read();
    skip_ = before;
    return value;
  }

  ConfigValue either() {
    ConfigValue value = both();
    while (take("||")) {
      const bool decided = !value.is_null() && truth(value);
      ConfigValue other = skipping(decided, [&] { return both(); });
      if (decided || skip_) continue;
      value = value.is_null() || other.is_null() ? nothing(std::move(value), other)
                                                 : number_of(truth(other) ? 1 : 0);
    }
    return value;
  }

  ConfigValue both() {
    ConfigValue value = compared();
    while (take("&&")) {
      const bool decided = !value.is_null() && !truth(value);
      ConfigValue other = skipping(decided, [&] { return compared(); });
      if (decided || skip_) continue;
      value = value.is_null() || other.is_null() ? nothing(std::move(value), other)
                                                 : number_of(truth(other) ? 1 : 0);
    }
    return value;
  }

  ConfigValue compared() {
    ConfigValue a = sum();
    for (const std::string_view sign : {"==", "!=", "<=", ">=", "<", ">", "has"}) {
      if (!take(sign)) continue;
      const ConfigValue b = sum();
      if (skip_) return a;
      if (a.is_null() || b.is_null()) return nothing(std::move(a), b);
      if (sign == "has") return number_of(has(a, b) ? 1 : 0);
      if (sign == "==") return number_of(same(a, b) ? 1 : 0);
      if (sign == "!=") return number_of(same(a, b) ? 0 : 1);
      const double left = number(a);
      const double right = number(b);
      return number_of((sign == "<"    ? left < right
                        : sign == "<=" ? left <= right
                        : sign == ">"  ? left > right
                                       : left >= right)
                           ? 1
                           : 0);
    }
    return a;
  }

  ConfigValue sum() {
    ConfigValue value = product();
    while (true) {
      const char sign = take("+") ? '+' : take("-") ? '-' : 0;
      if (sign == 0) return value;
      value = arithmetic(std::move(value), sign, product());
    }
  }

  ConfigValue product() {
    ConfigValue value = single();
    while (true) {
      const char sign = take("*") ? '*' : take("/") ? '/' : take("%") ? '%' : 0;
      if (sign == 0) return value;
      value = arithmetic(std::move(value), sign, single());
    }
  }

  ConfigValue arithmetic(ConfigValue a, char sign, const ConfigValue& b) {
    if (skip_ || a.is_null() || b.is_null()) return nothing(std::move(a), b);
    const double left = number(a);
    const double right = number(b);
    switch (sign) {
      case '+':
        return number_of(left + right);
      case '-':
        return number_of(left - right);
      case '*':
        return number_of(left * right);
      case '%':
        return number_of(right == 0 ? 0 : std::fmod(left, right));
      default:
        break;
    }
    const bool whole = left == std::floor(left) && right == std::floor(right);
    if (right == 0 || (whole && std::fmod(left, right) != 0)) {
      if (values_.config().findings().empty()) {
        values_.add("out_of_range",
                    {b.pointer, "does not divide " + plain(left), plain(right), "a divisor", ""});
      }
      return number_of(1);
    }
    return number_of(left / right);
  }

  ConfigValue single() {
    if (take("!")) {
      ConfigValue value = single();
      return skip_ || value.is_null() ? value : number_of(truth(value) ? 0 : 1);
    }
    if (take("(")) {
      ConfigValue value = alternatives();
      expect(")");
      return value;
    }
    if (take("'")) return quoted_text();
    space();
    if (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') return digits();
    return word();
  }

  ConfigValue quoted_text() {
    const std::size_t end = text_.find('\'', at_);
    if (end == text_.npos) malformed();
    std::string text(text_.substr(at_, end - at_));
    at_ = end + 1;
    return text_of(std::move(text));
  }

  ConfigValue digits() {
    std::string text;
    while (at_ < text_.size() && ((text_[at_] >= '0' && text_[at_] <= '9') || text_[at_] == '.')) {
      text += text_[at_++];
    }
    double number = 0;
    double place = 0;
    for (const char c : text) {
      if (c == '.') {
        place = 1;
        continue;
      }
      number = number * 10 + (c - '0');
      place *= 10;
    }
    return number_of(place == 0 ? number : number / place);
  }

  std::string_view name() {
    space();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (begin == at_) malformed();
    return text_.substr(begin, at_ - begin);
  }

  ConfigValue word() {
    const std::string_view first = name();
    if (first == "true") return number_of(1);
    if (first == "false") return number_of(0);
    if (first == "null") return {};
    if (first == "layer") {
      values_.depends_on_layer_ = values_.depends_on_layer_ || !skip_;
      return number_of(static_cast<double>(values_.layer_));
    }
    if (at_ < text_.size() && text_[at_] == '(') return function(first);
    if (first == "root") {
      expect(".");
      const std::string_view key = name();
      return path(skip_ ? ConfigValue{} : field(values_.root_, key));
    }
    return path(skip_ ? ConfigValue{} : values_.named(first));
  }

  // .member and [index] behind a value.
  ConfigValue path(ConfigValue value) {
    while (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == '[')) {
      if (text_[at_++] == '.') {
        value = member(std::move(value), name());
      } else {
        const ConfigValue index = alternatives();
        expect("]");
        value = item(std::move(value), index);
      }
    }
    if (!skip_ && !value.pointer.empty()) seen_.emplace_back(value.pointer, shown(value));
    return value;
  }

  ConfigValue member(ConfigValue value, std::string_view key) {
    if (skip_) return value;
    const Node* found = value.kind == Kind::kNode && value.node->kind == Node::Kind::kObject
                            ? value.node->find(key)
                            : nullptr;
    std::string pointer = value.missing.empty() ? child_pointer(value.pointer, key)
                                                : child_pointer(value.missing.back(), key);
    if (found != nullptr && found->kind != Node::Kind::kNull) return value_of(*found, pointer);
    ConfigValue none;
    none.missing.push_back(std::move(pointer));
    return none;
  }

  ConfigValue item(ConfigValue value, const ConfigValue& index) {
    if (skip_ || value.is_null() || index.is_null()) return nothing(std::move(value), index);
    const double at = number(index);
    const bool is_text = value.kind == Kind::kText;
    const bool is_list = value.kind == Kind::kNode && value.node->kind == Node::Kind::kArray;
    const std::size_t size = is_text ? value.text.size() : is_list ? value.node->items.size() : 0;
    if (!is_text && !is_list) {
      wrong_type(value, "must be an array");
      return {};
    }
    if (at < 0 || at >= static_cast<double>(size)) {
      values_.add("out_of_range", {value.pointer, "has no entry for decoder layer " + plain(at),
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

  ConfigValue function(std::string_view called) {
    expect("(");
    ConfigValue value = alternatives();
    ConfigValue step = number_of(1);
    if (called == "even" || called == "quotient" || called == "ratio") {
      expect(",");
      step = alternatives();
    }
    expect(")");
    if (called == "length") {
      if (skip_ || value.is_null()) return value;
      if (value.kind != Kind::kNode) wrong_type(value, "must be an array");
      return number_of(value.kind == Kind::kNode ? static_cast<double>(value.node->items.size())
                                                 : 1);
    }
    if (called == "given") return skip_ ? value : number_of(value.is_null() ? 0 : 1);
    if (called != "floor" && called != "even" && called != "quotient" && called != "ratio") {
      malformed();
    }
    if (skip_ || value.is_null()) return value;
    if (called == "ratio") return number_of(number(step) == 0 ? 1 : number(value) / number(step));
    const double unit = number(step);
    if (called == "floor") return number_of(std::floor(number(value)));
    if (called == "quotient") return number_of(unit < 1 ? 1 : std::floor(number(value) / unit));
    return number_of(unit < 1 ? 1 : std::ceil(number(value) / unit) * unit);
  }

  static bool has(const ConfigValue& list, const ConfigValue& value) {
    if (list.kind != Kind::kNode) return false;
    return std::any_of(list.node->items.begin(), list.node->items.end(),
                       [&](const Node& item) { return same(value_of(item, ""), value); });
  }

  bool truth(const ConfigValue& value) { return number(value) != 0; }

  double number(const ConfigValue& value) {
    if (value.kind == Kind::kNumber) return value.number;
    wrong_type(value, "must be a number");
    return 1;
  }

  void wrong_type(const ConfigValue& value, const char* what) {
    values_.add("wrong_type", {value.pointer, what, shown(value), "", ""});
  }

  static std::string plain(double number) {
    constexpr double kLargest = 9e15;
    if (!(number > -kLargest && number < kLargest)) return "a number beyond all sizes";
    const auto whole = static_cast<std::int64_t>(number);
    return static_cast<double>(whole) == number ? std::to_string(whole) : std::to_string(number);
  }

  static std::string shown(const ConfigValue& value) {
    switch (value.kind) {
      case Kind::kNumber:
        return plain(value.number);
      case Kind::kText:
        return '"' + excerpt(value.text) + '"';
      case Kind::kNode:
        return excerpt(*value.node);
      case Kind::kNull:
        break;
    }
    return "null";
  }

  Expression text_;
  ConfigValues& values_;
  std::size_t at_ = 0;
  bool skip_ = false;
  std::vector<std::pair<std::string, std::string>> seen_;
};

ConfigValues::ConfigValues(const ConfigReader& config, const ConfigReader& root,
                           std::span<const NamedExpression> defaults,
                           std::span<const NamedExpression> names)
    : config_(config), root_(root) {
  for (const NamedExpression& name : defaults) names_[name.name] = name.is;
  for (const NamedExpression& name : names) names_[name.name] = name.is;
}

void ConfigValues::set_layer(std::int64_t layer) {
  layer_ = layer;
  depends_on_layer_ = false;
  known_.clear();
}

ConfigValue ConfigValues::named(std::string_view name) {
  const auto found = names_.find(name);
  if (found == names_.end() || open_.count(name) != 0) {
    return field(config_, name);
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

void ConfigValues::add(std::string_view what, Problem problem) {
  if (!wrong_.insert(problem.pointer).second) return;
  config_.findings().add(what, std::move(problem));
}

void ConfigValues::add_missing(const ConfigValue& value, Expression expression) {
  std::vector<std::string> missing = value.missing;
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  if (missing.empty()) {
    add("missing_field", {"", "the config does not say " + std::string(expression), "", "", ""});
    return;
  }
  std::string others;
  for (const std::string& pointer : missing) others += (others.empty() ? "" : ", ") + pointer;
  add("missing_field",
      {value.missing.front(),
       missing.size() == 1 ? "the field is required" : "one of these fields is required: " + others,
       "", "", ""});
}

std::int64_t ConfigValues::integer(Expression expression, std::int64_t min, std::int64_t max) {
  const ConfigValue result = value(expression);
  if (result.is_null()) {
    add_missing(result, expression);
    return std::max<std::int64_t>(min, 1);
  }
  const std::string what =
      result.pointer.empty() ? std::string(expression) + " is" : std::string("is");
  if (result.kind != Kind::kNumber) {
    add("wrong_type",
        {result.pointer, "must be an integer", "\"" + excerpt(result.text) + "\"", "", ""});
  } else if (result.number != std::floor(result.number)) {
    add("wrong_type",
        {result.pointer, "must be an integer", std::to_string(result.number), "", ""});
  } else if (result.number < static_cast<double>(min) || result.number > static_cast<double>(max)) {
    add("out_of_range",
        {result.pointer, what + " out of range",
         std::to_string(static_cast<std::int64_t>(std::clamp(result.number, -9e15, 9e15))),
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
  if (!result.is_null() && result.kind != Kind::kNumber) {
    add("wrong_type", {result.pointer, "must be a number", excerpt(result.text), "", ""});
  }
  return result.kind == Kind::kNumber ? result.number : 1;
}

bool ConfigValues::flag(Expression expression) { return number(expression) != 0; }

std::string ConfigValues::text(Expression expression) {
  const ConfigValue result = value(expression);
  if (result.is_null()) add_missing(result, expression);
  if (!result.is_null() && result.kind != Kind::kText) {
    add("wrong_type", {result.pointer, "must be a string", "", "", ""});
  }
  return result.text;
}

std::string ConfigValues::fields_of(std::span<const Expression> expressions) {
  std::string text;
  std::set<std::string> told;
  for (const Expression expression : expressions) {
    ExpressionReader reader(expression, this);
    const ConfigValue value = reader.read();
    for (const auto& [pointer, shown] : reader.seen()) {
      if (told.insert(pointer).second) {
        text += (text.empty() ? "" : ", ") + pointer + " is " + shown;
      }
    }
    for (const std::string& pointer : value.missing) {
      if (told.insert(pointer).second)
        text += (text.empty() ? "" : ", ") + pointer + " is not given";
    }
  }
  return text;
}

}  // namespace heddle
