// ModelBuilder: the specs of its layers' kernels.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "generator/model/byte_activations.h"
#include "generator/model/group_size.h"
#include "generator/model/model_builder.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

std::string covers(const ModelLayer& layer) {
  std::string names;
  for (const ModelPart& part : layer.parts) {
    names += (names.empty() ? "" : " + ") + leaf_of(part.path);
  }
  return names;
}

// What a spec says of weights of this scheme, whose zero points and scales are as quantisers write
// them by default.
WeightSpec weight_of(const Scheme& scheme, std::int64_t k, bool fused, DType dtype) {
  WeightSpec weight;
  weight.type = scheme.type;
  weight.bits = scheme.bits;
  weight.group_size = kernel_group_size(k, scheme.group_size.value_or(kPerChannel));
  const bool integers = scheme.type == WeightType::kUint || scheme.type == WeightType::kInt;
  if (integers && !scheme.symmetric) {
    weight.type = WeightType::kUint;
    weight.zero_point = ZeroPoint::kInt;
  } else if (scheme.storage == Storage::kQuarkPacked) {
    weight.type = WeightType::kUint;  // signed codes are stored with an offset
  }
  weight.tensor_scale = scheme.tensor_scale;
  weight.scale_dtype = scheme.scale_dtype.value_or(dtype);
  // Parts that the checkpoint keeps apart have a scale each where there is one for a whole tensor.
  // So have zero points.
  const bool by_row = fused || weight.zero_point == ZeroPoint::kInt;
  if (weight.group_size == kPerTensor && by_row) weight.group_size = kPerChannel;
  return weight;
}

}  // namespace

// Codes, scales and zero points of a layer without a kernel, as quantisers write them by default;
// 0 where the scheme is not one that can be read, SIZE_MAX beyond what 64 bits hold.
std::size_t ModelBuilder::stored_bytes(const ModelLayer& layer, const Scheme* scheme) const {
  // An element takes at most 8 bytes: its code, and a scale and a zero point of its own.
  constexpr double kMostElements = 0x1p58;
  const double elements = static_cast<double>(layer.n) * static_cast<double>(layer.k) *
                          static_cast<double>(layer.matrices);
  if (elements > kMostElements) return SIZE_MAX;
  const std::int64_t bias = layer.bias ? 2 * layer.n : 0;
  if (scheme == nullptr) {
    return static_cast<std::size_t>(layer.matrices * (2 * layer.n * layer.k + bias));
  }
  if (!scheme->unread.empty() || !scheme->group_size) return 0;
  const WeightSpec weight = weight_of(*scheme, layer.k, false, dtype_);
  const auto bytes = [](std::int64_t count, int bits) { return (count * bits + 7) / 8; };
  const std::int64_t rows = (layer.n + scheme->block_rows - 1) / scheme->block_rows;
  const std::int64_t scales =
      *scheme->group_size == kPerTensor ? std::int64_t{1} : rows * groups_along_k(weight, layer.k);
  const std::int64_t matrix =
      bytes(layer.n * layer.k, weight.bits) +
      (weight.has_scales() ? bytes(scales, 8 * bytes_of(weight.scale_dtype)) : 0) +
      (weight.zero_point == ZeroPoint::kInt ? bytes(scales, weight.bits) : 0) +
      (weight.tensor_scale ? bytes(1, 32) : 0);
  return static_cast<std::size_t>(layer.matrices * (matrix + bias));
}

// The index of its kernel, which is made if there is none like it.
int ModelBuilder::kernel_of(const ModelLayer& layer, const Scheme& scheme) {
  GemmSpec gemm;
  gemm.weight = weight_of(scheme, layer.k, layer.parts.size() > 1, dtype_);
  gemm.act_order = scheme.act_order;
  gemm.pre_scale = scheme.pre_scale;
  assume(scheme, layer.bias);
  return kernel_with(layer, std::move(gemm), &scheme);
}

// As above, for weights that no quantiser has described: that are not quantised, or by Heddle
// itself.
int ModelBuilder::kernel_of(const ModelLayer& layer, const WeightSpec& weight) {
  GemmSpec gemm;
  gemm.weight = weight;
  assumed_bias_ = assumed_bias_ || layer.bias;
  return kernel_with(layer, std::move(gemm), nullptr);
}

// `gemm` has its weights' format and what is done to X; the layer's shape and types are added, and
// activations of eight bits where the scheme has them.
int ModelBuilder::kernel_with(const ModelLayer& layer, GemmSpec gemm, const Scheme* scheme) {
  gemm.shape.n = layer.n;
  gemm.shape.k = layer.k;
  gemm.activation = dtype_;
  gemm.epilogue = epilogue_of(layer);
  if (scheme != nullptr && scheme->activation) {
    ScaleBlocks blocks = blocks_of(*scheme);
    for (const ModelPart& part : layer.parts) blocks.heights.push_back(part.n);
    const std::string why = set_byte_activations(*scheme->activation, blocks, dtype_, &gemm);
    if (!why.empty())
      model_.notes.push_back(layer.name + ": " + kSixteenBitsNote + ", because " + why);
  }
  Spec spec = Spec::from_gemm(gemm, layer.name);
  const int layers = std::max<int>(1, static_cast<int>(layer.layers.size()));
  for (std::size_t i = 0; i < model_.kernels.size(); ++i) {
    ModelKernel& kernel = model_.kernels[i];
    if (kernel.spec.name() != spec.name() ||
        kernel.spec.canonical_json() != spec.canonical_json()) {
      continue;
    }
    kernel.layers += layers;
    return static_cast<int>(i);
  }
  model_.kernels.push_back({std::move(spec), layers, covers(layer)});
  return static_cast<int>(model_.kernels.size()) - 1;
}

EpilogueSpec ModelBuilder::epilogue_of(const ModelLayer& layer) {
  EpilogueSpec epilogue;
  epilogue.bias = layer.bias;
  if (!gated_) return epilogue;
  std::vector<Role> roles;
  for (const ModelPart& part : layer.parts) roles.push_back(decoder_.role_of(part.path));
  if (!are_gate_and_up(roles)) return epilogue;
  const std::string why = why_ungated(decoder_.gate, layer.n);
  if (!why.empty()) {
    ungated_.add(layer.name, why, std::max<int>(1, static_cast<int>(layer.layers.size())));
    return epilogue;
  }
  epilogue.activation = required_activation(decoder_.gate);
  epilogue.gated = true;
  ungated_.found = true;
  return epilogue;
}

}  // namespace heddle
