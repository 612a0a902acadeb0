// IntegerLayer: one linear layer of integer codes as a checkpoint stores it.
#ifndef HEDDLE_CHECKPOINT_FORMS_INTEGER_LAYER_H_
#define HEDDLE_CHECKPOINT_FORMS_INTEGER_LAYER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/forms/integer_tensors.h"
#include "checkpoint/forms/quantized_rows.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/modules/layer_names.h"
#include "heddle/spec.h"

namespace heddle {

// Holds the packed words, not the codes.
class IntegerLayer final : public QuantizedRows {
 public:
  // Reads AWQ, GPTQ, compressed-tensors or Quark. Throws Error(kUnsupported) for tensors that
  // contradict each other or the config, and for a form that cannot be read; both name the layer.
  static IntegerLayer read(const Checkpoint& checkpoint, const LayerName& layer,
                           const CheckpointConfig& config, Load load = Load::kAll);

  // The zero point is kNone where every one is 2^(bits-1) and the config says symmetric.
  WeightSpec weight() const override;
  const std::vector<std::int32_t>& group_index() const override { return tensors_.group_index; }
  DType native_dtype() const override;
  void codes(std::int64_t first, std::int64_t count, std::uint8_t* out) const override;
  void scales(std::int64_t first, std::int64_t count, std::uint8_t* out) const override;
  void zeros(std::int64_t first, std::int64_t count, std::uint8_t* out) const override;
  void rows(std::int64_t first, std::int64_t count, DType dtype, std::uint16_t* out) const override;

 private:
  explicit IntegerLayer(IntegerTensors tensors)
      : QuantizedRows(tensors.name, {tensors.codes.n, tensors.codes.k}),
        tensors_(std::move(tensors)) {}

  IntegerTensors tensors_;
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_FORMS_INTEGER_LAYER_H_
