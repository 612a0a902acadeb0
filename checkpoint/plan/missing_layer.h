// MissingLayer: a layer that a model has by its config and that is in no file of the checkpoint.
#ifndef HEDDLE_CHECKPOINT_PLAN_MISSING_LAYER_H_
#define HEDDLE_CHECKPOINT_PLAN_MISSING_LAYER_H_

#include <cstdint>
#include <string>

namespace heddle {

struct MissingLayer {
  std::string name;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t experts = 0;  // 0: a dense layer
  bool is_down = false;      // of experts: the second product
  std::string fields{};      // of experts: what of the config makes the layer one of them
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_MISSING_LAYER_H_
