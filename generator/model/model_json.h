// What is told of models as JSON: by `heddle build`, by `heddle models` and by the C API.
#ifndef HEDDLE_GENERATOR_MODEL_MODEL_JSON_H_
#define HEDDLE_GENERATOR_MODEL_MODEL_JSON_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "heddle/model.h"

namespace heddle {

// The facts of the model's family; the type alone where the model type is not known.
nlohmann::ordered_json facts_json(const Model& model);

// {"families": [...]}: known_families().
nlohmann::ordered_json families_json();

// One line: the canonical spec, and its name.
std::string spec_line(const Spec& spec);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_MODEL_JSON_H_
