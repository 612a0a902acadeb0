// Companions: the vectors that go with a layer's weights and are no part of them.
#ifndef HEDDLE_CHECKPOINT_COMPANIONS_H_
#define HEDDLE_CHECKPOINT_COMPANIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/fused_layer.h"
#include "checkpoint/layer_names.h"
#include "checkpoint/output_plan.h"

namespace heddle {

// <layer>.bias [N] and <layer>.pre_quant_scale [K], a factor for each column of X. Those of a layer
// of its own are copied like any other tensor. Fused layers have one bias, the parts' biases in a
// row (zeros for a part that has none), and the factors that all parts have.
class Companions {
 public:
  // Throws Error(kFile, "checkpoint.layer") for vectors that do not fit the layer,
  // Error(kUnsupported, "checkpoint.fuse") where those of the parts cannot be taken together. The
  // checkpoint must outlive the plan that it is added to.
  Companions(const Checkpoint& checkpoint, const LayerGroup& group, const FusedLayer& layer);

  bool has_bias() const noexcept { return !biases_.empty(); }
  bool has_pre_scale() const noexcept { return !pre_scales_.empty(); }
  // The parts' own vectors, where fused ones take their place.
  std::vector<std::string> replaced() const;
  // The fused vectors.
  void add_to(OutputPlan* plan) const;

 private:
  void check_biases(const LayerGroup& group, const FusedLayer& layer) const;
  void check_pre_scales(const LayerGroup& group, const FusedLayer& layer) const;

  const Checkpoint& checkpoint_;
  std::string bias_name_;
  std::string pre_scale_name_;
  std::vector<std::int64_t> heights_;
  std::int64_t matrices_;
  // For each part, null where it has none; empty where no part has one.
  std::vector<const TensorInfo*> biases_;
  std::vector<const TensorInfo*> pre_scales_;
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_COMPANIONS_H_
