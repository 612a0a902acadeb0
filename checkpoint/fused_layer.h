// FusedLayer: the rows of one or several integer layers, as Heddle's kernels take them.
#ifndef HEDDLE_CHECKPOINT_FUSED_LAYER_H_
#define HEDDLE_CHECKPOINT_FUSED_LAYER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/integer_layer.h"
#include "heddle/weights.h"

namespace heddle {

// Immutable.
class FusedLayer {
 public:
  // Throws Error(kUnsupported) where the parts' rows cannot be taken together by one kernel, or
  // their groups cannot be made contiguous.
  FusedLayer(std::string name, std::vector<IntegerLayer> parts, std::optional<DType> activation,
             bool bias);

  const std::string& name() const noexcept { return name_; }
  const GemmSpec& spec() const noexcept { return spec_; }
  // With act-order: column j of the weights is column permutation()[j] of the checkpoint, so that
  // the columns of a group are neighbours. Else empty.
  const std::vector<std::int32_t>& permutation() const noexcept { return permutation_; }
  // Some rows as weights of their own.
  QuantizedWeights rows(std::int64_t first, std::int64_t count) const;

 private:
  void permute(std::int64_t count, std::vector<std::uint8_t>& codes) const;

  std::string name_;
  std::vector<IntegerLayer> parts_;
  GemmSpec spec_;
  std::vector<std::int32_t> permutation_;
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_FUSED_LAYER_H_
