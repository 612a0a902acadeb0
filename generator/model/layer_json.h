// The layers of a model as reports and JSON tell of them.
#ifndef HEDDLE_GENERATOR_MODEL_LAYER_JSON_H_
#define HEDDLE_GENERATOR_MODEL_LAYER_JSON_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/model.h"

namespace heddle {

// Modules of the checkpoint: those that a kernel serves, and all.
struct ServedCount {
  std::int64_t served = 0;
  std::int64_t total = 0;
};
ServedCount served_count(const Model& model);

// "int8 token", "bf16": what a kernel takes, or makes.
std::string operand_text(std::string_view dtype, RowGranularity granularity);
// What the layer's kernel takes as X; "-" without a gemm.
std::string x_text(const ModelLayer& layer, const Model& model);

// Adds "layers", "served", "total" and "model", the facts of its family.
void add_model_json(const Model& model, nlohmann::ordered_json* json);

// All that is known of the model, with its specs.
std::string model_to_json(const Model& model);
// "down_proj", or "down_proj (32 layers)".
std::string unserved_name(const ModelUnserved& unserved);
// A line for each operation that no kernel serves; and before these notes and assumptions.
std::vector<std::string> unserved_lines(const Model& model);
std::vector<std::string> remark_lines(const Model& model);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_LAYER_JSON_H_
