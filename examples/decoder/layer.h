// The decoder layers of a model on one GPU: their kernels, weights and caches.
#pragma once

#include "memory.h"

struct Linear {
  explicit Linear(heddle::GemmKernel made) : kernel(std::move(made)) {}

  heddle::GemmKernel kernel;
  heddle::GemmArgs args;  // what all launches have in common
  // What makes X: a norm, or of a matrix behind none what rounds 16 bits to 8, where it takes 8.
  std::optional<heddle::RowTransformKernel> before;
  bool takes_bytes = false;         // X of 8 bits
  bool has_zero_points = false;     // of its rows
  heddle::DeviceInput input_scale;  // of X of 8 bits, where it is static
};

struct Experts {
  heddle::MoeKernel kernel;
  heddle::MoeArgs args;  // what all launches have in common
};

struct Layer {
  Layer(heddle::Runtime& runtime, const Attention& of)
      : append(runtime.kernel<heddle::KvAppendKernel>(of.append)),
        attend(runtime.kernel<heddle::DecodeAttentionKernel>(of.attend)),
        attend_chunk(runtime.kernel<heddle::DecodeAttentionKernel>(of.attend_chunk)) {}

  heddle::KvAppendKernel append;
  heddle::DecodeAttentionKernel attend, attend_chunk;
  std::map<Matrix, Linear> matrices;
  std::optional<Experts> experts;
  heddle::DeviceInput input_norm, middle_norm, q_norm, k_norm, sinks;
  heddle::KvCache cache;
};

// Makes layers, and counts what their launches need of memory that they share.
class Loader {
 public:
  // All arguments outlive it.
  Loader(heddle::Runtime& runtime, const Model& model, Memory& memory)
      : runtime_(runtime), model_(model), memory_(memory) {}

  // `before`: of what makes its X.
  Linear load(const std::string& name, const heddle::Spec& spec,
              const std::optional<heddle::Spec>& before) {
    const heddle::CheckpointLayer& layer = model_.reader->layer(name);
    const auto [n, k] = std::pair(spec.gemm().shape.n, spec.gemm().shape.k);
    Linear linear(runtime_.kernel<heddle::GemmKernel>(spec));
    linear.args.weights = memory_.pack(layer);
    if (before) {
      linear.before = runtime_.kernel<heddle::RowTransformKernel>(*before);
      scale_bytes = std::max(scale_bytes, heddle::row_scale_bytes(before->row_transform(),
                                                                  kChunk * model_.sequences, 0));
    }
    linear.takes_bytes = spec.gemm().has_byte_activations();
    linear.has_zero_points = !spec.gemm().activation_scale.symmetric;
    widest_x = std::max(widest_x, k);
    if (layer.input_scale) linear.input_scale = memory_.upload(*layer.input_scale);
    if (layer.bias) linear.args.bias = memory_.upload(model_.sixteen_bits(*layer.bias, n));
    if (layer.pre_scale) {
      linear.args.pre_scale = memory_.upload(model_.sixteen_bits(*layer.pre_scale, k));
    }
    if (layer.permutation) linear.args.permutation = memory_.upload(*layer.permutation);
    return linear;
  }
  // `block_table` has so many pages of each sequence.
  Layer load_layer(int number, heddle::DeviceInput block_table, std::int64_t pages) {
    const Attention& attention = model_.attention(number);
    const auto name = [&](const char* module) { return Model::name_of(number, module); };
    Layer layer(runtime_, attention);
    for (const Matrix matrix : model_.matrices(number)) {
      layer.matrices.emplace(
          matrix, load(model_.name_of_matrix(number, matrix), model_.linear(number, matrix),
                       model_.before(number, matrix)));
    }
    if (model_.has_experts(number)) {
      layer.experts = load_experts(number);
    } else {
      widest_inner = std::max(widest_inner, model_.inner(number));
    }
    layer.input_norm = memory_.upload(name("input_layernorm.weight"), model_.hidden);
    layer.middle_norm = memory_.upload(name("post_attention_layernorm.weight"), model_.hidden);
    const heddle::KvAppendSpec& append = attention.append.kv_append();
    if (append.norm.epsilon) {
      layer.q_norm = memory_.upload(name("self_attn.q_norm.weight"), append.shape.head_dim);
      layer.k_norm = memory_.upload(name("self_attn.k_norm.weight"), append.shape.head_dim);
    }
    if (attention.attend.decode_attention().sink_logits) {
      layer.sinks = memory_.upload_heads(name("self_attn.sinks"), model_.heads().heads);
    }
    const auto [k, v] =
        heddle::kv_cache_layout(append.kv, append.shape.kv_heads, append.shape.head_dim);
    heddle::KvCache& cache = layer.cache;
    cache.pages = pages * model_.sequences;
    cache.k.codes = memory_.allocate(k.code_bytes(cache.pages, append.kv.page_size));
    cache.k.scales = memory_.allocate(k.scale_bytes(cache.pages, append.kv.page_size));
    cache.v.codes = memory_.allocate(v.code_bytes(cache.pages, append.kv.page_size));
    cache.v.scales = memory_.allocate(v.scale_bytes(cache.pages, append.kv.page_size));
    cache.block_table = block_table;
    cache.table_stride = pages;
    return layer;
  }

  std::int64_t widest_x = 0;      // columns
  std::int64_t widest_inner = 0;  // columns between the matrices of a dense layer
  std::int64_t most_experts = 0;  // logits of a router
  std::size_t scale_bytes = 0;    // of X of 8 bits, of all tokens of a chunk

 private:
  Experts load_experts(int number) {
    const heddle::CheckpointExperts& stored = model_.stored_experts(number);
    const heddle::CheckpointLayer& gate_up = model_.reader->layer(stored.gate_up);
    const heddle::CheckpointLayer& down = model_.reader->layer(stored.down);
    const heddle::Spec spec = model_.experts(number);
    Experts experts{runtime_.kernel<heddle::MoeKernel>(spec), {}};
    experts.args.gate_up = memory_.pack(gate_up);
    experts.args.down = memory_.pack(down);
    if (gate_up.bias) experts.args.gate_up_bias = memory_.upload(*gate_up.bias);
    if (down.bias) experts.args.down_bias = memory_.upload(*down.bias);
    if (gate_up.permutation) experts.args.permutation = memory_.upload(*gate_up.permutation);
    most_experts = std::max(most_experts, spec.moe().shape.experts);
    return experts;
  }

  heddle::Runtime& runtime_;
  const Model& model_;
  Memory& memory_;
};
