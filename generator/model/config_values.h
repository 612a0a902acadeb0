// ConfigValues: the values of expressions over the fields of a model's config.
#ifndef HEDDLE_GENERATOR_MODEL_CONFIG_VALUES_H_
#define HEDDLE_GENERATOR_MODEL_CONFIG_VALUES_H_

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/model/expression_scope.h"

namespace heddle {

// A name that expressions may use for another one. In its own expression it means the field of that
// name: {"head_dim", "head_dim ?? hidden / heads"}.
struct NamedExpression {
  std::string_view name;
  Expression is;
};

// Wrong fields are findings of the reader, each field once; what is returned for them is good for
// nothing but further expressions. Not thread-safe: it remembers values.
class ConfigValues : public ExpressionScope {
 public:
  // The readers, names and expressions outlive it. `names` are looked up from the last to the
  // first.
  ConfigValues(const ConfigReader& config, const ConfigReader& root,
               std::span<const NamedExpression> defaults, std::span<const NamedExpression> names);

  // Expressions are of this decoder layer from now on.
  void set_layer(std::int64_t layer);

  // An integer from 1 to `max`. A field that is needed and missing is a finding that names every
  // field that was looked for.
  std::int64_t size(Expression expression, std::int64_t max);
  // As size(), from 0 on.
  std::int64_t count(Expression expression, std::int64_t max);
  double number(Expression expression);
  bool flag(Expression expression);
  std::string text(Expression expression);
  // May be null.
  ConfigValue value(Expression expression);
  // The pointers of the fields that the expression looks at with their values, for messages.
  std::vector<std::pair<std::string, std::string>> seen(Expression expression);
  // As seen(), of several expressions and as text, with the fields that are not given.
  std::string fields_of(std::span<const Expression> expressions);

 private:
  ConfigValue named(std::string_view name) override;
  std::int64_t integer(Expression expression, std::int64_t min, std::int64_t max);

  std::map<std::string_view, Expression> names_;
  std::map<std::string_view, ConfigValue> known_;  // of this layer
  std::set<std::string_view> open_;                // names whose values are being worked out
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_CONFIG_VALUES_H_
