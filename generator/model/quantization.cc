#include "generator/model/quantization.h"

namespace heddle {

const Scheme* Quantization::scheme_of(std::string_view module) const {
  const int index = rules_.find(module);
  if (index == ModuleRules::kNone) return nullptr;
  const int sparse = sparsity_.find(module);
  return &schemes_[static_cast<std::size_t>(sparse == ModuleRules::kNone ? index : sparse)];
}

const Scheme* Quantization::scheme_of_table(std::string_view module) const {
  if (!names_tables_) return scheme_of(module);
  const int index = tables_.find(module);
  return index == ModuleRules::kNone ? nullptr : &schemes_[static_cast<std::size_t>(index)];
}

}  // namespace heddle
