// ModelBuilder: the specs of its layers' kernels.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "generator/model/byte_activations.h"
#include "generator/model/experts.h"
#include "generator/model/group_size.h"
#include "generator/model/model_builder.h"
#include "generator/model/plain_weight.h"
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

std::string routed_text(const ModelKernel& kernel) {
  return kernel.routed ? kernel.routed->canonical_json() : "";
}

// The experts of a layer are quantised alike: the first one tells.
std::string first_expert(std::string path) {
  const std::size_t star = path.find('*');
  if (star != path.npos) path.replace(star, 1, "0");
  return path;
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
  const int layers = std::max<int>(1, static_cast<int>(layer.layers.size()));
  return count_kernel({Spec::from_gemm(gemm, layer.name), layers, covers(layer)});
}

int ModelBuilder::count_kernel(ModelKernel counted) {
  for (std::size_t i = 0; i < model_.kernels.size(); ++i) {
    ModelKernel& kernel = model_.kernels[i];
    if (kernel.spec.name() != counted.spec.name() ||
        kernel.spec.canonical_json() != counted.spec.canonical_json() ||
        routed_text(kernel) != routed_text(counted)) {
      continue;
    }
    kernel.layers += counted.layers;
    return static_cast<int>(i);
  }
  model_.kernels.push_back(std::move(counted));
  return static_cast<int>(model_.kernels.size()) - 1;
}

std::string ModelBuilder::set_expert_weight(const ModelLayer& layer, const Schemes& schemes,
                                            WeightSpec* weight) {
  const bool alike =
      std::adjacent_find(schemes.begin(), schemes.end(), std::not_equal_to<>()) == schemes.end();
  if (!alike) return "gates and ups of its experts are not quantised alike";
  if (schemes.front() == nullptr) {
    if (!dense_) return kNoPlainKernel;
    *weight = plain_weight(dtype_);
    return {};
  }
  const Scheme& scheme = *schemes.front();
  std::string reason = why_unread(scheme, layer.k);
  if (reason.empty() && scheme.pre_scale) reason = kExpertsUnscaled;
  if (!reason.empty()) return reason;
  *weight = weight_of(scheme, layer.k, layer.parts.size() > 1, dtype_);
  return {};
}

void ModelBuilder::add_experts(const DecodedBlock& block) {
  const ExpertModules modules = expert_modules(block);
  std::string why;
  MoeSpec spec = moe_of_block(decoder_, block, &why);
  spec.activation = dtype_;
  std::vector<ModelLayer> layers;
  const auto layer_of = [&](const DecodedLinear& first) {
    ModelLayer layer;
    layer.name = leaf_of(first.row->path);
    layer.kind = ModelLayer::Kind::kExperts;
    layer.k = first.k;
    layer.matrices = first.count;
    return layer;
  };
  const auto add_part = [](const DecodedLinear& linear, ModelLayer* layer) {
    layer->parts.push_back({std::string(linear.row->path), linear.n});
    layer->n += linear.n;
    layer->bias = layer->bias || linear.bias;
  };
  for (const std::vector<DecodedLinear>* product : {&modules.first, &modules.down}) {
    // Products that no moe has stay apart.
    for (std::size_t i = 0; i < product->size(); ++i) {
      if (i == 0 || !why.empty()) layers.push_back(layer_of((*product)[i]));
      add_part((*product)[i], &layers.back());
    }
    if (why.empty() && product->size() == 2) layers.back().name = "gate_up_proj";
  }
  if (why.empty()) {
    layers[1].is_down = true;
    // Of experts that are alone engines make a stack, which is no longer any expert's "w2".
    const bool are_alone = modules.down.front().row->path.find(".*.") != std::string_view::npos;
    if (are_alone) layers[1].name = "down_proj";
    spec.shape.hidden = layers[0].k;
    spec.shape.intermediate = layers[1].k;
    spec.epilogue.bias = layers[0].bias || layers[1].bias;
  }
  std::vector<std::pair<Schemes, std::vector<int>>> different;
  for (const int index : block.facts.layers) {
    const std::string prefix = decoder_.layers_path + "." + std::to_string(index) + ".";
    Schemes schemes;
    for (const ModelLayer& layer : layers) {
      for (const ModelPart& part : layer.parts) {
        schemes.push_back(quantization_.scheme_of(first_expert(prefix + part.path)));
      }
    }
    auto found = std::find_if(different.begin(), different.end(),
                              [&](const auto& known) { return known.first == schemes; });
    if (found == different.end()) {
      found = different.emplace(found, std::move(schemes), std::vector<int>());
    }
    found->second.push_back(index);
  }
  for (const auto& [schemes, indices] : different) {
    for (ModelLayer& layer : layers) layer.layers = indices;
    add_experts(block.facts.experts, layers, spec, why, schemes);
  }
  note_once(shared_experts_note(block.facts.experts));
}

void ModelBuilder::add_experts(const ModelExperts& experts, std::vector<ModelLayer> layers,
                               MoeSpec spec, const std::string& why, const Schemes& schemes) {
  std::vector<Schemes> own;  // of each layer
  auto at = schemes.begin();
  for (const ModelLayer& layer : layers) {
    const auto end = at + static_cast<std::ptrdiff_t>(layer.parts.size());
    own.emplace_back(at, end);
    at = end;
  }
  // A layer is refused for its own weights, and for those of the other product.
  std::vector<std::string> reasons(layers.size(), why);
  if (why.empty()) {
    reasons[0] = set_expert_weight(layers[0], own[0], &spec.gate_up);
    reasons[1] = set_expert_weight(layers[1], own[1], &spec.down);
    // An order of down's columns is that of gate_up's rows, which a launch is not told.
    spec.act_order = own[0].front() != nullptr && own[0].front()->act_order;
    if (reasons[0].empty() && reasons[1].empty()) reasons[0] = reasons[1] = why_no_moe(spec);
    for (const std::size_t i : {0, 1}) {
      if (reasons[i].empty()) reasons[i] = reasons[1 - i];
    }
  }
  int kernel = -1;
  if (reasons[0].empty()) {
    ungated_.found = ungated_.found || spec.epilogue.gated;
    std::string covers;
    for (const ModelLayer& layer : layers) {
      for (const ModelPart& part : layer.parts) {
        covers += (covers.empty() ? "" : " + ") + leaf_of(part.path);
      }
    }
    kernel =
        count_kernel({Spec::from_moe(spec, "experts"), static_cast<int>(layers[0].layers.size()),
                      covers, routed_moe(experts, spec, "experts")});
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Scheme* const scheme = own[i].front();
    ModelLayer& layer = layers[i];
    if (kernel < 0) {
      layer.is_down = false;
      if (scheme == nullptr) {
        add_unserved(std::move(layer), nullptr, std::move(reasons[i]));
      } else {
        add_refused(std::move(layer), *scheme, std::move(reasons[i]));
      }
      continue;
    }
    layer.kernel = kernel;
    layer.weights = scheme == nullptr ? kPlainWeights : weights_text(*scheme);
    if (scheme == nullptr) {
      assumed_bias_ = assumed_bias_ || layer.bias;
    } else {
      assume(*scheme, layer.bias);
      if (scheme->activation) {
        note_once("experts: " + std::string(kSixteenBitsNote) + ", because " +
                  kExpertsTakeSixteenBits);
      }
    }
    model_.layers.push_back(std::move(layer));
  }
}

void ModelBuilder::note_once(std::string note) {
  std::vector<std::string>& notes = model_.notes;
  const bool known = std::find(notes.begin(), notes.end(), note) != notes.end();
  if (!note.empty() && !known) notes.push_back(std::move(note));
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
