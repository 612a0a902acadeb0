// ModulePlace: where in a model a module is, by its name alone.
#ifndef HEDDLE_CHECKPOINT_MODULES_MODULE_PLACE_H_
#define HEDDLE_CHECKPOINT_MODULES_MODULE_PLACE_H_

#include <string>
#include <vector>

namespace heddle {

struct ModulePlace {
  std::string list;  // "model.layers", empty where the module is in no list
  int layer = -1;    // its index there
  std::string path;  // below it, "self_attn.q_proj"; a * stands for further indices
};

ModulePlace place_of_module(const std::string& name);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_MODULES_MODULE_PLACE_H_
