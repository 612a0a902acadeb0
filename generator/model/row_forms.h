// RowForms: in which form the layers of a model take X, and which of them a norm feeds.
#ifndef HEDDLE_GENERATOR_MODEL_ROW_FORMS_H_
#define HEDDLE_GENERATOR_MODEL_ROW_FORMS_H_

#include <vector>

#include "generator/model/decoder.h"
#include "heddle/model.h"
#include "heddle/row_spec.h"

namespace heddle {

// X as one kernel takes it.
struct RowForm {
  RowDtype dtype{};
  RowGranularity granularity = RowGranularity::kNone;
  bool symmetric = true;
  RowScaleDtype scale_dtype{};

  bool is_quantized() const noexcept { return bytes_of(dtype) == 1; }
  bool operator==(const RowForm&) const = default;
};

// What is to be made of the output of one norm, or of another X.
struct WantedRows {
  RowForm norm;                   // what the norm itself writes
  std::vector<RowForm> quantize;  // what is made of its 16 bits, for layers that take other forms
};

// Immutable; decoder and model outlive it.
class RowForms {
 public:
  enum class Half { kMixer, kFeedForward, kBoth };

  // Precondition: the model's linear layers and kernels are complete.
  RowForms(const Decoder& decoder, DType dtype, const Model& model)
      : decoder_(decoder), dtype_(dtype), model_(model) {}

  // X of 16 bits.
  RowForm plain() const { return {row_dtype(dtype_)}; }
  // The form in which the layer takes X; plain() where it has no kernel.
  RowForm of(const ModelLayer& layer) const;
  // Whether the layer takes the normalised input of a half of its decoder layer.
  bool is_behind_norm(const ModelLayer& layer) const;
  // What the norm ahead of this half of decoder layer `index` makes.
  WantedRows ahead_of(int index, Half half) const;
  // What the final norm makes, whose output the head takes.
  WantedRows ahead_of_head() const;
  // The layer of decoder layer `index` that takes the product of gates and ups, which has `columns`
  // columns; null where there is none or where there are several.
  const ModelLayer* down_of(int index, std::int64_t columns) const;

 private:
  WantedRows wanted(const std::vector<RowForm>& consumers) const;
  bool is_head(const ModelLayer& layer) const;
  Role role_of(const ModelLayer& layer) const;

  const Decoder& decoder_;
  DType dtype_;
  const Model& model_;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_ROW_FORMS_H_
