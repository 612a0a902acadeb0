#include "generator/model/model_builder.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "generator/model/group_size.h"
#include "generator/model/head_weight.h"
#include "generator/model/module_role.h"
#include "generator/model/plain_weight.h"
#include "heddle/error.h"

namespace heddle {

namespace {

ModelLayer alone(const ModelLayer& layer, const ModelPart& part) {
  ModelLayer one = layer;
  one.name = leaf_of(part.path);
  one.parts = {part};
  one.n = part.n;
  return one;
}

ModelLayer::Kind kind_of(Module module) {
  switch (module) {
    case Module::kConvolution:
      return ModelLayer::Kind::kConvolution;
    case Module::kScan:
      return ModelLayer::Kind::kScan;
    default:
      return ModelLayer::Kind::kLinear;
  }
}

}  // namespace

void ModelBuilder::add_decoder_layers() {
  for (const DecodedBlock& block : decoder_.blocks) {
    bool has_experts = false;
    for (std::size_t i = 0; i < block.linears.size();) {
      const DecodedLinear& first = block.linears[i];
      if (first.row->module == Module::kExpert) {
        if (!has_experts) add_experts(block);
        has_experts = true;
        ++i;
        continue;
      }
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
      schemes.push_back(quantization_.scheme_of(prefixes[i] + part.path));
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
    layer.kernel = kernel_of(layer, plain_weight(dtype_));
    layer.weights = kPlainWeights;
    model_.layers.push_back(std::move(layer));
    return;
  }
  add_unserved(std::move(layer), nullptr, kNoPlainKernel);
}

void ModelBuilder::add_unserved(ModelLayer layer, const Scheme* scheme, std::string reason) {
  layer.weights = scheme == nullptr ? kPlainWeights : weights_text(*scheme);
  layer.reason = std::move(reason);
  layer.stored_bytes = stored_bytes(layer, scheme);
  model_.layers.push_back(std::move(layer));
}

std::string why_unread(const Scheme& scheme, std::int64_t k) {
  if (!scheme.unread.empty()) return scheme.unread;
  if (!scheme.group_size) {
    return "the config has no group_size; heddle build FOLDER learns it from the tensors";
  }
  const int group = kernel_group_size(k, *scheme.group_size);
  if (group > 0 && group % kGroupStep != 0) {
    return "groups of " + std::to_string(group) +
           " columns: kernels take groups whose size is a multiple of 16";
  }
  return {};
}

void ModelBuilder::add_kernel(ModelLayer layer, const Scheme& scheme) {
  std::string reason = why_unread(scheme, layer.k);
  if (reason.empty()) {
    layer.kernel = kernel_of(layer, scheme);
    layer.weights = weights_text(scheme);
    model_.layers.push_back(std::move(layer));
    return;
  }
  add_refused(std::move(layer), scheme, std::move(reason));
}

void ModelBuilder::add_refused(ModelLayer layer, const Scheme& scheme, std::string reason) {
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

// For the table of tokens where the config says that it is quantised.
const Scheme* ModelBuilder::scheme_of_embeddings() const {
  if (!quantization_.names_tables()) return nullptr;
  const std::string prefix = decoder_.body.empty() ? "" : decoder_.body + ".";
  return quantization_.scheme_of_table(prefix + std::string(token_tables().front()));
}

void ModelBuilder::add_table() {
  const Scheme* const scheme = scheme_of_embeddings();
  if (scheme == nullptr) return;
  ModelLayer table;
  table.name = token_tables().front();
  table.parts = {{table.name, decoder_.vocabulary}};
  table.n = decoder_.vocabulary;
  table.k = decoder_.hidden;
  add_refused(std::move(table), *scheme, why_no_gemm(ModuleRole::kEmbedding));
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
  if (lm_head_bits_ != 0) return add_quantized_head(std::move(head), scheme);
  if (const Scheme* const table = decoder_.tied ? scheme_of_embeddings() : nullptr) {
    model_.notes.emplace_back(
        "lm_head shares the weights of the embeddings (tie_word_embeddings), which are quantised: "
        "its kernel multiplies with them");
    Scheme shared = *table;
    shared.activation.reset();  // the look-up's scheme says nothing of what the head takes
    return add_kernel(std::move(head), shared);
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
  if (scheme == nullptr) {
    add_plain(std::move(head));
    if (decoder_.tied && !dense_) model_.layers.back().stored_bytes = 0;
    return;
  }
  add_kernel(std::move(head), *scheme);
}

// A tied one is quantised where the embeddings are, whatever the scheme says.
void ModelBuilder::add_quantized_head(ModelLayer head, const Scheme* scheme) {
  if (decoder_.tied) scheme = scheme_of_embeddings();
  if (scheme != nullptr) {
    throw Error(ErrorCategory::kUnsupported, "model.lm_head",
                std::vector<Problem>{{quantization_.pointer(),
                                      "lm_head is quantised already, and not from 16 bits to " +
                                          std::to_string(lm_head_bits_),
                                      weights_text(*scheme), "", ""}});
  }
  const WeightSpec weight = head_weight(lm_head_bits_, head.k, dtype_);
  head.kernel = kernel_of(head, weight);
  head.weights = weights_text(weight);
  model_.layers.push_back(std::move(head));
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
  add_table();
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
           a.is_down == b.is_down && a.bias == b.bias && a.weights == b.weights &&
           a.reason == b.reason && a.layers.empty() == b.layers.empty() &&
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

}  // namespace heddle
