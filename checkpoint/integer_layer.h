// IntegerLayer: one linear layer of integer codes as a checkpoint stores it.
#ifndef HEDDLE_CHECKPOINT_INTEGER_LAYER_H_
#define HEDDLE_CHECKPOINT_INTEGER_LAYER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/config.h"
#include "checkpoint/dense_rows.h"
#include "checkpoint/large_buffer.h"
#include "checkpoint/layer_names.h"
#include "checkpoint/unpack_codes.h"
#include "heddle/spec.h"

namespace heddle {

// What the readers of all formats fill in.
struct IntegerTensors {
  std::string name;
  LargeBuffer<std::uint32_t> words;
  PackedCodes codes;  // without the pointer to the words, which would not survive a move
  std::int64_t groups = 1;
  int group_size = kPerChannel;
  bool symmetric = false;
  TensorType scale_type = TensorType::kF16;
  std::vector<std::uint8_t> scales;       // [N, G]
  std::vector<std::uint8_t> zeros;        // [N, G]
  std::vector<std::int32_t> group_index;  // [K]; empty where column k is of group k / group_size
};

// W[n, k] = (code - zero) * scale. Immutable; holds the packed words, not the codes.
class IntegerLayer final : public DenseRows {
 public:
  // Reads AWQ, GPTQ or compressed-tensors. Throws Error(kFile) for tensors that contradict each
  // other or the config, Error(kUnsupported) for a form that cannot be read; both name the layer.
  static IntegerLayer read(const Checkpoint& checkpoint, const LayerName& layer,
                           const CheckpointConfig& config, Load load = Load::kAll);

  const std::string& name() const noexcept { return tensors_.name; }
  int bits() const noexcept { return tensors_.codes.bits; }
  std::int64_t n() const noexcept { return tensors_.codes.n; }
  std::int64_t k() const noexcept { return tensors_.codes.k; }
  std::int64_t groups() const noexcept { return tensors_.groups; }
  int group_size() const noexcept { return tensors_.group_size; }  // or kPerChannel
  // Every zero point is 2^(bits-1), and the config says so.
  bool symmetric() const noexcept { return tensors_.symmetric; }
  DType scale_dtype() const noexcept;
  const std::vector<std::uint8_t>& scales() const noexcept { return tensors_.scales; }  // [N, G]
  const std::vector<std::uint8_t>& zeros() const noexcept { return tensors_.zeros; }    // [N, G]
  // The group of each column, [K]; empty where column k is of group k / group_size.
  const std::vector<std::int32_t>& group_index() const noexcept { return tensors_.group_index; }

  // Rows of codes, [rows, K], columns in the checkpoint's order.
  void codes(std::int64_t first, std::int64_t rows, std::uint8_t* out) const;

  std::vector<std::int64_t> shape() const override { return {n(), k()}; }
  DType native_dtype() const override;
  void rows(std::int64_t first, std::int64_t count, DType dtype, std::uint16_t* out) const override;

 private:
  explicit IntegerLayer(IntegerTensors tensors) : tensors_(std::move(tensors)) {}

  IntegerTensors tensors_;
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_INTEGER_LAYER_H_
