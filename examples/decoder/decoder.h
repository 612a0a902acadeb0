// A batch of sequences on one GPU, from tokens to logits. docs/engine.md walks through it.
#pragma once

#include <algorithm>
#include <chrono>

#include "cuda.h"
#include "model.h"

// The stream's context is current in every call. One thread at a time. What it has on the device
// lives as long as the context.
class Decoder {
 public:
  using Input = heddle::DeviceInput;
  using Output = heddle::DeviceOutput;

  // Compiles or finds the kernels, uploads the weights, captures the graph of a step. A sequence
  // has at most `capacity` tokens. All arguments outlive the Decoder.
  Decoder(heddle::Runtime& runtime, const Model& model, std::int64_t capacity,
          heddle::Stream stream)
      : runtime_(runtime),
        model_(model),
        capacity_(capacity),
        stream_(stream),
        uploader_(stream),
        kernels_(runtime.prepare(model.specs())) {
    // Launches of one stream run one after another, so they may share one workspace.
    std::size_t bytes = 0;
    for (const auto& kernel : kernels_) bytes = std::max(bytes, kernel.max_workspace_bytes());
    workspace_ = allocate(bytes);
    // Page p of sequence s. Here a sequence has all pages that it may ever need.
    const std::int64_t pages = (capacity - 1) / model.append.kv().page_size + 1;
    std::vector<std::int32_t> table, offsets;
    for (std::int64_t s = 0; s < model.sequences; ++s) {
      for (std::int64_t p = 0; p < pages; ++p) table.push_back(p * model.sequences + s);
    }
    for (std::int64_t s = 0; s <= model.sequences; ++s) offsets.push_back(s * kChunk);
    block_table_ = upload(table);
    offsets_ = upload(offsets);
    in_cache_.assign(model.sequences, 0);
    lengths_ = allocate(4 * model.sequences);
    for (int i = 0; i < model.layers; ++i) layers_.push_back(load_layer(i, pages));
    final_norm_ = upload("model.norm.weight", model.hidden);
    const auto& embeddings = model.sixteen_bits(model.reader.tensor("model.embed_tokens.weight"),
                                                model.vocabulary * model.hidden);
    embeddings_.resize(embeddings.bytes);
    model.reader.read(embeddings, embeddings_.data(), embeddings.bytes);
    head_.push_back(load("lm_head", model.head));

    const heddle::AttentionShape& shape = model.attend.decode_attention().shape;
    const std::size_t column = 2 * kChunk * model.sequences;  // bytes
    x_ = allocate(column * model.hidden);
    h_ = allocate(column * model.hidden);
    qkv_ = allocate(column * (shape.heads + 2 * shape.kv_heads) * shape.head_dim);
    q_ = allocate(column * shape.heads * shape.head_dim);
    attended_ = allocate(q_.bytes);
    inner_ = allocate(column * model.linear(0, kGateUp).gemm().output_columns());
    logits_ = allocate(4 * model.sequences * model.vocabulary);
    uploader_.finish();

    void* graph = nullptr;
    cuda("cuStreamBeginCapture_v2", stream_, 1);  // calls of other threads do not matter
    launch_layers(1);
    cuda("cuStreamEndCapture", stream_, &graph);
    cuda("cuGraphInstantiateWithFlags", &graph_, graph, 0ULL);
  }

  // Sequences begin anew: a prompt for each, all but its last token, which is for step(). All
  // prompts end with the last chunk, so short ones begin in a later one than long ones, and in its
  // middle. Before them positions are negative: kv_append writes and attention sees nothing there.
  void read_prompts(const std::vector<std::vector<int>>& prompts) {
    std::size_t longest = 1;
    for (const auto& prompt : prompts) longest = std::max(longest, prompt.size());
    expect(prompts.size(), longest);
    std::fill(in_cache_.begin(), in_cache_.end(), 0);
    for (int chunk = static_cast<int>(longest + kChunk - 2) / kChunk; chunk-- > 0;) {
      std::vector<int> tokens;
      for (std::size_t s = 0; s < in_cache_.size(); ++s) {
        const int end = std::max(static_cast<int>(prompts[s].size()) - 1 - chunk * kChunk, 0);
        for (int i = end - kChunk; i < end; ++i) tokens.push_back(i < 0 ? 0 : prompts[s][i]);
        in_cache_[s] = end;
      }
      feed(tokens);
      launch_layers(kChunk);
    }
  }

