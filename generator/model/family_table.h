// The rows of all families and wrappers.
#ifndef HEDDLE_GENERATOR_MODEL_FAMILY_TABLE_H_
#define HEDDLE_GENERATOR_MODEL_FAMILY_TABLE_H_

#include <string_view>
#include <vector>

#include "generator/model/config_reader.h"
#include "generator/model/family.h"

namespace heddle {

// All rows, in the order of docs/models.md.
const std::vector<const FamilyRow*>& family_rows();
const std::vector<Wrapper>& wrappers();
// Null where the model type is not known.
const FamilyRow* find_family(std::string_view model_type);
const Wrapper* find_wrapper(std::string_view model_type);

// Throws Error(kUnsupported, "model.type") with the known types and the fields that were looked
// for.
[[noreturn]] void refuse_model_type(std::string_view model_type, const ConfigReader& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_FAMILY_TABLE_H_
