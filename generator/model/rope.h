// How a model turns queries and keys, from the fields that configs have for it.
#ifndef HEDDLE_GENERATOR_MODEL_ROPE_H_
#define HEDDLE_GENERATOR_MODEL_ROPE_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "generator/model/family.h"
#include "generator/model/model_block.h"

namespace heddle {

// Members of rope_scaling and rope_parameters that are read or, where they are numbers, handed to
// the engine. Any other is unknown, and in no ModelRope.
std::span<const std::string_view> rope_parameter_names();

// The rotary embedding of layers with heads of `head_dim` elements. What the row leaves open is
// read from rope_theta, partial_rotary_factor, rope_scaling and rope_parameters, which newer
// configs have for each kind of layer. A base that the config does not have is assumed.
ModelRope rope_of(const RopeRow& row, std::int64_t head_dim, ConfigValues& values);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_ROPE_H_
