// Families: the linear operations of each model type, as engines fuse them.
#ifndef HEDDLE_GENERATOR_MODEL_FAMILIES_H_
#define HEDDLE_GENERATOR_MODEL_FAMILIES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/model/config_reader.h"

namespace heddle {

// Modules of a decoder layer whose rows engines take together.
struct Linear {
  struct Part {
    std::string path;  // below the layer: "self_attn.q_proj"
    std::int64_t n = 0;
  };

  std::string name;  // "qkv_proj"
  std::vector<Part> parts;
  std::int64_t k = 0;
  bool bias = false;

  std::int64_t n() const;
  std::string covers() const;  // "q_proj + k_proj + v_proj"
};

// The linear operations of a model's decoder layers, which are all alike.
struct Linears {
  std::string layers_path;  // "model.layers": layer i is "model.layers.<i>"
  std::int64_t layers = 0;
  std::vector<Linear> linears;
};

// The last component of a module's path.
std::string leaf_of(std::string_view path);

// Attention heads of every layer.
struct Heads {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;  // the model's width
};

// As linears_of().
Heads heads_of(std::string_view model_type, const ConfigReader& config);

// Throws Error(kUnsupported, "model.type") for a model type that is not known, with the known ones.
// Values are good only if the reader has no findings after the call.
Linears linears_of(std::string_view model_type, const ConfigReader& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_FAMILIES_H_
