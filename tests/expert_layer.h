// Layers of experts, as specs of the tests have them.
#ifndef HEDDLE_TESTS_EXPERT_LAYER_H_
#define HEDDLE_TESTS_EXPERT_LAYER_H_

#include "heddle/spec.h"

namespace heddle {

// With a gate. Both products have these weights.
inline MoeSpec expert_layer(const MoeShape& shape, DType activation, const WeightSpec& weight) {
  MoeSpec spec;
  spec.shape = shape;
  spec.activation = activation;
  spec.gate_up = spec.down = weight;
  spec.epilogue = {.activation = Activation::kSilu, .gated = true};
  return spec;
}

// The weights and the epilogue of gpt-oss.
inline void make_gpt_oss(int limit, MoeSpec* spec) {
  for (WeightSpec* weight : {&spec->gate_up, &spec->down}) {
    weight->type = WeightType::kE2m1;
    weight->zero_point = ZeroPoint::kNone;
    weight->scale_dtype = DType::kE8m0;
  }
  spec->epilogue = {
      .bias = true, .activation = Activation::kClampedSwiglu, .gated = true, .limit = limit};
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_EXPERT_LAYER_H_
