#include "checkpoint/checkpoint_model.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "checkpoint/modules/layer_error.h"
#include "checkpoint/modules/module_place.h"
#include "checkpoint/modules/module_roles.h"
#include "checkpoint/output/output_plan.h"
#include "generator/model/model_builder.h"
#include "generator/model/row_kernels.h"
#include "generator/spec/document.h"

namespace heddle {
namespace {

std::string covers(const LayerGroup& group) {
  std::string names;
  for (const LayerName& part : group.parts)
    names += (names.empty() ? "" : " + ") + leaf_of_layer(part.name);
  return names;
}

// Layers of one list of a model that are alike stand for one.
class Layers {
 public:
  explicit Layers(std::string list) : list_(std::move(list)) {}

  // The modules are in the same layer of the model, `heights` their rows.
  void add(const std::vector<std::string>& modules, const std::vector<std::int64_t>& heights,
           ModelLayer layer) {
    const ModulePlace first = place_of_module(modules.front());
    const bool own = first.list == list_ && first.layer >= 0;
    std::string key = std::to_string(layer.kernel) + ' ' + std::to_string(layer.n) + ' ' +
                      std::to_string(layer.k) + ' ' + layer.reason + ' ' + layer.weights;
    for (std::size_t i = 0; i < modules.size(); ++i) {
      const ModulePlace place = place_of_module(modules[i]);
      const bool listed = place.layer >= 0 && !own;
      layer.parts.push_back({listed ? place.list + ".*." + place.path : place.path, heights[i]});
      key += ' ' + layer.parts.back().path;
    }
    const auto [at, is_new] =
        known_.try_emplace({own ? "" : first.list, std::move(key)}, layers_.size());
    if (is_new) {
      layers_.push_back(std::move(layer));
      seen_.emplace_back();
      layers_.back().copies = 0;
    }
    ModelLayer& entry = layers_[at->second];
    // Experts of a layer count as one, as in a config.
    const std::string once = own ? std::to_string(first.layer) : once_of(modules.front());
    if (!seen_[at->second].insert(once).second) {
      ++extra_[at->second];
      return;
    }
    if (own) {
      entry.layers.push_back(first.layer);
    } else {
      ++entry.copies;
    }
  }

  std::vector<ModelLayer> take() {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      ModelLayer& layer = layers_[i];
      std::sort(layer.layers.begin(), layer.layers.end());
      if (!layer.layers.empty()) layer.copies = 1;
      const auto extra = extra_.find(i);
      const std::size_t places = std::max<std::size_t>(1, seen_[i].size());
      if (extra != extra_.end()) {
        layer.matrices *= 1 + static_cast<std::int64_t>(extra->second / places);
        layer.stored_bytes *= 1 + extra->second / places;
        if (layer.kind == ModelLayer::Kind::kLinear) layer.kind = ModelLayer::Kind::kExperts;
      }
    }
    return std::move(layers_);
  }

 private:
  static std::string once_of(const std::string& module) {
    const ModulePlace place = place_of_module(module);
    return place.layer < 0 ? module : place.list + '.' + std::to_string(place.layer);
  }

