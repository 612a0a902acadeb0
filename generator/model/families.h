// Families: the linear operations of each model type, as engines fuse them.
#ifndef HEDDLE_GENERATOR_MODEL_FAMILIES_H_
#define HEDDLE_GENERATOR_MODEL_FAMILIES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/model/config_reader.h"

namespace heddle {

struct Linear {
  std::string name;    // "qkv_proj"
  std::string covers;  // "q_proj + k_proj + v_proj"
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool bias = false;
  std::int64_t layers = 0;
};

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
std::vector<Linear> linears_of(std::string_view model_type, const ConfigReader& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_FAMILIES_H_
