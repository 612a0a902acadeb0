// ExpressionScope: what an expression over the fields of a model's config can see.
#ifndef HEDDLE_GENERATOR_MODEL_EXPRESSION_SCOPE_H_
#define HEDDLE_GENERATOR_MODEL_EXPRESSION_SCOPE_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
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
//   ! * / % + - == != < <= > >= && ||   as in C; an integer that does not divide is a finding, and
//   so
//             is a field that is true or false where a number belongs: !!field makes 1 or 0 of it
//   a has b   whether the list a has the value b
//   given(a)  whether a is not null; length(a): of a list; floor(a); sqrt(a);
//             quotient(a, b): floor(a / b); ratio(a, b): a / b with its fraction;
//             even(a, b): a rounded up to a multiple of b
//   of_layer(a)     a[layer] of a list, a number as it is: of classes that take both
//   when(a, b)      b where a holds, else null
//   assumed(a, b)   b, the model class's default, where a is missing, which assumptions() tell
//   required_else(a, b)  a; that it is missing is a finding that names b, the class's default
//                   (both are null where the config says null)
//
// ?? binds weaker than all others.
using Expression = std::string_view;

// Not thread-safe.
class ExpressionScope {
 public:
  // The readers outlive it.
  ExpressionScope(const ConfigReader& config, const ConfigReader& root)
      : config_(config), root_(root) {}
  virtual ~ExpressionScope() = default;
  ExpressionScope(const ExpressionScope&) = delete;
  ExpressionScope& operator=(const ExpressionScope&) = delete;

  const ConfigReader& config() const noexcept { return config_; }
  const ConfigReader& root() const noexcept { return root_; }
  // The value of a name or, within the name's own expression, of the field.
  virtual ConfigValue named(std::string_view name) = 0;

  // The layer's index; from now on depends_on_layer().
  std::int64_t take_layer() noexcept;
  // Whether any value since set_layer() depended on the layer's index.
  bool depends_on_layer() const noexcept { return depends_on_layer_; }

  // assumed() and required_else() are null where a field is missing: tensors tell what it is.
  void leave_missing() { leaves_missing_ = true; }
  bool leaves_missing() const noexcept { return leaves_missing_; }

  // What was taken to be so since the config does not say it, each once.
  const std::vector<std::string>& assumptions() const noexcept { return assumptions_; }
  void assume(const std::string& what);

  // Adds a finding, unless the pointer has one already.
  void add(std::string_view what, Problem problem);
  // A finding for the fields that the value misses. `usual`: what the model class takes instead.
  void add_missing(const ConfigValue& value, Expression expression, const std::string& usual = {});

 protected:
  void begin_layer(std::int64_t layer);

 private:
  const ConfigReader& config_;
  const ConfigReader& root_;
  std::set<std::string> wrong_;  // pointers that have a finding
  std::vector<std::string> assumptions_;
  std::int64_t layer_ = 0;
  bool depends_on_layer_ = false;
  bool leaves_missing_ = false;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_EXPRESSION_SCOPE_H_