  std::string list_;
  std::map<std::pair<std::string, std::string>, std::size_t> known_;
  std::vector<ModelLayer> layers_;
  std::vector<std::set<std::string>> seen_;
  std::map<std::size_t, std::size_t> extra_;  // modules of the same path in the same place
};

// The list with the most layers that are quantised, else any.
std::string main_list(const Checkpoint& checkpoint) {
  std::map<std::string, std::size_t> counts;
  for (const auto& [name, entry] : checkpoint.tensors()) ++counts[place_of_module(name).list];
  counts.erase("");
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? std::string() : most->first;
}

// Why a layer that is not quantised has no kernel although such kernels are asked for.
constexpr const char* kNotDense =
    "its weights are not quantised, and it is kept or none of the dense linear layers that its "
    "model type is known to have";

// What is no layer that a model is made of, however many sides its tensor has.
bool is_layer(ModuleRole role) {
  return role != ModuleRole::kEmbedding && role != ModuleRole::kNorm &&
         role != ModuleRole::kCacheScale;
}

void add_plain(const Checkpoint& checkpoint, const CheckpointConfig& config,
               const std::set<std::string>& consumed, bool dense, Layers* layers) {
  constexpr std::string_view kWeight = ".weight";
  for (const auto& [name, entry] : checkpoint.tensors()) {
    const TensorInfo& tensor = *entry.tensor;
    const std::size_t sides = tensor.shape.size();
    if (consumed.count(name) != 0 || !is_float(tensor.type) || sides < 2) continue;
    const bool weight = name.ends_with(kWeight);
    const std::string module = weight ? name.substr(0, name.size() - kWeight.size()) : name;
    const ModuleRole role = role_of_module(config, module);
    // Without the ending it is a stack of experts or a parameter of another kind.
    if (!is_layer(role) || (!weight && sides != 3)) continue;
    ModelLayer layer;
    layer.name = leaf_of_layer(module);
    layer.n = tensor.shape[sides - 2];
    layer.k = tensor.shape[sides - 1];
    layer.weights = std::string(to_string(tensor.type));
    layer.reason = dense ? kNotDense : kNoPlainKernel;
    if (role == ModuleRole::kAdapter) layer.reason = why_no_gemm(role);
    layer.stored_bytes = tensor.bytes;
    if (weight && sides > 2) {
      layer.kind = ModelLayer::Kind::kConvolution;
      layer.n = tensor.shape[0];
      layer.reason = "Heddle has no kernel for convolutions yet";
    } else if (sides > 2) {
      layer.kind = ModelLayer::Kind::kExperts;
      layer.matrices = tensor.shape[0];
    }
    const std::int64_t rows = layer.n;
    layers->add({module}, {rows}, std::move(layer));
  }
}

// What makes X of eight bits where a layer takes it. Other norms and activations are the engine's.
void add_rows_of_bytes(const CheckpointConfig& config, Model* model) {
  const auto bytes =
      std::find_if(model->kernels.begin(), model->kernels.end(), [](const ModelKernel& kernel) {
        const auto* const gemm = kernel.spec.get_if<GemmSpec>();
        return gemm != nullptr && gemm->has_byte_activations();
      });
  if (bytes == model->kernels.end()) return;
  if (!config.decoder) {
    model->notes.emplace_back(
        "no row_transforms are made: what makes X of 8 bits is not known of this model type");
    return;
  }
  add_row_kernels(*config.decoder, bytes->spec.gemm().output_dtype(), model);
}

// A checkpoint's layers as those of a model.
class LayersOfModel {
 public:
  // `consumed`: tensors that are no layers of 16 bits of their own.
  LayersOfModel(const Checkpoint& checkpoint, const CheckpointConfig& config,
                std::set<std::string> consumed)
      : checkpoint_(checkpoint),
        config_(config),
        consumed_(std::move(consumed)),
        layers_(main_list(checkpoint)) {
    model_.model_type = config.model_type;
    model_.quant_method = config.quantization.method();
  }

  // Before the layers, of which each set has two.
  void add(const std::vector<CheckpointExperts>& experts) {
    for (const CheckpointExperts& one : experts) {
      products_[one.gate_up] = {&one, false};
      products_[one.down] = {&one, true};
    }
  }

  void add(const PackedLayer& packed) {
    const auto product = products_.find(packed.group.name);
    const bool is_product = product != products_.end();
    const bool is_down = is_product && product->second.is_down;
    const Spec& kernel = is_product ? product->second.experts->spec : packed.spec;
    const std::optional<Spec> routed =
        is_product ? product->second.experts->routed : std::optional<Spec>();
    const std::string text =
        kernel.canonical_json() + (routed ? routed->canonical_json() : std::string());
    const auto [place, is_new] = kernels_.try_emplace({kernel.name(), text}, model_.kernels.size());
    if (is_new) model_.kernels.push_back({kernel, 0, covers(packed.group), routed});
    ModelKernel& served = model_.kernels[place->second];
    if (!is_down) ++served.layers;  // the two products of experts are one layer of them
    if (is_product) add_covers(product->second, is_new, packed.group, &served);
    ModelLayer layer;
    layer.is_down = is_down;
    if (is_product) layer.kind = ModelLayer::Kind::kExperts;
    layer.name = packed.spec.name();
    layer.n = packed.spec.weight_shape().n;
    layer.k = packed.spec.weight_shape().k;
    layer.matrices = packed.matrices;
    if (layer.matrices > 1) layer.kind = ModelLayer::Kind::kExperts;
    layer.weights = weights_text(packed.spec.weight());
    layer.bias = packed.spec.gemm().epilogue.bias;
    layer.kernel = static_cast<int>(place->second);
    std::vector<std::string> modules;
    for (const LayerName& part : packed.group.parts) modules.push_back(part.name);
    layers_.add(modules, packed.heights, std::move(layer));
  }

  void add(const UnservedLayer& layer) {
    const auto [place, is_new] =
        unserved_.try_emplace({leaf_of_layer(layer.name), layer.reason}, model_.unserved.size());
    if (is_new) model_.unserved.push_back({leaf_of_layer(layer.name), layer.reason, 0});
    ++model_.unserved[place->second].layers;
    ModelLayer entry;
    entry.name = leaf_of_layer(layer.name);
    entry.n = layer.n;
    entry.k = layer.k;
    const TensorInfo* const weights =
        layer.tensors.empty() ? nullptr : checkpoint_.find(layer.tensors.front());
    entry.weights = weights != nullptr && is_float(weights->type) ? kPlainWeights : "quantised";
    entry.reason = layer.reason;
    for (const std::string& tensor : layer.tensors) {
      const TensorInfo* const found = checkpoint_.find(tensor);
      if (found != nullptr) entry.stored_bytes += found->bytes;
    }
    layers_.add({layer.name}, {layer.n}, std::move(entry));
    consumed_.insert(layer.tensors.begin(), layer.tensors.end());
  }

