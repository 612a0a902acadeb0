// A checkpoint or a config.json, and what it says of the model: its matrices, the kinds of its
// attention, which layers have experts.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "heddle/heddle.hpp"

// Tokens of each sequence that go through the layers together while a prompt is read: as many as
// decode_attention takes.
inline constexpr int kChunk = 8;

// What this example knows of a model type beyond what the library says.
struct Family {
  const char* model_type;
  const char* router;  // the matrix below a decoder layer; null: no layer has experts
  bool norms_heads;    // of Q and K
};
inline constexpr Family kFamilies[] = {{"llama", nullptr, false},
                                       {"qwen3", nullptr, true},
                                       {"mixtral", "block_sparse_moe.gate", false},
                                       {"qwen3_moe", "mlp.gate", true},
                                       {"gpt_oss", "mlp.router", false}};

// The kernels on the cache of a layer. Layers whose windows differ have different ones.
struct Attention {
  heddle::Spec append;  // with Q, rotations, and norms of heads if the model has them
  heddle::Spec attend;
  heddle::Spec attend_chunk;  // the same for kChunk tokens of each sequence
};

struct Source {
  // `place` is a checkpoint's folder or, for specs alone, a config.json or a folder with nothing
  // but that. `kv` names the cache: "int8:head". `arch` is the GPU's, 0 for any, and with
  // `activation_bits` says whether matrices that the checkpoint quantises so take X of 8 bits:
  // CheckpointOptions. Of several GPUs that share the model, `parallel` names one: its heads, inner
  // features and part of the vocabulary. Throws std::runtime_error and heddle::Error with the
  // reason for what this engine does not serve.
  Source(const std::string& place, const std::string& kv, int arch, int activation_bits,
         heddle::TensorParallel parallel)
      : rank(parallel.rank) {
    if (has_tensors(place)) open(place, options(arch, activation_bits, parallel));
    if (!reader && parallel.size != 1) refuse(place + " has no weights that could be split");
    const bool is_folder = std::filesystem::is_directory(place);
    const std::string path = is_folder ? place + "/config.json" : place;
    std::ifstream file(path);
    const bool is_tensors = std::filesystem::path(path).extension() == ".safetensors";
    if (is_tensors || !file)
      refuse("cannot read " + path + ": it takes a checkpoint's folder or a config.json");
    const std::string config(std::istreambuf_iterator<char>(file), {});
    heddle::ModelConfigTexts texts;
    texts.config = config;
    texts.plain_too = true;  // how layers are quantised is the reader's to know, if there is one
    if (!reader) {
      texts.gated = texts.dense = true;
      texts.arch = arch;
      texts.activation_bits = activation_bits;
    }
    const heddle::Model model = model_of(texts, path);
    take_family(model.model_type);
    take_attention(heddle::cache_model_from_config(config, heddle::kv_block_from_words(kv)),
                   static_cast<int>(parallel.size));
    take_layers(model);
    hidden = model.hidden;
    vocabulary = model.vocabulary;
    vocabulary_part = vocabulary / parallel.size;
    epsilon = static_cast<float>(model.norm_epsilon);
    const bool fp16 = activation() == heddle::DType::kFp16;
    type = fp16 ? heddle::TensorType::kF16 : heddle::TensorType::kBf16;
  }

  static std::string name_of(int layer) { return "model.layers." + std::to_string(layer); }
  static std::string name_of(int layer, const std::string& module) {
    return name_of(layer) + "." + module;
  }
  // Whether there are weights, not only what a config says of them.
  static bool has_tensors(const std::string& place) {
    if (!std::filesystem::is_directory(place)) return false;
    for (const auto& entry : std::filesystem::directory_iterator(place)) {
      if (entry.path().extension() == ".safetensors") return true;
    }
    return false;
  }
  const Attention& attention(int layer) const { return attentions[kinds_.at(layer)]; }
  // Those of a layer's attention; all layers have as many.
  const heddle::AttentionShape& heads() const {
    return attentions[0].attend.decode_attention().shape;
  }
  heddle::DType activation() const { return attentions[0].attend.decode_attention().activation; }
  bool has_experts(int layer) const { return experts_.at(layer); }

