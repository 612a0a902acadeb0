// The roles of a checkpoint's modules: the one answer for heddle build's list, repack, dequantize
// and CheckpointReader.
#ifndef HEDDLE_CHECKPOINT_MODULES_MODULE_ROLES_H_
#define HEDDLE_CHECKPOINT_MODULES_MODULE_ROLES_H_

#include <string>

#include "checkpoint/modules/config.h"
#include "checkpoint/modules/layer_names.h"
#include "checkpoint/modules/module_place.h"
#include "generator/model/module_role.h"

namespace heddle {

// Whether the place is in a decoder layer, of a list that the model type has.
bool is_in_layers(const CheckpointConfig& config, const ModulePlace& place);

// The row of the model type's family that describes the module; null where none does.
const LinearRow* row_of_module(const CheckpointConfig& config, const std::string& module);

// By the module's place in the model as the family has it, else by names that models share. No
// shape tells a matrix from a table.
ModuleRole role_of_module(const CheckpointConfig& config, const std::string& module);

// How the config says that the layer's weights are quantised; null where it says that they are not.
const Scheme* scheme_of_layer(const CheckpointConfig& config, const LayerName& layer);

// The path of a module below another one, which may be the model itself.
std::string module_in(const std::string& body, std::string_view path);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_MODULES_MODULE_ROLES_H_
