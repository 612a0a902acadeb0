// ExpressionReader: works out one expression over a config's fields.
#ifndef HEDDLE_GENERATOR_MODEL_EXPRESSION_READER_H_
#define HEDDLE_GENERATOR_MODEL_EXPRESSION_READER_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/model/expression_scope.h"

namespace heddle {

// Reads an expression from left to right and works it out at once, by recursive descent.
class ExpressionReader {
 public:
  // Both outlive the reader.
  ExpressionReader(Expression text, ExpressionScope* scope) : text_(text), scope_(*scope) {}

  // Once. Throws Error(kInternal) for a text that is no expression.
  ConfigValue read();
  // Every field that was looked at with its value, for messages.
  const std::vector<std::pair<std::string, std::string>>& seen() const noexcept { return seen_; }

 private:
  // From the weakest operator to the strongest.
  ConfigValue alternatives();
  ConfigValue either();
  ConfigValue both();
  ConfigValue compared();
  ConfigValue sum();
  ConfigValue product();
  ConfigValue single();

  ConfigValue quoted_text();
  ConfigValue digits();
  ConfigValue word();
  ConfigValue function(std::string_view called);
  ConfigValue value_or_class_default(std::string_view called, const ConfigValue& value,
                                     const ConfigValue& usual);
  // .member and [index] behind a value.
  ConfigValue path(ConfigValue value);
  ConfigValue member(const ConfigValue& value, std::string_view key);
  ConfigValue item(const ConfigValue& value, const ConfigValue& index);
  // A list's entry for the layer; another value as it is.
  ConfigValue of_layer(const ConfigValue& value);
  // The value of `a`, the operator `sign` and `b`.
  ConfigValue arithmetic(const ConfigValue& a, char sign, const ConfigValue& b);
  double result_of(double left, char sign, double right, const std::string& field);
  double quotient(double left, double right, const std::string& divisor);
  double remainder(double left, double right, const std::string& interval);
  ConfigValue is_among(const ConfigValue& list, const ConfigValue& value);

  void space();
  bool take(std::string_view token);
  void expect(std::string_view token);
  std::string_view name();
  template <typename Read>
  ConfigValue skipping(bool skip, Read read);
  [[noreturn]] void malformed() const;

  double number(const ConfigValue& value);
  bool truth(const ConfigValue& value);
  void wrong_type(const ConfigValue& value, const char* what);
  // A place for messages on a value that is no field itself.
  const std::string& place_of(const ConfigValue& value) const;
  void check_field(const ConfigValue& value);
  void check_factor(const ConfigValue& value);

  Expression text_;
  ExpressionScope& scope_;
  std::size_t at_ = 0;
  std::string field_;  // the last one that was looked at, here or for a name
  bool skip_ = false;  // it is only read: the other side of an operator has decided
  std::vector<std::pair<std::string, std::string>> seen_;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_EXPRESSION_READER_H_