  // The spec of a matrix, for any number of rows: of the tensors or, without them, of the config.
  const heddle::Spec& matrix_of(const std::string& name) const {
    if (reader) return reader->layer(name).spec;
    const auto found = matrices_.find(name);
    if (found == matrices_.end()) refuse("by config.json there is no kernel of " + name);
    return found->second;
  }
  // The experts of a layer, as the checkpoint has them. Precondition: there is one.
  const heddle::CheckpointExperts& stored_experts(int layer) const {
    const std::string at = name_of(layer, "");
    for (const heddle::CheckpointExperts& one : reader->experts()) {
      if (one.name.rfind(at, 0) == 0) return one;
    }
    for (const heddle::UnservedLayer& one : reader->unserved()) {
      if (one.name.rfind(at, 0) == 0) refuse(one.name + " has no kernel: " + one.reason);
    }
    refuse("the checkpoint has no experts in " + at);
  }
  // From the router's logits on, for any number of rows.
  heddle::MoeSpec experts_of(int layer) const {
    const std::optional<heddle::Spec>& routed =
        reader ? stored_experts(layer).routed : routed_.at(layer);
    if (routed) return routed->moe();
    std::string why = "config.json does not say all of how experts are chosen";
    for (const std::string& note : notes) {
      if (note.rfind("routing: ", 0) == 0) why += "; " + note;
    }
    refuse(why);
  }
  // The tensor, if it has what launches take: so many elements of the activations' type.
  const heddle::CheckpointTensor& sixteen_bits(const heddle::CheckpointTensor& tensor,
                                               std::int64_t elements) const {
    if (tensor.type == type && tensor.bytes == std::size_t(2 * elements)) return tensor;
    refuse(tensor.name + " has another type than activations, or another size");
  }
  // The model types of which `which` is true: "llama, qwen3".
  static std::string served(bool (*which)(const Family&)) {
    std::string types;
    for (const Family& one : kFamilies) {
      if (which(one)) types += (types.empty() ? "" : ", ") + std::string(one.model_type);
    }
    return types;
  }
  [[noreturn]] static void refuse(const std::string& why) { throw std::runtime_error(why); }

  std::optional<heddle::CheckpointReader> reader;  // none: there are only specs
  std::vector<std::string> notes;                  // what a user should know of the weights
  std::int64_t rank, hidden, vocabulary;
  std::int64_t vocabulary_part;  // tokens of which this GPU has logits, those of rank 0 first
  int layers = 0;
  float epsilon;
  Family family;
  heddle::TensorType type;            // of activations of 16 bits
  std::vector<Attention> attentions;  // each kind once

