// Quantization: what "quantization_config" says about the weights.
#ifndef HEDDLE_GENERATOR_MODEL_QUANTIZATION_H_
#define HEDDLE_GENERATOR_MODEL_QUANTIZATION_H_

#include <optional>
#include <string>
#include <vector>

#include "generator/model/config_reader.h"
#include "heddle/spec.h"

namespace heddle {

struct Quantization {
  std::string method;                // "awq", "gptq" ...
  WeightSpec weight;                 // scale_dtype is left as it is
  std::optional<DType> scale_dtype;  // absent: the model's
  bool act_order = false;
  bool pre_scale = false;
  bool lm_head = false;
  std::vector<std::string> notes;
};

// `config` reads the object "quantization_config". Throws Error(kUnsupported,
// "model.quantization") for what the spec language cannot say. Values are good only if the reader
// has no findings after the call.
Quantization read_quantization(const ConfigReader& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_QUANTIZATION_H_
