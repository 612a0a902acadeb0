// FusedLayer: the rows of one or several layers, as Heddle's kernels take them.
#ifndef HEDDLE_CHECKPOINT_PLAN_FUSED_LAYER_H_
#define HEDDLE_CHECKPOINT_PLAN_FUSED_LAYER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/forms/quantized_rows.h"
#include "checkpoint/plan/selected_rows.h"
#include "generator/model/byte_activations.h"
#include "heddle/weights.h"

namespace heddle {

// What becomes of scales of whole tensors that come on top of those of groups.
enum class TensorScales {
  kOne,     // all parts have the same one
  kFolded,  // scales of groups are FP32, the tensor's among their factors
};

// Why one kernel cannot take the rows of the parts together: "they differ in K"; empty where it
// can.
std::string why_apart(const std::vector<std::unique_ptr<QuantizedRows>>& parts,
                      TensorScales tensor_scales = TensorScales::kOne);

// Immutable.
class FusedLayer {
 public:
  using Parts = std::vector<std::unique_ptr<QuantizedRows>>;

  // Throws Error(kUnsupported) where the groups of act-order cannot be made contiguous. The
  // epilogue and activation.pre_scale of the spec are left as they are by default: they are not of
  // the rows. Precondition: why_apart() finds nothing.
  FusedLayer(std::string name, Parts parts, std::optional<DType> activation,
             TensorScales tensor_scales = TensorScales::kOne);

  const std::string& name() const noexcept { return name_; }
  // The spec of one matrix. Several parts that each have a scale for the whole tensor get a scale
  // per row. Groups that do not divide K are split into smaller ones with the same scale
  // (kernel_group_size).
  const GemmSpec& spec() const noexcept { return spec_; }
  // Experts, whose matrices follow each other; else 1.
  std::int64_t matrices() const { return parts_.front()->matrices(); }
  // Rows of a matrix of each part.
  std::vector<std::int64_t> heights() const;
  // Blocks of kBlockRows by kRowGroup weights, where the parts' scales are of such.
  ScaleBlocks blocks() const;
  // With act-order: column j of the weights is column permutation()[j] of the checkpoint, so that
  // the columns of a group are neighbours. Else empty.
  const std::vector<std::int32_t>& permutation() const noexcept { return permutation_; }
  // Some rows of a matrix as weights of their own, one run after the other; memory that `weights`
  // has is used again.
  void rows(std::int64_t matrix, const std::vector<RowRun>& runs, QuantizedWeights* weights) const;
  // The scales of the same rows as FP32, as QuantizedWeights has those of blocks. Precondition:
  // every run begins with a block.
  std::vector<std::uint8_t> block_scales(std::int64_t matrix,
                                         const std::vector<RowRun>& runs) const;

 private:
  void copy_rows(std::int64_t matrix, const RowRun& run, std::int64_t at,
                 QuantizedWeights* weights) const;
  void permute(std::int64_t count, std::vector<std::uint8_t>& codes) const;
  void split_groups(std::int64_t count, std::size_t element,
                    std::vector<std::uint8_t>& values) const;

  std::string name_;
  Parts parts_;
  bool folds_ = false;  // scales of parts
  GemmSpec spec_;
  std::vector<std::int32_t> permutation_;
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_FUSED_LAYER_H_
