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

#include "generator/model/config_reader.h"
#include "generator/model/config_value.h"

namespace heddle {

// What a table of families says with a config's own words: "num_attention_heads * head_dim",
// "layer >= first_k_dense_replace", "layer_types[layer] == 'full_attention'".
//
//   value     a number, 'text', true, false, null, a name, a field, (expression)
//   field     config_field, object.field, list[expression]; root.field: of the whole config where
//             the language model has one of its own; a character of a text where a text is indexed,
//             the member "3" of an object where an object is
//   layer     the index of the decoder layer, from 0
//   a ?? b    a, or b where a is null; an operation on null is null
//   ! * / % + - == != < <= > >= && ||   as in C; an integer that does not divide is a finding
//   a has b   whether the list a has the value b
//   given(a)  whether a is not null; length(a): of a list; floor(a); sqrt(a);
//             quotient(a, b): floor(a / b); ratio(a, b): a / b with its fraction;
//             even(a, b): a rounded up to a multiple of b
//   when(a, b)      b where a holds, else null
//   assumed(a, b)   b, the model class's default, where a is missing, which assumptions() tell
//   required_else(a, b)  a; that it is missing is a finding that names b, the class's default
//                   (both are null where the config says null)
//
// ?? binds weaker than all others.
using Expression = std::string_view;

// A name that expressions may use for another one. In its own expression it means the field of that
// name: {"head_dim", "head_dim ?? hidden / heads"}.
struct NamedExpression {
  std::string_view name;
  Expression is;
};

// Wrong fields are findings of the reader, each field once; what is returned for them is good for
// nothing but further expressions. Not thread-safe: it remembers values.
class ConfigValues {
 public:
  // The readers, names and expressions outlive it. `names` are looked up from the last to the
  // first.
  ConfigValues(const ConfigReader& config, const ConfigReader& root,
               std::span<const NamedExpression> defaults, std::span<const NamedExpression> names);

  // assumed() and required_else() are null where a field is missing: tensors tell what it is.
  void leave_missing() { leaves_missing_ = true; }
  // Expressions are of this decoder layer from now on.
  void set_layer(std::int64_t layer);

  // An integer from 1 to `max`. A field that is needed and missing is a finding that names every
  // field that was looked for.
  std::int64_t size(Expression expression, std::int64_t max);
  // The same from 0 on.
  std::int64_t count(Expression expression, std::int64_t max);
  double number(Expression expression);
  bool flag(Expression expression);
  std::string text(Expression expression);
  // May be null.
  ConfigValue value(Expression expression);
  // The pointers of the fields that the expression looks at with their values, for messages.
  std::vector<std::pair<std::string, std::string>> seen(Expression expression);
  // The same of several expressions as text, with the fields that are not given.
  std::string fields_of(std::span<const Expression> expressions);

  // What was taken to be so since the config does not say it, each once.
  const std::vector<std::string>& assumptions() const noexcept { return assumptions_; }
  void assume(const std::string& what);

  // Adds a finding, unless the pointer has one already.
  void add(std::string_view what, Problem problem);
  const ConfigReader& config() const noexcept { return config_; }
  // Whether any value since set_layer() depended on the layer's index.
  bool depends_on_layer() const noexcept { return depends_on_layer_; }

 private:
  friend class ExpressionReader;

  // The value of a name or, within it, of the field.
  ConfigValue named(std::string_view name);
  std::int64_t integer(Expression expression, std::int64_t min, std::int64_t max);
  // `usual`: what the model class takes instead, for the message.
  void add_missing(const ConfigValue& value, Expression expression, const std::string& usual = {});

  const ConfigReader& config_;
  const ConfigReader& root_;
  std::map<std::string_view, Expression> names_;
  std::map<std::string_view, ConfigValue> known_;  // of this layer
  std::set<std::string_view> open_;                // names whose values are being worked out
  std::set<std::string> wrong_;                    // pointers that have a finding
  std::vector<std::string> assumptions_;
  std::int64_t layer_ = 0;
  bool depends_on_layer_ = false;
  bool leaves_missing_ = false;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_CONFIG_VALUES_H_