  // The next token of each sequence; the logits behind it, [sequences][vocabulary].
  std::vector<float> step(const std::vector<int>& tokens) {
    for (std::int32_t& length : in_cache_) ++length;
    expect(tokens.size(), *std::max_element(in_cache_.begin(), in_cache_.end()));
    feed(tokens);
    const auto begin = std::chrono::steady_clock::now();
    cuda("cuGraphLaunch", graph_, stream_);
    cuda("cuStreamSynchronize", stream_);
    step_ms = 1e-6 * std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
    std::vector<float> logits(model_.sequences * model_.vocabulary);
    cuda("cuMemcpyDtoH_v2", logits.data(), logits_.data, logits_.bytes);
    return logits;
  }

  double step_ms = 0;  // that the graph of the last step took, from its launch to its end

 private:
  struct Linear {
    heddle::GemmKernel kernel;
    heddle::GemmArgs args;  // what all launches have in common
  };
  struct Layer {
    std::vector<Linear> matrices;  // by Matrix
    Input input_norm, middle_norm, q_norm, k_norm;
    heddle::KvCache cache;
  };

  void expect(std::size_t sequences, std::int64_t longest) const {
    if (sequences == in_cache_.size() && longest <= capacity_) return;
    throw std::runtime_error("other sequences than the model's, or longer ones than have pages");
  }
  // All zeros, as the workspace must be.
  Output allocate(std::size_t bytes) {
    void* pointer = nullptr;
    if (bytes == 0) return {};
    cuda("cuMemAlloc_v2", &pointer, bytes);
    cuda("cuMemsetD8Async", pointer, static_cast<unsigned char>(0), bytes, stream_);
    return {pointer, bytes};
  }
  template <typename T>
  Output upload(const std::vector<T>& values) {
    const Output memory = allocate(values.size() * sizeof(T));
    uploader_.write(values.data(), memory.bytes, memory);
    return memory;
  }
  Output upload(const heddle::CheckpointTensor& tensor) {
    const Output memory = allocate(tensor.bytes);
    uploader_.read(model_.reader, tensor, memory);
    return memory;
  }
  Output upload(const std::string& name, std::int64_t elements) {
    return upload(model_.sixteen_bits(model_.reader.tensor(name), elements));
  }

  Linear load(const std::string& name, const heddle::Spec& spec) {
    const heddle::CheckpointLayer& layer = model_.reader.layer(name);
    const auto [n, k] = std::pair(spec.gemm().shape.n, spec.gemm().shape.k);
    const Output weights = allocate(layer.packed.bytes);
    uploader_.pack(model_.reader, layer, weights);
    Linear linear{runtime_.kernel<heddle::GemmKernel>(spec), {}};
    linear.args.weights = weights;
    if (layer.bias) linear.args.bias = upload(model_.sixteen_bits(*layer.bias, n));
    if (layer.pre_scale) linear.args.pre_scale = upload(model_.sixteen_bits(*layer.pre_scale, k));
    if (layer.permutation) linear.args.permutation = upload(*layer.permutation);
    return linear;
  }
  Layer load_layer(int number, std::int64_t pages) {
    const auto name = [&](const char* module) { return Model::name_of(number, module); };
    Layer layer;
    for (const Matrix matrix : {kQkv, kO, kGateUp, kDown}) {
      layer.matrices.push_back(load(name(kMatrices[matrix]), model_.linear(number, matrix)));
    }
    layer.input_norm = upload(name("input_layernorm.weight"), model_.hidden);
    layer.middle_norm = upload(name("post_attention_layernorm.weight"), model_.hidden);
    const heddle::KvAppendSpec& append = model_.append.kv_append();
    if (append.norm.epsilon) {
      layer.q_norm = upload(name("self_attn.q_norm.weight"), append.shape.head_dim);
      layer.k_norm = upload(name("self_attn.k_norm.weight"), append.shape.head_dim);
    }
    const auto [k, v] =
        heddle::kv_cache_layout(append.kv, append.shape.kv_heads, append.shape.head_dim);
    heddle::KvCache& cache = layer.cache;
    cache.pages = pages * model_.sequences;
    cache.k.codes = allocate(k.code_bytes(cache.pages, append.kv.page_size));
    cache.k.scales = allocate(k.scale_bytes(cache.pages, append.kv.page_size));
    cache.v.codes = allocate(v.code_bytes(cache.pages, append.kv.page_size));
    cache.v.scales = allocate(v.scale_bytes(cache.pages, append.kv.page_size));
    cache.block_table = block_table_;
    cache.table_stride = pages;
    return layer;
  }

