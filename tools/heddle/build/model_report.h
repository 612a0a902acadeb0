// The layers of a model, as `heddle build` lists them.
#ifndef HEDDLE_TOOLS_HEDDLE_BUILD_MODEL_REPORT_H_
#define HEDDLE_TOOLS_HEDDLE_BUILD_MODEL_REPORT_H_

#include <string>
#include <vector>

#include "heddle/model.h"

namespace heddle {

// A line for each layer and an empty one; empty for specs, which have no layers.
std::string layers_text(const Model& model);
// "320 of 449 layers served"; empty for specs.
std::string served_text(const Model& model);

// "0-2, 4-6, 8-10 ..." of ascending indices.
std::string ranges_text(const std::vector<int>& indices);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_BUILD_MODEL_REPORT_H_
