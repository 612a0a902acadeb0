// A batch of sequences on one GPU, or on one of several that share the model, from tokens to
// logits. docs/engine.md walks through it.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "cuda.h"
#include "model.h"

// The stream's context is current in every call. One thread at a time. What it has on the device
// lives as long as the context.
class Decoder {
 public:
  using Input = heddle::DeviceInput;
  using Output = heddle::DeviceOutput;
  // Makes 16-bit values the sum of those of all ranks, on the stream, which may be captured.
  using SumOfRanks = std::function<void(Output values, heddle::Stream stream)>;

  // Compiles or finds the kernels, uploads the weights, captures the graph of a step. A sequence
  // has at most `capacity` tokens. `sum`: where several GPUs share the model. All arguments outlive
  // the Decoder.
  Decoder(heddle::Runtime& runtime, const Model& model, std::int64_t capacity,
          heddle::Stream stream, SumOfRanks sum = {})
      : runtime_(runtime),
        model_(model),
        capacity_(capacity),
        stream_(stream),
        sum_(std::move(sum)),
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
    const auto& embeddings = model.sixteen_bits(model.reader->tensor("model.embed_tokens.weight"),
                                                model.vocabulary * model.hidden);
    embeddings_.resize(embeddings.bytes);
    model.reader->read(embeddings, embeddings_.data(), embeddings.bytes);
    head_.push_back(load("lm_head", model.head, model.norm(model.head)));

    const heddle::AttentionShape& shape = model.attend.decode_attention().shape;
    const std::size_t column = 2 * kChunk * model.sequences;  // bytes
    x_ = allocate(column * model.hidden);
    h_ = allocate(column * model.hidden);
    codes_ = allocate(column / 2 * widest_x_);
    scales_ = allocate(most_scale_bytes_);
    zero_points_ = allocate(2 * column);
    qkv_ = allocate(column * (shape.heads + 2 * shape.kv_heads) * shape.head_dim);
    q_ = allocate(column * shape.heads * shape.head_dim);
    attended_ = allocate(q_.bytes);
    inner_ = allocate(column * model.linear(0, kGateUp).gemm().output_columns());
    logits_ = allocate(4 * model.sequences * model.vocabulary_part);
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

  // The next token of each sequence; the logits behind it, [sequences][vocabulary_part].
  std::vector<float> step(const std::vector<int>& tokens) {
    for (std::int32_t& length : in_cache_) ++length;
    expect(tokens.size(), *std::max_element(in_cache_.begin(), in_cache_.end()));
    feed(tokens);
    const auto begin = std::chrono::steady_clock::now();
    cuda("cuGraphLaunch", graph_, stream_);
    cuda("cuStreamSynchronize", stream_);
    step_ms = 1e-6 * std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
    std::vector<float> logits(model_.sequences * model_.vocabulary_part);
    cuda("cuMemcpyDtoH_v2", logits.data(), logits_.data, logits_.bytes);
    return logits;
  }

  double step_ms = 0;  // that the graph of the last step took, from its launch to its end

 private:
  struct Linear {
    heddle::GemmKernel kernel;
    heddle::GemmArgs args;  // what all launches have in common
    // What makes X: a norm, or of a matrix behind none what rounds 16 bits to 8, where it takes 8.
    std::optional<heddle::RowTransformKernel> before;
    bool takes_bytes = false;      // X of 8 bits
    bool has_zero_points = false;  // of its rows
    Input input_scale;             // of X of 8 bits, where it is static
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
    uploader_.read(*model_.reader, tensor, memory);
    return memory;
  }
  Output upload(const std::string& name, std::int64_t elements) {
    return upload(model_.sixteen_bits(model_.reader->tensor(name), elements));
  }

