// A checkpoint, and the specs of all kernels that decoding it takes. Needs no GPU; specs need no
// weights either.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/heddle.hpp"

// Tokens of each sequence that go through the layers together while a prompt is read: as many as
// decode_attention takes.
inline constexpr int kChunk = 8;
// The matrices of a decoder layer, and their places in Decoder::Layer.
enum Matrix { kQkv, kO, kGateUp, kDown };
inline constexpr const char* kMatrices[] = {"self_attn.qkv_proj", "self_attn.o_proj",
                                            "mlp.gate_up_proj", "mlp.down_proj"};

struct Model {
  // `place` is a checkpoint's folder or, for specs alone, a config.json or a folder with nothing
  // but that. `kv` names the cache: "int8:head". `arch` is the GPU's, 0 for any, and with
  // `activation_bits` says whether matrices that the checkpoint quantises so take X of 8 bits:
  // CheckpointOptions. Of several GPUs that share the model, `parallel` names one: its heads, inner
  // features and part of the vocabulary. Throws with the reason for what this engine does not
  // serve.
  Model(const std::string& place, const std::string& kv, std::int64_t batch, int arch = 0,
        int activation_bits = 0, heddle::TensorParallel parallel = {})
      : sequences(batch) {
    if (has_tensors(place)) reader.emplace(place, options(arch, activation_bits, parallel));
    if (!reader && parallel.size != 1) refuse(place + " has no weights that could be split");
    const bool is_folder = std::filesystem::is_directory(place);
    const std::string path = is_folder ? place + "/config.json" : place;
    std::ifstream file(path);
    if (!file) refuse("cannot read " + path + ": it takes a checkpoint's folder or a config.json");
    const std::string config(std::istreambuf_iterator<char>(file), {});
    heddle::ModelConfigTexts texts;
    texts.config = config;
    texts.plain_too = true;  // how layers are quantised is the reader's to know, if there is one
    if (!reader) {
      texts.gated = texts.dense = true;
      texts.arch = arch;
      texts.activation_bits = activation_bits;
    }
    const heddle::Model model = heddle::model_from_config(texts);
    if (reader) {
      notes = reader->notes();
    } else {
      take_matrices(model);
    }
    const heddle::Model cache =
        heddle::cache_model_from_config(config, heddle::kv_block_from_words(kv));
    if (model.model_type != "llama" && model.model_type != "qwen3") {
      refuse("the model type is \"" + model.model_type + "\"; served are llama and qwen3");
    }
    if (cache.kernels.size() != 2) {
      refuse("served are models whose layers all have the same attention");
    }
    if (batch < 1 || batch > 64) refuse("a batch has 1 to 64 sequences");
    layers = cache.kernels[0].layers;
    hidden = model.hidden;
    vocabulary = model.vocabulary;
    vocabulary_part = vocabulary / parallel.size;
    append = cache.kernels[0].spec;  // with Q, rotations, and norms of heads if the model has them
    attend = cache.kernels[1].spec;
    take_heads(parallel.size);
    if (append.kv_append().rope.source == heddle::RopeSource::kTable) {
      refuse("kv_append takes the rotations of this model as a table, which is not made here");
    }
    if (model.model_type == "qwen3" && !append.kv_append().norm.epsilon) {
      refuse("config.json has no rms_norm_eps");
    }
    heddle::DecodeAttentionSpec attention = attend.decode_attention();
    attention.shape.query_len = kChunk;
    attend_chunk = heddle::Spec::from_decode_attention(attention);

    epsilon = static_cast<float>(model.norm_epsilon);
    // lm_head is for one token of each sequence, and logits are FP32.
    heddle::GemmSpec gemm = matrix_of("lm_head").gemm();
    expect("lm_head", gemm, vocabulary_part, hidden);
    gemm.shape.m_min = gemm.shape.m_max = sequences;
    gemm.output = heddle::DType::kFp32;
    head = heddle::Spec::from_gemm(gemm);
    const bool fp16 = attention.activation == heddle::DType::kFp16;
    type = fp16 ? heddle::TensorType::kF16 : heddle::TensorType::kBf16;
  }

