#include "generator/model/model_builder.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "generator/model/group_size.h"

namespace heddle {

const char* const kNoPlainKernel =
    "its weights are not quantised; heddle build CONFIG --dense asks for kernels for such layers";

namespace {

const char* const kPlainWeights = "16 bits";
constexpr int kPlainBits = 16;

std::string covers(const ModelLayer& layer) {
  std::string names;
  for (const ModelPart& part : layer.parts) {
    names += (names.empty() ? "" : " + ") + leaf_of(part.path);
  }
  return names;
}

ModelLayer alone(const ModelLayer& layer, const ModelPart& part) {
  ModelLayer one = layer;
  one.name = leaf_of(part.path);
  one.parts = {part};
  one.n = part.n;
  return one;
}

// The experts of a layer are quantised alike: the first one tells.
std::string first_expert(std::string path) {
  const std::size_t star = path.find('*');
  if (star != path.npos) path.replace(star, 1, "0");
  return path;
}

ModelLayer::Kind kind_of(Module module) {
  switch (module) {
    case Module::kExpert:
      return ModelLayer::Kind::kExperts;
    case Module::kConvolution:
      return ModelLayer::Kind::kConvolution;
    case Module::kScan:
      return ModelLayer::Kind::kScan;
    default:
      return ModelLayer::Kind::kLinear;
  }
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

std::string names_with_layers(const std::map<std::string, int>& modules) {
  std::string names;
  for (const auto& [name, layers] : modules) {
    names += (names.empty() ? "" : ", ") + name;
    if (layers > 1) names += " (" + std::to_string(layers) + " layers)";
  }
  return names;
}

}  // namespace

std::string weights_text(const Scheme& scheme) {
  if (!scheme.unread.empty()) return "quantised in a way that is not read";
  std::string text(to_string(scheme.type));
  if (scheme.type == WeightType::kUint || scheme.type == WeightType::kInt) {
    text += std::to_string(scheme.bits);
  }
  if (!scheme.group_size) return text;
  if (scheme.block_rows > 1) {
    return text + ", blocks of " + std::to_string(scheme.block_rows) + " x " +
           std::to_string(*scheme.group_size);
  }
  if (*scheme.group_size == kPerTensor) return text + ", one scale";
  if (*scheme.group_size == kPerChannel) return text + ", a scale for each row";
  return text + ", groups of " + std::to_string(*scheme.group_size);
}

void ModelBuilder::add_decoder_layers() {
  for (const DecodedBlock& block : decoder_.blocks) {
    for (std::size_t i = 0; i < block.linears.size();) {
      const DecodedLinear& first = block.linears[i];
      std::size_t end = i + 1;
      while (end < block.linears.size() && fuses(*first.row, *block.linears[end].row)) ++end;
      // Engines fuse what is all there.
      if (static_cast<int>(end - i) < first.fused_parts) end = i + 1;
      const bool fused = end - i > 1;
      ModelLayer layer;
      layer.name = fused ? std::string(first.row->fused) : leaf_of(first.row->path);
      layer.kind = kind_of(first.row->module);
      layer.k = first.k;
      layer.matrices = first.count;
      layer.layers = block.facts.layers;
      for (; i < end; ++i) {
        const DecodedLinear& part = block.linears[i];
        layer.parts.push_back({std::string(part.row->path), part.n});
        layer.n += part.n;
        layer.bias = layer.bias || part.bias;
      }
      add(layer, first.row->module, decoder_.layers_path);
    }
  }
}

// `prefix` is what stands before the layer's index, or before the path of a module in no layer.
void ModelBuilder::add(const ModelLayer& layer, Module module, const std::string& prefix) {
  if (module == Module::kScan) {
    ModelLayer entry = layer;
    entry.n = entry.k = 0;
    entry.reason = "Heddle has no kernel for this recurrence yet";
    model_.layers.push_back(std::move(entry));
    return;
  }
  std::vector<std::string> prefixes;
  for (const int index : layer.layers)
    prefixes.push_back(prefix + "." + std::to_string(index) + ".");
  if (layer.layers.empty()) prefixes.push_back(prefix.empty() ? "" : prefix + ".");
  std::vector<std::pair<Schemes, ModelLayer>> different;
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    Schemes schemes;
    for (const ModelPart& part : layer.parts) {
      schemes.push_back(quantization_.scheme_of(first_expert(prefixes[i] + part.path)));
    }
    auto found = std::find_if(different.begin(), different.end(),
                              [&](const auto& known) { return known.first == schemes; });
    if (found == different.end()) {
      different.emplace_back(std::move(schemes), layer);
      found = std::prev(different.end());
      found->second.layers.clear();
    }
    if (!layer.layers.empty()) found->second.layers.push_back(layer.layers[i]);
  }
  for (const auto& [schemes, entry] : different) add_parts(entry, module, schemes);
}

void ModelBuilder::add_parts(const ModelLayer& layer, Module module, const Schemes& schemes) {
  switch (module) {
    case Module::kSmall:
      return add_small(layer, schemes.front());
    case Module::kExpert:
      return add_unserved(layer, schemes.front(),
                          "experts need kernels that choose their matrices by token, which Heddle "
                          "does not have yet; heddle build FOLDER makes the kernels of each expert "
                          "alone");
    case Module::kGrouped:
      return add_unserved(layer, schemes.front(),
                          "its matrices take columns of their own, and Heddle has no kernel for "
                          "several matrices yet");
    case Module::kConvolution:
      return add_unserved(layer, nullptr, "Heddle has no kernel for convolutions yet");
    default:
      break;
  }
  const bool alike =
      std::adjacent_find(schemes.begin(), schemes.end(), std::not_equal_to<>()) == schemes.end();
  if (alike && schemes.front() != nullptr) return add_kernel(layer, *schemes.front());
  if (alike && dense_) return add_plain(layer);
  for (std::size_t i = 0; i < schemes.size(); ++i) {
    ModelLayer part = alone(layer, layer.parts[i]);
    if (schemes[i] != nullptr) {
      add_kernel(std::move(part), *schemes[i]);
    } else {
      if (!dense_) left_out_[part.name] += static_cast<int>(part.count());
      add_plain(std::move(part));
    }
  }
}

void ModelBuilder::add_small(ModelLayer layer, const Scheme* scheme) {
  if (scheme != nullptr)
    small_[leaf_of(layer.parts.front().path)] += static_cast<int>(layer.count());
  add_plain(std::move(layer));
}

void ModelBuilder::add_plain(ModelLayer layer) {
  if (dense_) {
    layer.kernel = plain_kernel_of(layer);
    layer.weights = kPlainWeights;
    model_.layers.push_back(std::move(layer));
    return;
  }
  add_unserved(std::move(layer), nullptr, kNoPlainKernel);
}

void ModelBuilder::add_unserved(ModelLayer layer, const Scheme* scheme, std::string reason) {
  layer.weights = scheme == nullptr ? kPlainWeights : weights_text(*scheme);
  layer.reason = std::move(reason);
  model_.layers.push_back(std::move(layer));
}

void ModelBuilder::add_kernel(ModelLayer layer, const Scheme& scheme) {
  std::string reason = scheme.unread;
  if (reason.empty() && !scheme.group_size) {
    reason = "the config has no group_size; heddle build FOLDER learns it from the tensors";
  }
  const int group = kernel_group_size(layer.k, scheme.group_size.value_or(kPerChannel));
  if (reason.empty() && group > 0 && group % kGroupStep != 0) {
    reason = "groups of " + std::to_string(group) +
             " columns: kernels take groups whose size is a multiple of 16";
  }
  if (reason.empty()) {
    layer.kernel = kernel_of(layer, scheme);
    layer.weights = weights_text(scheme);
    model_.layers.push_back(std::move(layer));
    return;
  }
  const int layers = std::max<int>(1, static_cast<int>(layer.layers.size()));
  const auto known = std::find_if(
      model_.unserved.begin(), model_.unserved.end(),
      [&](const auto& other) { return other.name == layer.name && other.reason == reason; });
  if (known != model_.unserved.end()) {
    known->layers += layers;
  } else {
    model_.unserved.push_back({layer.name, reason, layers});
  }
  add_unserved(std::move(layer), &scheme, std::move(reason));
}

// The index of its kernel, which is made if there is none like it.
int ModelBuilder::kernel_of(const ModelLayer& layer, const Scheme& scheme) {
  GemmSpec gemm;
  gemm.weight = weight_of(scheme, layer.k, layer.parts.size() > 1, dtype_);
  gemm.act_order = scheme.act_order;
  gemm.pre_scale = scheme.pre_scale;
  assume(scheme, layer.bias);
  return kernel_with(layer, std::move(gemm));
}

// The same of weights that are not quantised.
int ModelBuilder::plain_kernel_of(const ModelLayer& layer) {
  GemmSpec gemm;
  gemm.weight.type = dtype_ == DType::kBf16 ? WeightType::kBf16 : WeightType::kFp16;
  gemm.weight.bits = kPlainBits;
  assumed_bias_ = assumed_bias_ || layer.bias;
  return kernel_with(layer, std::move(gemm));
}

// `gemm` has its weights' format and what is done to X; the layer's shape and types are added.
int ModelBuilder::kernel_with(const ModelLayer& layer, GemmSpec gemm) {
  gemm.shape.n = layer.n;
  gemm.shape.k = layer.k;
  gemm.activation = dtype_;
  gemm.epilogue = epilogue_of(layer);
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

void ModelBuilder::assume(const Scheme& scheme, bool bias) {
  const bool fp8 = scheme.type == WeightType::kE4m3 || scheme.type == WeightType::kE5m2;
  assumed_scales_ = assumed_scales_ || !scheme.scale_dtype;
  assumed_fp32_ = assumed_fp32_ || (fp8 && scheme.scale_dtype == DType::kFp32);
  assumed_order_ = assumed_order_ || scheme.act_order;
  assumed_zeros_ = assumed_zeros_ || !scheme.symmetric;
  assumed_bias_ = assumed_bias_ || bias;
}

void ModelBuilder::add_head() {
  ModelLayer head;
  head.name = "lm_head";
  head.parts = {{decoder_.head, decoder_.vocabulary}};
  head.n = decoder_.vocabulary;
  head.k = decoder_.head_width;
  head.bias = decoder_.head_bias;
  const Scheme* scheme = quantization_.scheme_of(decoder_.head);
  // Methods leave the head out by its usual name, whatever it is called in the checkpoint.
  if (quantization_.scheme_of("lm_head") == nullptr && leaf_of(decoder_.head) != "lm_head") {
    scheme = nullptr;
  }
  if (decoder_.vocabulary == 0) {
    head.k = 0;
    return add_unserved(std::move(head), scheme,
                        "the config does not say how many rows it has (vocab_size)");
  }
  if (dense_ && (decoder_.tied || scheme == nullptr)) return add_plain(std::move(head));
  if (decoder_.tied && scheme != nullptr) {
    model_.notes.emplace_back(
        "lm_head shares the weights of the embeddings (tie_word_embeddings), which are not "
        "quantised: "
        "no kernel is made for it");
    scheme = nullptr;
  } else if (scheme == nullptr && !quantization_.method().empty()) {
    model_.notes.emplace_back("lm_head is not quantised: no kernel is made for it");
  }
  if (scheme == nullptr) return add_plain(std::move(head));
  add_kernel(std::move(head), *scheme);
}

void ModelBuilder::add_others() {
  for (const DecodedLinear& linear : decoder_.outside) {
    ModelLayer layer;
    layer.name = leaf_of(linear.row->path);
    layer.parts = {{std::string(linear.row->path), linear.n}};
    layer.n = linear.n;
    layer.k = linear.k;
    layer.copies = static_cast<int>(linear.count);
    add(layer, linear.row->module, decoder_.body);
  }
  add_head();
  for (const DecodedOther& other : decoder_.others) {
    ModelLayer layer;
    layer.name = other.name;
    layer.kind = ModelLayer::Kind::kTower;
    layer.copies = other.layers;
    layer.reason = other.reason;
    model_.layers.push_back(std::move(layer));
  }
}

// Layers that blocks of several kinds have alike are listed once.
void ModelBuilder::merge_layers() {
  const auto alike = [](const ModelLayer& a, const ModelLayer& b) {
    const auto same_part = [](const ModelPart& x, const ModelPart& y) {
      return x.path == y.path && x.n == y.n;
    };
    return a.kernel == b.kernel && a.k == b.k && a.matrices == b.matrices && a.kind == b.kind &&
           a.bias == b.bias && a.weights == b.weights && a.reason == b.reason &&
           a.layers.empty() == b.layers.empty() &&
           std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(), same_part);
  };
  std::vector<ModelLayer> merged;
  for (ModelLayer& layer : model_.layers) {
    const auto known = std::find_if(merged.begin(), merged.end(), [&](const ModelLayer& other) {
      return !layer.layers.empty() && alike(other, layer);
    });
    if (known == merged.end()) {
      merged.push_back(std::move(layer));
    } else {
      known->layers.insert(known->layers.end(), layer.layers.begin(), layer.layers.end());
      std::sort(known->layers.begin(), known->layers.end());
    }
  }
  model_.layers = std::move(merged);
}

void ModelBuilder::finish() {
  merge_layers();
  if (gated_ && !model_.kernels.empty()) ungated_.add_notes(&model_.notes);
  if (!left_out_.empty() && !quantization_.method().empty()) {
    model_.notes.push_back(names_with_layers(left_out_) +
                           ": not quantised in the checkpoint, no kernel is made");
  }
  if (!small_.empty()) {
    model_.assumptions.push_back(
        names_with_layers(small_) +
        ": left in 16 bits, as quantisers leave routers and gates, although "
        "the config does not say so");
  }
  if (assumed_scales_) {
    model_.assumptions.push_back("scales have the type of the activations, " +
                                 std::string(to_string(dtype_)));
  }
  if (assumed_fp32_) {
    model_.assumptions.emplace_back(
        "scales of FP8 are FP32, one for a whole tensor where the config says nothing else");
  }
  if (assumed_order_) {
    model_.assumptions.emplace_back(
        "columns are out of order (act-order): launches take the order of the columns of X "
        "(heddle_perm in a repacked checkpoint); a layer that is split along K over several GPUs "
        "needs "
        "columns of X from all");
  }
  if (assumed_zeros_) model_.assumptions.emplace_back("zero points differ from 2^(bits-1)");
  if (assumed_bias_) model_.assumptions.emplace_back("biases of the model type are not all zero");
}

}  // namespace heddle
