// IntegerLayer: one linear layer of integer codes as a checkpoint stores it; FusedLayer: the rows
// of one or several of them, as Heddle's kernels take them.
#ifndef HEDDLE_CHECKPOINT_INTEGER_LAYER_H_
#define HEDDLE_CHECKPOINT_INTEGER_LAYER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/config.h"
#include "checkpoint/dense_rows.h"
#include "checkpoint/layer_names.h"
#include "checkpoint/unpack_codes.h"
#include "heddle/spec.h"
#include "heddle/weights.h"

namespace heddle {

// W[n, k] = (code - zero) * scale. Immutable; holds the packed words, not the codes.
class IntegerLayer final : public DenseRows {
 public:
  // Reads AWQ, GPTQ or compressed-tensors. Throws Error(kFile) for tensors that contradict each
  // other or the config, Error(kUnsupported) for a form that cannot be read; both name the layer.
  static IntegerLayer read(const Checkpoint& checkpoint, const LayerName& layer,
                           const CheckpointConfig& config, Load load = Load::kAll);

  const std::string& name() const noexcept { return name_; }
  int bits() const noexcept { return codes_.bits; }
  std::int64_t n() const noexcept { return codes_.n; }
  std::int64_t k() const noexcept { return codes_.k; }
  std::int64_t groups() const noexcept { return groups_; }
  int group_size() const noexcept { return group_size_; }  // or kPerChannel
  // Every zero point is 2^(bits-1), and the config says so.
  bool symmetric() const noexcept { return symmetric_; }
  DType scale_dtype() const noexcept;
  const std::vector<std::uint8_t>& scales() const noexcept { return scales_; }  // [N, G]
  const std::vector<std::uint8_t>& zeros() const noexcept { return zeros_; }    // [N, G]
  // The group of each column, [K]; empty where column k is of group k / group_size.
  const std::vector<std::int32_t>& group_index() const noexcept { return group_index_; }

  // Rows of codes, [rows, K], columns in the checkpoint's order.
  void codes(std::int64_t first, std::int64_t rows, std::uint8_t* out) const;

  std::vector<std::int64_t> shape() const override { return {n(), k()}; }
  DType native_dtype() const override;
  void rows(std::int64_t first, std::int64_t count, DType dtype, std::uint16_t* out) const override;

 private:
  friend class IntegerLayerReader;

  std::string name_;
  // Not a vector: filling a hundred megabytes with zeros before reading them takes its time.
  std::unique_ptr<std::uint32_t[]> words_;
  PackedCodes codes_;  // without the pointer to the words, which would not survive a move
  std::int64_t groups_ = 1;
  int group_size_ = kPerChannel;
  bool symmetric_ = false;
  TensorType scale_type_ = TensorType::kF16;
  std::vector<std::uint8_t> scales_;
  std::vector<std::uint8_t> zeros_;
  std::vector<std::int32_t> group_index_;
};

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

#endif  // HEDDLE_CHECKPOINT_INTEGER_LAYER_H_