  // `before`: of what makes its X.
  Linear load(const std::string& name, const heddle::Spec& spec,
              const std::optional<heddle::Spec>& before) {
    const heddle::CheckpointLayer& layer = model_.reader->layer(name);
    const auto [n, k] = std::pair(spec.gemm().shape.n, spec.gemm().shape.k);
    const Output weights = allocate(layer.packed.bytes);
    uploader_.pack(*model_.reader, layer, weights);
    Linear linear{runtime_.kernel<heddle::GemmKernel>(spec), {}, {}, false, false, {}};
    linear.args.weights = weights;
    if (before) {
      linear.before = runtime_.kernel<heddle::RowTransformKernel>(*before);
      most_scale_bytes_ =
          std::max(most_scale_bytes_,
                   heddle::row_scale_bytes(before->row_transform(), kChunk * model_.sequences, 0));
    }
    linear.takes_bytes = spec.gemm().has_byte_activations();
    linear.has_zero_points = !spec.gemm().activation_scale.symmetric;
    widest_x_ = std::max(widest_x_, k);
    if (layer.input_scale) linear.input_scale = upload(*layer.input_scale);
    if (layer.bias) linear.args.bias = upload(model_.sixteen_bits(*layer.bias, n));
    if (layer.pre_scale) linear.args.pre_scale = upload(model_.sixteen_bits(*layer.pre_scale, k));
    if (layer.permutation) linear.args.permutation = upload(*layer.permutation);
    return linear;
  }
  Layer load_layer(int number, std::int64_t pages) {
    const auto name = [&](const char* module) { return Model::name_of(number, module); };
    Layer layer;
    for (const Matrix matrix : {kQkv, kO, kGateUp, kDown}) {
      const heddle::Spec spec = model_.linear(number, matrix);
      std::optional<heddle::Spec> before;
      if (Model::is_behind_norm(matrix)) {
        before = model_.norm(spec, number > 0 || matrix != kQkv);
      } else if (spec.gemm().has_byte_activations()) {
        before = model_.quantize(spec);
      }
      layer.matrices.push_back(load(name(kMatrices[matrix]), spec, before));
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

  // `rows` has X of 16 bits and what a norm takes: makes X as the matrix takes it, in `sixteen` or
  // in codes_, and multiplies it.
  void multiply(const Linear& linear, heddle::RowTransformArgs rows, Output sixteen,
                Output y) const {
    const bool is_static = linear.input_scale.data != nullptr;
    heddle::GemmArgs args = linear.args;
    args.x = rows.x;
    if (linear.before) {
      rows.y = linear.takes_bytes ? codes_ : sixteen;
      if (linear.takes_bytes && is_static) rows.tensor_scale = linear.input_scale;
      if (linear.takes_bytes && !is_static) rows.scales = scales_;
      if (linear.has_zero_points) rows.zero_points = zero_points_;
      linear.before->launch(rows, stream_);
      args.x = rows.y;
    }
    if (linear.takes_bytes) args.x_scales = is_static ? linear.input_scale : Input(scales_);
    if (linear.has_zero_points) args.x_zero_points = zero_points_;
    args.y = y;
    args.m = rows.m;
    args.workspace = workspace_;
    linear.kernel.launch(args, stream_);
  }

  // So many tokens of each sequence, whose embeddings are in x_: one up to the logits, more up to
  // the last layer's keys and values, which are all that later tokens need of them.
  void launch_layers(int tokens) const {
    const std::int64_t m = tokens * model_.sequences;
    const heddle::KvAppendKernel append(kernels_[0]);
    const heddle::DecodeAttentionKernel attend(kernels_[tokens == 1 ? 1 : 2]);
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
    // What is to become X: of a norm, and of 16 bits as they are.
    const auto normalised = [&](Input weight, bool first = false) {
      heddle::RowTransformArgs norm;
      norm.x = first ? x_ : h_;        // what the last matrix has made
      if (!first) norm.residual = x_;  // is added to the sum of all before it
      norm.weight = weight;
      norm.m = m;
      return norm;
    };
    const auto plain = [&](Input x) {
      heddle::RowTransformArgs rows;
      rows.x = x;
      rows.m = m;
      return rows;
    };
    // A matrix that is split along K has made a part of every value.
    const auto sum_of_ranks = [&] {
      if (sum_) sum_({h_.data, std::size_t(2 * m * model_.hidden)}, stream_);
    };
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const Layer& layer = layers_[i];
      const bool last = i + 1 == layers_.size();
      multiply(layer.matrices[kQkv], normalised(layer.input_norm, i == 0), h_, qkv_);
      appended.cache = attention.cache = layer.cache;
      appended.q_norm = layer.q_norm;
      appended.k_norm = layer.k_norm;
      append.launch(appended, stream_);
      if (tokens > 1 && last) return;
      attend.launch(attention, stream_);
      multiply(layer.matrices[kO], plain(attended_), {}, h_);
      sum_of_ranks();
      multiply(layer.matrices[kGateUp], normalised(layer.middle_norm), h_, inner_);
      multiply(layer.matrices[kDown], plain(inner_), {}, h_);
      sum_of_ranks();
    }
    multiply(head_[0], normalised(final_norm_), h_, logits_);
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
  SumOfRanks sum_;
  heddle::Uploader uploader_;
  std::vector<heddle::Kernel> kernels_;  // in the order of Model::specs()
  Output block_table_, offsets_, lengths_, workspace_;
  Output x_, h_, qkv_, q_, attended_, inner_, logits_, final_norm_;
  Output codes_, scales_, zero_points_;  // X of 8 bits
  std::int64_t widest_x_ = 0;            // columns
  std::size_t most_scale_bytes_ = 0;     // of X, of all tokens of a chunk
  std::vector<Layer> layers_;
  std::vector<Linear> head_;              // one
  std::vector<std::uint8_t> embeddings_;  // [vocabulary][hidden], on the host
  std::vector<std::int32_t> in_cache_;    // tokens of each sequence
  void* graph_ = nullptr;
};
