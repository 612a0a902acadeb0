// The facts of a model's family, for `heddle build --json`.
#ifndef HEDDLE_TOOLS_HEDDLE_MODEL_FACTS_H_
#define HEDDLE_TOOLS_HEDDLE_MODEL_FACTS_H_

#include <nlohmann/json_fwd.hpp>

#include "heddle/model.h"

namespace heddle {

// The type alone where the model type is not known.
nlohmann::ordered_json facts_json(const Model& model);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_MODEL_FACTS_H_
