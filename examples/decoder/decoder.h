// A batch of sequences on one GPU, or on one of several that share the model, from tokens to
// logits. docs/engine.md walks through it.
#pragma once

#include <chrono>
#include <functional>

#include "layer.h"

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
      : model_(model),
        capacity_(capacity),
        stream_(stream),
        sum_(std::move(sum)),
        memory_(model, stream) {
    // Launches of one stream run one after another, so they may share one workspace.
    std::size_t bytes = 0;
    for (const auto& kernel : runtime.prepare(model.specs())) {
      bytes = std::max(bytes, kernel.max_workspace_bytes());
    }
    workspace_ = memory_.allocate(bytes);
    // Page p of sequence s. Here a sequence has all pages that it may ever need.
    const std::int64_t pages = (capacity - 1) / model.attentions[0].append.kv().page_size + 1;
    std::vector<std::int32_t> table, offsets;
    for (std::int64_t s = 0; s < model.sequences; ++s) {
      for (std::int64_t p = 0; p < pages; ++p) table.push_back(p * model.sequences + s);
    }
    for (std::int64_t s = 0; s <= model.sequences; ++s) offsets.push_back(s * kChunk);
    const Output block_table = memory_.upload(table);
    offsets_ = memory_.upload(offsets);
    in_cache_.assign(model.sequences, 0);
    lengths_ = memory_.allocate(4 * model.sequences);
    Loader loader(runtime, model, memory_);
    for (int i = 0; i < model.layers; ++i) {
      layers_.push_back(loader.load_layer(i, block_table, pages));
    }
    final_norm_ = memory_.upload("model.norm.weight", model.hidden);
    const auto& embeddings = model.sixteen_bits(model.reader->tensor("model.embed_tokens.weight"),
                                                model.vocabulary * model.hidden);
    embeddings_.resize(embeddings.bytes);
    model.reader->read(embeddings, embeddings_.data(), embeddings.bytes);
    head_.push_back(loader.load("lm_head", model.head, model.norm(model.head)));

    const heddle::AttentionShape& heads = model.heads();
    const std::size_t column = 2 * kChunk * model.sequences;  // bytes
    x_ = memory_.allocate(column * model.hidden);
    h_ = memory_.allocate(column * model.hidden);
    codes_ = memory_.allocate(column / 2 * loader.widest_x);
    scales_ = memory_.allocate(loader.scale_bytes);
    zero_points_ = memory_.allocate(2 * column);
    qkv_ = memory_.allocate(column * (heads.heads + 2 * heads.kv_heads) * heads.head_dim);
    q_ = memory_.allocate(column * heads.heads * heads.head_dim);
    attended_ = memory_.allocate(q_.bytes);
    inner_ = memory_.allocate(column * loader.widest_inner);
    router_logits_ = memory_.allocate(2 * column * loader.most_experts);
    logits_ = memory_.allocate(4 * model.sequences * model.vocabulary_part);
    memory_.uploader.finish();

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
  void expect(std::size_t sequences, std::int64_t longest) const {
    if (sequences == in_cache_.size() && longest <= capacity_) return;
    throw std::runtime_error("other sequences than the model's, or longer ones than have pages");
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

  // The cache's launches: keys and values of so many tokens of each sequence are appended.
  void append(const Layer& layer, int tokens) const {
    const heddle::AttentionShape& shape = model_.heads();
    const std::int64_t m = tokens * model_.sequences;
    const std::int64_t row = (shape.heads + 2 * shape.kv_heads) * shape.head_dim;  // of qkv_
    const auto from_head = [&](std::int64_t head) {
      const auto* first = static_cast<const std::uint16_t*>(qkv_.data) + head * shape.head_dim;
      return heddle::device_input(first, m * row - head * shape.head_dim);
    };
    heddle::KvAppendArgs args;
    args.q = from_head(0);
    args.k = from_head(shape.heads);
    args.v = from_head(shape.heads + shape.kv_heads);
    args.q_stride = args.k_stride = args.v_stride = row;
    args.q_out = q_;
    args.q_norm = layer.q_norm;
    args.k_norm = layer.k_norm;
    args.tokens = m;
    args.sequences = model_.sequences;
    if (tokens > 1) args.offsets = offsets_;
    args.lengths = lengths_;
    args.cache = layer.cache;
    layer.append.launch(args, stream_);
  }
  void attend(const Layer& layer, int tokens) const {
    heddle::DecodeAttentionArgs args;
    args.q = q_;
    args.out = attended_;
    args.sequences = model_.sequences;
    args.lengths = lengths_;
    args.cache = layer.cache;
    args.sink_logits = layer.sinks;
    args.workspace = workspace_;
    (tokens == 1 ? layer.attend : layer.attend_chunk).launch(args, stream_);
  }
  // From the router's logits and what the router has read, in h_, to h_.
  void apply(const Experts& experts, std::int64_t m) const {
    heddle::MoeArgs args = experts.args;
    args.x = args.y = h_;
    args.logits = router_logits_;
    args.tokens = m;
    args.workspace = workspace_;
    experts.kernel.launch(args, stream_);
  }

  // So many tokens of each sequence, whose embeddings are in x_: one up to the logits, more up to
  // the last layer's keys and values, which are all that later tokens need of them.
  void launch_layers(int tokens) const {
    const std::int64_t m = tokens * model_.sequences;
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
      const auto& matrices = layer.matrices;
      multiply(matrices.at(kQkv), normalised(layer.input_norm, i == 0), h_, qkv_);
      append(layer, tokens);
      if (tokens > 1 && i + 1 == layers_.size()) return;
      attend(layer, tokens);
      multiply(matrices.at(kO), plain(attended_), {}, h_);
      sum_of_ranks();
      if (layer.experts) {
        multiply(matrices.at(kRouter), normalised(layer.middle_norm), h_, router_logits_);
        apply(*layer.experts, m);
      } else {
        multiply(matrices.at(kGateUp), normalised(layer.middle_norm), h_, inner_);
        multiply(matrices.at(kDown), plain(inner_), {}, h_);
      }
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
    memory_.uploader.write(rows.data(), rows.size(), x_);
    memory_.uploader.write(in_cache_.data(), lengths_.bytes, lengths_);
    memory_.uploader.finish();
  }

  const Model& model_;
  std::int64_t capacity_;
  heddle::Stream stream_;
  SumOfRanks sum_;
  Memory memory_;
  Output offsets_, lengths_, workspace_;
  Output x_, h_, qkv_, q_, attended_, inner_, router_logits_, logits_, final_norm_;
  Output codes_, scales_, zero_points_;  // X of 8 bits
  std::vector<Layer> layers_;
  std::vector<Linear> head_;              // one
  std::vector<std::uint8_t> embeddings_;  // [vocabulary][hidden], on the host
  std::vector<std::int32_t> in_cache_;    // tokens of each sequence
  void* graph_ = nullptr;
};
