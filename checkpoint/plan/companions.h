// Companions: the vectors that go with a layer's weights and are no part of them.
#ifndef HEDDLE_CHECKPOINT_PLAN_COMPANIONS_H_
#define HEDDLE_CHECKPOINT_PLAN_COMPANIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/layer_names.h"
#include "checkpoint/plan/fused_layer.h"
#include "checkpoint/plan/layer_view.h"
#include "checkpoint/plan/made_tensor.h"

namespace heddle {

// <layer>.bias [N] and <layer>.pre_quant_scale [K], a factor for each column of X. Those of a layer
// of its own are copied like any other tensor. Fused layers have one bias, the parts' biases in a
// row (zeros for a part that has none), and the factors that all parts have. A bias that is zero
// everywhere, which some quantisers write for each layer, is left out.
class Companions {
 public:
  // Why the vectors of the parts cannot be taken together; empty where they can.
  static std::string why_apart(const Checkpoint& checkpoint, const LayerGroup& group);

  // `layer` has the rows of `views`, which are those of the parts; `plain_heights` are the parts'
  // rows in the checkpoint. Throws Error(kUnsupported, "checkpoint.layer") for vectors that do not
  // fit. Precondition: why_apart() finds nothing. The checkpoint must outlive the companions and
  // what is made of them.
  Companions(const Checkpoint& checkpoint, const LayerGroup& group, const FusedLayer& layer,
             std::vector<LayerView> views, const std::vector<std::int64_t>& plain_heights,
             std::int64_t plain_k);

  bool has_bias() const noexcept { return !biases_.empty(); }
  bool has_pre_scale() const noexcept { return !pre_scales_.empty(); }
  // The parts' own vectors that are not copied: zeros, and those that others take the place of.
  std::vector<std::string> replaced() const;
  // The vectors of the layer: those of the checkpoint, or what takes their place.
  std::optional<MadeTensor> bias() const;
  std::optional<MadeTensor> pre_scale() const;

 private:
  void read_biases(const LayerGroup& group);
  void check_sizes(const LayerGroup& group, const std::vector<std::int64_t>& plain_heights,
                   std::int64_t k) const;
  // Whether the vectors are not just those of the checkpoint.
  bool is_made_anew() const;
  // Values of the rows of the part's view, matrix by matrix.
  std::vector<std::uint8_t> bias_of_part(std::size_t part) const;
  std::vector<std::uint8_t> joined_biases() const;

  const Checkpoint* checkpoint_;
  std::string bias_name_;
  std::string pre_scale_name_;
  std::vector<std::int64_t> heights_;
  std::int64_t matrices_;
  std::vector<LayerView> views_;
  std::vector<std::string> left_out_;  // biases: zeros, or added by another rank
  // For each part, null where it has none; empty where no part has one.
  std::vector<const TensorInfo*> biases_;
  std::vector<const TensorInfo*> pre_scales_;
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_COMPANIONS_H_