  void add(const MissingLayer& missing) {
    ModelLayer entry;
    entry.name = leaf_of_layer(missing.name);
    entry.n = missing.n;
    entry.k = missing.k;
    entry.weights = kMissingWeights;
    if (missing.experts != 0) {
      entry.kind = ModelLayer::Kind::kExperts;
      entry.matrices = missing.experts;
      entry.is_down = missing.is_down;
    }
    entry.reason = "the checkpoint has no tensor of it";
    layers_.add({missing.name}, {missing.n}, std::move(entry));
  }

  // `dense` as in PackOptions.
  Model finish(std::vector<std::string> notes, bool dense) {
    add_plain(checkpoint_, config_, consumed_, dense, &layers_);
    model_.layers = layers_.take();
    model_.notes = std::move(notes);
    if (config_.decoder) {
      for (std::string& note : config_.decoder->notes()) {
        const auto& told = model_.notes;
        const bool is_told = std::find(told.begin(), told.end(), note) != told.end();
        if (!is_told) model_.notes.push_back(std::move(note));
      }
      model_.assumptions = config_.decoder->assumptions;
    }
    add_rows_of_bytes(config_, &model_);
    if (!config_.is_known && !config_.model_type.empty()) {
      model_.notes.push_back("the model type \"" + excerpt(config_.model_type) +
                             "\" is not known to Heddle: its layers are what the tensors show");
    }
    return std::move(model_);
  }

 private:
  struct Product {
    const CheckpointExperts* experts = nullptr;
    bool is_down = false;
  };

  // A kernel covers both products of the first experts that have it.
  void add_covers(const Product& product, bool is_new, const LayerGroup& group,
                  ModelKernel* kernel) {
    if (is_new) {
      first_experts_.insert(product.experts);
    } else if (first_experts_.count(product.experts) != 0) {
      kernel->covers = product.is_down ? kernel->covers + " + " + covers(group)
                                       : covers(group) + " + " + kernel->covers;
    }
  }

  using NameAndText = std::pair<std::string, std::string>;

  const Checkpoint& checkpoint_;
  const CheckpointConfig& config_;
  std::set<std::string> consumed_;
  Layers layers_;
  Model model_;
  std::map<NameAndText, std::size_t> kernels_;        // by name and specs
  std::map<std::string, Product> products_;           // layers that are one
  std::set<const CheckpointExperts*> first_experts_;  // of a kernel
  std::map<NameAndText, std::size_t> unserved_;       // by name and reason
};

}  // namespace

Model model_of_checkpoint(const Checkpoint& checkpoint, const CheckpointConfig& config,
                          const PackOptions& options) {
  LayerPlan plan = plan_layers(checkpoint, config, options);
  if (plan.packed.empty() && plan.unserved.empty() && plan.inventory.kept == 0) {
    refuse_plain_checkpoint(options);
  }
  std::set<std::string> consumed = std::move(plan.inventory.skipped);
  for (const PackedLayer& packed : plan.packed) {
    consumed.insert(packed.expert_tensors.begin(), packed.expert_tensors.end());
    if (!packed.experts.empty()) continue;
    for (const LayerName& part : packed.group.parts) {
      for (std::string& tensor : tensors_of(part, checkpoint)) consumed.insert(std::move(tensor));
    }
  }
  LayersOfModel layers(checkpoint, config, std::move(consumed));
  layers.add(plan.experts);
  for (const PackedLayer& packed : plan.packed) layers.add(packed);
  for (const UnservedLayer& layer : plan.unserved) layers.add(layer);
  for (const MissingLayer& layer : plan.missing) layers.add(layer);
  return layers.finish(std::move(plan.notes), options.dense);
}

Model model_of_packed(const Checkpoint& checkpoint, const CheckpointConfig& config,
                      PackedCheckpoint packed) {
  std::set<std::string> others;
  for (const MadeTensor& tensor : packed.others) others.insert(tensor.info.name);
  std::set<std::string> consumed;  // what the layers have
  for (const auto& [name, entry] : checkpoint.tensors()) {
    if (others.count(name) == 0) consumed.insert(name);
  }
  LayersOfModel layers(checkpoint, config, std::move(consumed));
  layers.add(packed.experts);
  for (const PackedLayerTensors& tensors : packed.layers) layers.add(tensors.layer);
  for (const UnservedLayer& layer : packed.unserved) layers.add(layer);
  return layers.finish(std::move(packed.notes), packed.dense);
}

}  // namespace heddle
