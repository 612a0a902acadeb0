// Unconverted: what of a checkpoint cannot be converted, all of it in one error.
#ifndef HEDDLE_CHECKPOINT_PLAN_UNCONVERTED_H_
#define HEDDLE_CHECKPOINT_PLAN_UNCONVERTED_H_

#include <vector>

#include "checkpoint/plan/inventory.h"
#include "heddle/error.h"

namespace heddle {

// Collects what cannot be converted, layer by layer, and throws it as one error.
class Unconverted {
 public:
  void add(const UnknownTensors& tensors);
  // Files that cannot be read are no fault of a layer: such errors are thrown on.
  void add(const Error& error);
  void throw_if_any() const;

 private:
  std::vector<Problem> problems_;
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_UNCONVERTED_H_