  static std::string name_of(int layer, const std::string& module) {
    return "model.layers." + std::to_string(layer) + "." + module;
  }
  // Whether there are weights, not only what a config says of them.
  static bool has_tensors(const std::string& place) {
    if (!std::filesystem::is_directory(place)) return false;
    for (const auto& entry : std::filesystem::directory_iterator(place)) {
      if (entry.path().extension() == ".safetensors") return true;
    }
    return false;
  }
  // The spec of a matrix, for any number of rows: of the tensors or, without them, of the config.
  const heddle::Spec& matrix_of(const std::string& name) const {
    if (reader) return reader->layer(name).spec;
    const auto found = matrices_.find(name);
    if (found == matrices_.end()) refuse("by config.json there is no kernel of " + name);
    return found->second;
  }
  // The tensor, if it has what launches take: so many elements of the activations' type.
  const heddle::CheckpointTensor& sixteen_bits(const heddle::CheckpointTensor& tensor,
                                               std::int64_t elements) const {
    if (tensor.type == type && tensor.bytes == std::size_t(2 * elements)) return tensor;
    refuse(tensor.name + " has another type than activations, or another size");
  }
  // The kernel of a matrix, for the numbers of rows that it is launched with. Its sides must be
  // those of the buffers, which follow from the config.
  heddle::Spec linear(int layer, Matrix matrix) const {
    const std::string name = name_of(layer, kMatrices[matrix]);
    heddle::GemmSpec gemm = matrix_of(name).gemm();
    const heddle::AttentionShape& shape = attend.decode_attention().shape;
    const std::int64_t heads = std::int64_t{shape.heads} * shape.head_dim;
    const std::int64_t cached = std::int64_t{2} * shape.kv_heads * shape.head_dim;
    const std::int64_t inner =
        matrix_of(name_of(0, kMatrices[kGateUp])).gemm().shape.n / 2;  // gates and ups
    const std::int64_t columns_of_y[] = {heads + cached, hidden, inner, hidden};
    const std::int64_t columns_of_x[] = {hidden, heads, hidden, inner};
    expect(name, gemm, columns_of_y[matrix], columns_of_x[matrix]);
    gemm.shape.m_min = sequences;
    gemm.shape.m_max = kChunk * sequences;
    return heddle::Spec::from_gemm(gemm);
  }
  // The norm ahead of a matrix, which writes X as the matrix takes it: 16 bits, or 8 with scales.
  // All but the first also add what the matrix before has made to the residual stream.
  heddle::Spec norm(const heddle::Spec& matrix, bool residual = true) const {
    heddle::RowTransformSpec row = rows(matrix);
    row.norm.type = heddle::NormType::kRms;
    row.norm.epsilon = epsilon;
    row.residual = residual;
    return heddle::Spec::from_row_transform(row);
  }
  // X of 16 bits as a matrix takes it that no norm is ahead of. Precondition: it takes 8 bits.
  heddle::Spec quantize(const heddle::Spec& matrix) const {
    return heddle::Spec::from_row_transform(rows(matrix));
  }
  // Every kernel once, for Runtime::prepare(); those of the cache first.
  std::vector<heddle::Spec> specs() const {
    std::vector<heddle::Spec> all = {append, attend, attend_chunk, head};
    std::map<std::string, heddle::Spec> others;  // those of most layers are alike
    const auto add = [&others](const heddle::Spec& spec) {
      others.emplace(spec.canonical_json(), spec);
    };
    add(norm(linear(0, kQkv), false));
    add(norm(head));
    for (int i = 0; i < layers; ++i) {
      for (const Matrix matrix : {kQkv, kO, kGateUp, kDown}) {
        const heddle::Spec spec = linear(i, matrix);
        add(spec);
        if (is_behind_norm(matrix)) {
          add(norm(spec));
        } else if (spec.gemm().has_byte_activations()) {
          add(quantize(spec));
        }
      }
    }
    for (const auto& entry : others) all.push_back(entry.second);
    return all;
  }
  static bool is_behind_norm(Matrix matrix) { return matrix == kQkv || matrix == kGateUp; }
  [[noreturn]] static void refuse(const std::string& why) { throw std::runtime_error(why); }
  static void expect(const std::string& name, const heddle::GemmSpec& gemm,
                     std::int64_t columns_of_y, std::int64_t columns_of_x) {
    if (gemm.output_columns() == columns_of_y && gemm.shape.k == columns_of_x) return;
    refuse(name + " makes " + std::to_string(gemm.output_columns()) + " columns of " +
           std::to_string(gemm.shape.k) + "; by config.json it makes " +
           std::to_string(columns_of_y) + " of " + std::to_string(columns_of_x));
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

  std::optional<heddle::CheckpointReader> reader;  // none: there are only specs
  std::vector<std::string> notes;                  // what a user should know of the weights
  std::int64_t sequences, hidden, vocabulary;
  std::int64_t vocabulary_part;  // tokens of which this GPU has logits, those of rank 0 first
  int layers;
  float epsilon;
  heddle::TensorType type;  // of activations of 16 bits
  heddle::Spec append, attend, attend_chunk, head;

 private:
  // The heads of one GPU of so many. The reader refuses numbers that cannot be split; of fewer
  // heads of keys than GPUs several have the same one.
  void take_heads(std::int64_t gpus) {
    heddle::KvAppendSpec appended = append.kv_append();
    heddle::DecodeAttentionSpec attention = attend.decode_attention();
    attention.shape.heads /= static_cast<int>(gpus);
    attention.shape.kv_heads = std::max(attention.shape.kv_heads / static_cast<int>(gpus), 1);
    appended.query.heads = attention.shape.heads;
    appended.shape.kv_heads = attention.shape.kv_heads;
    append = heddle::Spec::from_kv_append(appended);
    attend = heddle::Spec::from_decode_attention(attention);
  }
  // What the reader would find, as the config describes it.
  void take_matrices(const heddle::Model& model) {
    for (const heddle::ModelLayer& layer : model.layers) {
      if (layer.kernel < 0) continue;
      const std::string& part = layer.parts.at(0).path;  // "self_attn.q_proj" of "qkv_proj"
      const std::string module = part.substr(0, part.rfind('.') + 1) + layer.name;
      const heddle::Spec& spec = model.kernels[layer.kernel].spec;
      if (layer.layers.empty()) matrices_.emplace(module, spec);
      for (const int i : layer.layers) matrices_.emplace(name_of(i, module), spec);
    }
    notes = model.notes;
    notes.insert(notes.end(), model.assumptions.begin(), model.assumptions.end());
  }
  // Rows that become a matrix's X.
  heddle::RowTransformSpec rows(const heddle::Spec& matrix) const {
    const heddle::GemmSpec& gemm = matrix.gemm();
    heddle::RowTransformSpec row;
    row.shape = {gemm.shape.k, sequences, kChunk * sequences};
    row.input = attend.decode_attention().activation;
    row.output.dtype = heddle::row_dtype(row.input);
    if (!gemm.has_byte_activations()) return row;
    if (gemm.activation == heddle::DType::kFp8E5m2) {
      refuse(matrix.name() + ": activations in e5m2 are not of this example");
    }
    row.output.dtype = gemm.activation == heddle::DType::kInt8 ? heddle::RowDtype::kInt8
                                                               : heddle::RowDtype::kFp8E4m3;
    row.output.granularity = gemm.activation_scale.granularity;
    row.output.symmetric = gemm.activation_scale.symmetric;
    row.output.scale_dtype = gemm.activation_scale.scale_dtype;
    if (row.output.granularity == heddle::RowGranularity::kGroup) {
      row.output.scale_layout = heddle::ScaleLayout::kColumnMajor;  // as matrices read them
    }
    return row;
  }

  std::map<std::string, heddle::Spec> matrices_;  // of the config, where there is no reader
};
