// The type of a model's activations.
#ifndef HEDDLE_GENERATOR_MODEL_DTYPE_H_
#define HEDDLE_GENERATOR_MODEL_DTYPE_H_

#include <optional>

#include "generator/model/config_reader.h"
#include "heddle/spec.h"

namespace heddle {

// "torch_dtype" or "dtype", nothing where neither is there. Throws Error(kUnsupported,
// "model.dtype") for one without 16 bits; good only if the reader has no findings after the call.
std::optional<DType> read_dtype(const ConfigReader& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_DTYPE_H_
