// Refusals that name a layer.
#ifndef HEDDLE_CHECKPOINT_MODULES_LAYER_ERROR_H_
#define HEDDLE_CHECKPOINT_MODULES_LAYER_ERROR_H_

#include <string>
#include <string_view>

namespace heddle {

// Throws Error(kUnsupported, "checkpoint.layer"): `layer "<name>": <why>`.
[[noreturn]] void refuse_layer(std::string_view name, const std::string& why);

// The last component of a layer's name, "down_proj".
inline std::string leaf_of_layer(std::string_view name) {
  return std::string(name.substr(name.rfind('.') + 1));
}

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_MODULES_LAYER_ERROR_H_
