#include "generator/model/expression_scope.h"

#include <algorithm>
#include <utility>

namespace heddle {

void ExpressionScope::begin_layer(std::int64_t layer) {
  layer_ = layer;
  depends_on_layer_ = false;
}

std::int64_t ExpressionScope::take_layer() noexcept {
  depends_on_layer_ = true;
  return layer_;
}

void ExpressionScope::add(std::string_view what, Problem problem) {
  if (!wrong_.insert(problem.pointer).second) return;
  config_.findings().add(what, std::move(problem));
}

void ExpressionScope::assume(const std::string& what) {
  if (std::find(assumptions_.begin(), assumptions_.end(), what) == assumptions_.end()) {
    assumptions_.push_back(what);
  }
}

void ExpressionScope::add_missing(const ConfigValue& value, Expression expression,
                                  const std::string& usual) {
  std::vector<std::string> missing = value.missing;
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  if (missing.empty()) {
    // What is worked out from a field that is named already.
    if (!config_.findings().empty()) return;
    add("missing_field",
        {value.field, "the config does not say " + std::string(expression), "", "", ""});
    return;
  }
  std::string others;
  for (const std::string& pointer : missing) others += (others.empty() ? "" : ", ") + pointer;
  const std::string& first = value.is_said() ? value.nulls.front() : value.missing.front();
  add("missing_field",
      {first,
       (missing.size() == 1 ? "the field is required"
                            : "one of these fields is required: " + others) +
           (usual.empty() ? "" : "; Transformers takes " + usual + " where it is missing"),
       value.is_said() ? "null" : "", "", ""});
}

}  // namespace heddle
