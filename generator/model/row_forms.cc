#include "generator/model/row_forms.h"

#include <algorithm>

namespace heddle {
namespace {

RowDtype byte_dtype(DType dtype) {
  if (dtype == DType::kInt8) return RowDtype::kInt8;
  return dtype == DType::kFp8E5m2 ? RowDtype::kFp8E5m2 : RowDtype::kFp8E4m3;
}

bool is_in(const ModelLayer& layer, int index) {
  return std::binary_search(layer.layers.begin(), layer.layers.end(), index);
}

bool has_matrix(const ModelLayer& layer) {
  return layer.kind == ModelLayer::Kind::kLinear || layer.kind == ModelLayer::Kind::kExperts;
}

// Modules of another role may be of either half.
bool is_of(Role role, RowForms::Half half) {
  switch (role) {
    case Role::kQ:
    case Role::kK:
    case Role::kV:
    case Role::kQkv:
      return half != RowForms::Half::kFeedForward;
    case Role::kGate:
    case Role::kUp:
    case Role::kGateUp:
      return half != RowForms::Half::kMixer;
    default:
      return true;
  }
}

}  // namespace

Role RowForms::role_of(const ModelLayer& layer) const {
  return layer.parts.empty() ? Role::kOther : decoder_.role_of(layer.parts.front().path);
}

bool RowForms::is_head(const ModelLayer& layer) const {
  return layer.layers.empty() && layer.parts.size() == 1 &&
         layer.parts.front().path == decoder_.head;
}

RowForm RowForms::of(const ModelLayer& layer) const {
  if (layer.kernel < 0) return plain();
  const Spec& spec = model_.kernels[static_cast<std::size_t>(layer.kernel)].spec;
  const auto* const gemm = spec.get_if<GemmSpec>();
  if (gemm == nullptr || !gemm->has_byte_activations()) return plain();
  const ActivationScaleSpec& scale = gemm->activation_scale;
  return {byte_dtype(gemm->activation), scale.granularity, scale.symmetric, scale.scale_dtype};
}

bool RowForms::is_behind_norm(const ModelLayer& layer) const {
  if (is_head(layer)) return true;
  if (decoder_.norm_place == NormPlace::kAfter) return false;
  const Role role = role_of(layer);
  return !layer.layers.empty() && has_matrix(layer) && layer.k == decoder_.hidden &&
         role != Role::kOut && role != Role::kDown;
}

WantedRows RowForms::wanted(const std::vector<RowForm>& consumers) const {
  WantedRows wanted = {plain(), {}};
  if (consumers.empty()) return wanted;
  const RowForm& first = consumers.front();
  const bool alike = std::all_of(consumers.begin(), consumers.end(),
                                 [&](const RowForm& other) { return other == first; });
  // Layers that a checkpoint keeps apart have a scale each.
  const bool is_one_scale = first.granularity != RowGranularity::kTensor || consumers.size() == 1;
  if (alike && is_one_scale) {
    wanted.norm = first;
    return wanted;
  }
  for (const RowForm& form : consumers) {
    const bool is_new =
        std::find(wanted.quantize.begin(), wanted.quantize.end(), form) == wanted.quantize.end();
    if (form.is_quantized() && (is_new || form.granularity == RowGranularity::kTensor)) {
      wanted.quantize.push_back(form);
    }
  }
  return wanted;
}

WantedRows RowForms::ahead_of(int index, Half half) const {
  std::vector<RowForm> consumers;
  for (const ModelLayer& layer : model_.layers) {
    if (!is_in(layer, index) || !is_behind_norm(layer) || !is_of(role_of(layer), half)) continue;
    consumers.push_back(of(layer));
  }
  return wanted(consumers);
}

WantedRows RowForms::ahead_of_head() const {
  const auto head = std::find_if(model_.layers.begin(), model_.layers.end(),
                                 [&](const ModelLayer& layer) { return is_head(layer); });
  return wanted(head == model_.layers.end() ? std::vector<RowForm>() : std::vector{of(*head)});
}

const ModelLayer* RowForms::down_of(int index, std::int64_t columns) const {
  const ModelLayer* found = nullptr;
  for (const ModelLayer& layer : model_.layers) {
    const bool is_down = layer.kind == ModelLayer::Kind::kLinear && is_in(layer, index) &&
                         role_of(layer) == Role::kDown && layer.k == columns;
    if (!is_down) continue;
    if (found != nullptr) return nullptr;
    found = &layer;
  }
  return found;
}

}  // namespace heddle