 private:
  // Also what heddle repack wrote, if it has all that this engine asks for.
  void open(const std::string& place, const heddle::CheckpointOptions& options) {
    try {
      reader.emplace(place, options);
    } catch (const heddle::Error& error) {
      if (error.code() != "checkpoint.packed_options") throw;
      refuse(std::string(error.what()) +
             "; this example takes what was packed with --gated --dense");
    }
  }
  static heddle::Model model_of(const heddle::ModelConfigTexts& texts, const std::string& path) {
    try {
      return heddle::model_from_config(texts);
    } catch (const heddle::Error& error) {
      refuse(path + ": " + error.what());
    }
  }
  static heddle::CheckpointOptions options(int arch, int activation_bits,
                                           heddle::TensorParallel parallel) {
    heddle::CheckpointOptions options;
    options.parallel = parallel;
    options.arch = arch;
    options.activation_bits = activation_bits;
    options.gated = true;  // the kernel of gate_up_proj also computes silu(gate) * up
    options.dense = true;  // what is not quantised, lm_head as a rule, is packed as it is
    return options;
  }
  void take_family(const std::string& model_type) {
    const auto found =
        std::find_if(std::begin(kFamilies), std::end(kFamilies),
                     [&](const Family& one) { return one.model_type == model_type; });
    if (found == std::end(kFamilies)) {
      refuse("the model type is \"" + model_type + "\"; served are " +
             served([](const Family&) { return true; }));
    }
    family = *found;
  }
  // The kernels of each layer's cache, for the heads of one GPU of so many.
  void take_attention(const heddle::Model& cache, int gpus) {
    std::map<int, std::pair<int, int>> found;  // by layer: indices of both kernels
    for (const heddle::ModelLayer& layer : cache.layers) {
      if (layer.kernel < 0) refuse(layer.name + " has no kernel: " + layer.reason);
      const bool appends = cache.kernels[layer.kernel].spec.op() == heddle::Op::kKvAppend;
      for (const int i : layer.layers) {
        (appends ? found[i].first : found[i].second) = layer.kernel;
      }
    }
    std::map<std::pair<int, int>, std::size_t> kinds;
    for (const auto& [layer, kernels] : found) {
      const auto [kind, is_new] = kinds.emplace(kernels, attentions.size());
      kinds_.push_back(kind->second);
      if (!is_new) continue;
      attentions.push_back(for_one_gpu(cache.kernels[kernels.first].spec.kv_append(),
                                       cache.kernels[kernels.second].spec.decode_attention(),
                                       gpus));
      const heddle::AttentionShape& one = attentions.back().attend.decode_attention().shape;
      if (one.heads != heads().heads || one.kv_heads != heads().kv_heads ||
          one.head_dim != heads().head_dim) {
        refuse("served are models whose layers all have as many heads, of one size");
      }
    }
    layers = static_cast<int>(kinds_.size());
  }
  // The reader refuses numbers that cannot be split; of fewer heads of keys than GPUs several have
  // the same one.
  Attention for_one_gpu(heddle::KvAppendSpec append, heddle::DecodeAttentionSpec attend,
                        int gpus) const {
    if (append.rope.source == heddle::RopeSource::kTable) {
      refuse("kv_append takes the rotations of this model as a table, which is not made here");
    }
    if (family.norms_heads && !append.norm.epsilon) refuse("config.json has no rms_norm_eps");
    attend.shape.heads /= gpus;
    attend.shape.kv_heads = std::max(attend.shape.kv_heads / gpus, 1);
    append.query.heads = attend.shape.heads;
    append.shape.kv_heads = attend.shape.kv_heads;
    Attention one;
    one.append = heddle::Spec::from_kv_append(append);
    one.attend = heddle::Spec::from_decode_attention(attend);
    attend.shape.query_len = kChunk;
    one.attend_chunk = heddle::Spec::from_decode_attention(attend);
    return one;
  }
  // Which layers have experts, and what the reader would find, as the config describes it.
  void take_layers(const heddle::Model& model) {
    experts_.assign(layers, false);
    for (const heddle::ModelLayer& layer : model.layers) {
      const bool experts = layer.kind == heddle::ModelLayer::Kind::kExperts;
      for (const int i : layer.layers) {
        if (experts) experts_.at(i) = true;
      }
      if (reader) continue;
      if (layer.kernel < 0) {
        if (experts) refuse("experts have no kernel: " + layer.reason);
        continue;
      }
      const std::string& part = layer.parts.at(0).path;  // "self_attn.q_proj" of "qkv_proj"
      const std::string module = part.substr(0, part.rfind('.') + 1) + layer.name;
      const heddle::ModelKernel& kernel = model.kernels[layer.kernel];
      if (layer.layers.empty()) matrices_.emplace(module, kernel.spec);
      for (const int i : layer.layers) {
        if (experts) {
          routed_[i] = kernel.routed;
        } else {
          matrices_.emplace(name_of(i, module), kernel.spec);
        }
      }
    }
    if (reader) {
      notes = reader->notes();
      return;
    }
    notes = model.notes;
    notes.insert(notes.end(), model.assumptions.begin(), model.assumptions.end());
  }

  std::vector<std::size_t> kinds_;  // by layer, of attentions
  std::vector<bool> experts_;       // by layer
  // Of the config, where there is no reader.
  std::map<std::string, heddle::Spec> matrices_;
  std::map<int, std::optional<heddle::Spec>> routed_;  // by layer
};