  void multiply(const Linear& linear, Input x, Output y, std::int64_t m) const {
    heddle::GemmArgs args = linear.args;
    args.x = x;
    args.y = y;
    args.m = m;
    args.workspace = workspace_;
    linear.kernel.launch(args, stream_);
  }

  // So many tokens of each sequence, whose embeddings are in x_: one up to the logits, more up to
  // the last layer's keys and values, which are all that later tokens need of them.
  void launch_layers(int tokens) const {
    const std::int64_t m = tokens * model_.sequences;
    const heddle::RowTransformKernel first_norm(kernels_[0]), add_norm(kernels_[1]);
    const heddle::KvAppendKernel append(kernels_[2]);
    const heddle::DecodeAttentionKernel attend(kernels_[tokens == 1 ? 3 : 4]);
    const heddle::AttentionShape& shape = model_.attend.decode_attention().shape;
    const std::int64_t row = (shape.heads + 2 * shape.kv_heads) * shape.head_dim;  // of qkv_
    const auto from_head = [&](std::int64_t head) {
      const auto* first = static_cast<const std::uint16_t*>(qkv_.data) + head * shape.head_dim;
      return heddle::device_input(first, m * row - head * shape.head_dim);
    };
    heddle::KvAppendArgs appended;
    appended.q = from_head(0);
    appended.k = from_head(shape.heads);
    appended.v = from_head(shape.heads + shape.kv_heads);
    appended.q_stride = appended.k_stride = appended.v_stride = row;
    appended.q_out = q_;
    appended.tokens = m;
    if (tokens > 1) appended.offsets = offsets_;
    heddle::DecodeAttentionArgs attention;
    appended.sequences = attention.sequences = model_.sequences;
    appended.lengths = attention.lengths = lengths_;
    attention.q = q_;
    attention.out = attended_;
    attention.workspace = workspace_;
    heddle::RowTransformArgs norm;
    norm.x = x_;
    norm.y = h_;
    norm.m = m;
    norm.weight = layers_[0].input_norm;
    first_norm.launch(norm, stream_);
    norm.x = h_;         // from here on what the last matrix has made,
    norm.residual = x_;  // which is added to the sum of all before it
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const Layer& layer = layers_[i];
      const bool last = i + 1 == layers_.size();
      multiply(layer.matrices[kQkv], h_, qkv_, m);
      appended.cache = attention.cache = layer.cache;
      appended.q_norm = layer.q_norm;
      appended.k_norm = layer.k_norm;
      append.launch(appended, stream_);
      if (tokens > 1 && last) return;
      attend.launch(attention, stream_);
      multiply(layer.matrices[kO], attended_, h_, m);
      norm.weight = layer.middle_norm;
      add_norm.launch(norm, stream_);
      multiply(layer.matrices[kGateUp], h_, inner_, m);
      multiply(layer.matrices[kDown], inner_, h_, m);
      norm.weight = last ? final_norm_ : layers_[i + 1].input_norm;
      add_norm.launch(norm, stream_);
    }
    multiply(head_[0], h_, logits_, m);
  }

  // The tokens' embeddings, and the lengths that sequences have with them.
  void feed(const std::vector<int>& tokens) {
    const std::int64_t bytes = 2 * model_.hidden;
    std::vector<std::uint8_t> rows;
    for (const int token : tokens) {
      if (token < 0 || token >= model_.vocabulary) {
        throw std::runtime_error("the model has no token " + std::to_string(token));
      }
      const auto row = embeddings_.begin() + token * bytes;
      rows.insert(rows.end(), row, row + bytes);
    }
    uploader_.write(rows.data(), rows.size(), x_);
    uploader_.write(in_cache_.data(), lengths_.bytes, lengths_);
    uploader_.finish();
  }

  heddle::Runtime& runtime_;
  const Model& model_;
  std::int64_t capacity_;
  heddle::Stream stream_;
  heddle::Uploader uploader_;
  std::vector<heddle::Kernel> kernels_;  // in the order of Model::specs()
  Output block_table_, offsets_, lengths_, workspace_;
  Output x_, h_, qkv_, q_, attended_, inner_, logits_, final_norm_;
  std::vector<Layer> layers_;
  std::vector<Linear> head_;              // one
  std::vector<std::uint8_t> embeddings_;  // [vocabulary][hidden], on the host
  std::vector<std::int32_t> in_cache_;    // tokens of each sequence
  void* graph_ = nullptr;
};
