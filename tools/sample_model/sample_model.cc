#include "tools/sample_model/sample_model.h"

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>

#include "generator/decode/float16.h"
#include "tools/sample_model/quantised_formats.h"

namespace heddle {
namespace {

constexpr double kRopeBase = 10000;
constexpr double kEpsilon = 1e-5;
constexpr int kBits = 4;                   // of a code, but with kEightBits
constexpr double kDeviationOfCodes = 4.6;  // of 4 random bits

class SampleBuilder {
 public:
  explicit SampleBuilder(const SampleOptions& options)
      : options_(options), sizes_(options.sizes), random_(options.seed) {}

  SampleWeights build() {
    const std::size_t queries = sizes_.heads * sizes_.head_dim;
    const std::size_t keys = sizes_.kv_heads * sizes_.head_dim;
    for (std::size_t i = 0; i < sizes_.layers; ++i) {
      const std::string at = "model.layers." + std::to_string(i) + ".";
      order_.clear();  // fused matrices have their columns in one order
      quantised(at + "self_attn.q_proj", queries, sizes_.hidden);
      quantised(at + "self_attn.k_proj", keys, sizes_.hidden);
      quantised(at + "self_attn.v_proj", keys, sizes_.hidden);
      order_.clear();
      quantised(at + "self_attn.o_proj", sizes_.hidden, queries);
      order_.clear();
      quantised(at + "mlp.gate_proj", sizes_.inner, sizes_.hidden);
      quantised(at + "mlp.up_proj", sizes_.inner, sizes_.hidden);
      order_.clear();
      quantised(at + "mlp.down_proj", sizes_.hidden, sizes_.inner);
      norm(at + "input_layernorm.weight", sizes_.hidden);
      norm(at + "post_attention_layernorm.weight", sizes_.hidden);
      if (options_.qwen3) {
        norm(at + "self_attn.q_norm.weight", sizes_.head_dim);
        norm(at + "self_attn.k_norm.weight", sizes_.head_dim);
      }
    }
    norm("model.norm.weight", sizes_.hidden);
    // Those of a tied head are small: what a token is must not decide alone which one follows.
    plain("model.embed_tokens.weight", options_.head == SampleHead::kTied ? 0.15 : 1);
    if (options_.head == SampleHead::kPlain) {
      plain("lm_head.weight", 1 / std::sqrt(static_cast<double>(sizes_.hidden)));
    } else if (options_.head == SampleHead::kQuantised) {
      order_.clear();
      quantised("lm_head", sizes_.vocabulary, sizes_.hidden);
    }
    return std::move(made_);
  }

 private:
  // A matrix whose products keep the size of what they multiply.
  void quantised(const std::string& name, std::size_t n, std::size_t k) {
    if (options_.method == SampleMethod::kEightBits) {
      keep(name, add_eight_bits(options_.eight_bits, name, n, k, options_.scales_bf16, random_,
                                &made_.tensors));
      return;
    }
    SampleLayer layer =
        random_layer(n, k, sizes_.group, kBits, options_.method == SampleMethod::kGptqActOrder,
                     static_cast<unsigned>(random_()));
    if (order_.empty()) order_ = layer.index;
    layer.index = order_;
    std::uniform_real_distribution<double> scale(0.5, 1.5);
    for (auto& one : layer.scales) {
      one =
          float16_from_double(kBinary16, scale(random_) / kDeviationOfCodes / std::sqrt(double(k)));
    }
    for (auto& zero : layer.zeros) zero = 6 + static_cast<std::uint32_t>(random_() % 4);
    for (SampleTensor& tensor :
         options_.method == SampleMethod::kAwq ? awq(layer, name) : gptq(layer, name, true)) {
      made_.tensors.push_back(std::move(tensor));
    }
    if (options_.keep_values) made_.values[name] = values_of(layer);
  }

  static SampleMatrix values_of(const SampleLayer& layer) {
    const std::size_t n = layer.n;
    const std::size_t k = layer.k;
    SampleMatrix matrix{n, k, std::vector<float>(n * k)};
    for (std::size_t row = 0; row < n; ++row) {
      for (std::size_t column = 0; column < k; ++column) {
        const std::size_t meta =
            row * layer.groups() + static_cast<std::size_t>(layer.index[column]);
        matrix.values[row * k + column] =
            (static_cast<float>(layer.codes[row * k + column]) -
             static_cast<float>(layer.zeros[meta])) *
            static_cast<float>(float16_to_double(kBinary16, layer.scales[meta]));
      }
    }
    return matrix;
  }

  void keep(const std::string& name, SampleMatrix values) {
    if (options_.keep_values) made_.values[name] = std::move(values);
  }

  // Values that 16 bits hold.
  void sixteen_bits(const std::string& name, std::vector<std::int64_t> shape,
                    const std::vector<double>& values) {
    const Float16Format& format = options_.bf16 ? kBfloat16 : kBinary16;
    std::vector<std::uint16_t> bits;
    std::vector<float> exact;
    for (const double value : values) {
      bits.push_back(float16_from_double(format, value));
      exact.push_back(static_cast<float>(float16_to_double(format, bits.back())));
    }
    const auto columns = static_cast<std::size_t>(shape.back());
    keep(name, {values.size() / columns, columns, std::move(exact)});
    made_.tensors.push_back({name, options_.bf16 ? TensorType::kBf16 : TensorType::kF16,
                             std::move(shape), bytes_of_values(bits)});
  }
  void norm(const std::string& name, std::size_t size) {
    std::uniform_real_distribution<double> weight(0.5, 1.5);
    std::vector<double> values(size);
    for (double& value : values) value = weight(random_);
    sixteen_bits(name, {static_cast<std::int64_t>(size)}, values);
  }
  void plain(const std::string& name, double deviation) {
    std::normal_distribution<double> weight(0, deviation);
    std::vector<double> values(sizes_.vocabulary * sizes_.hidden);
    for (double& value : values) value = weight(random_);
    sixteen_bits(
        name,
        {static_cast<std::int64_t>(sizes_.vocabulary), static_cast<std::int64_t>(sizes_.hidden)},
        values);
  }

  const SampleOptions& options_;
  const SampleSizes& sizes_;
  std::mt19937 random_;
  std::vector<std::int32_t> order_;
  SampleWeights made_;
};

nlohmann::ordered_json quantisation_of(const SampleOptions& options) {
  switch (options.method) {
    case SampleMethod::kAwq:
      return {{"quant_method", "awq"},
              {"bits", kBits},
              {"group_size", options.sizes.group},
              {"zero_point", true},
              {"version", "gemm"}};
    case SampleMethod::kGptq:
    case SampleMethod::kGptqActOrder:
      break;
    case SampleMethod::kEightBits:
      return nlohmann::ordered_json::parse(eight_bits_quantisation(options.eight_bits));
  }
  nlohmann::ordered_json gptq = {
      {"quant_method", "gptq"},
      {"bits", kBits},
      {"group_size", options.sizes.group},
      {"sym", false},
      {"desc_act", options.method == SampleMethod::kGptqActOrder},
  };
  if (options.head == SampleHead::kQuantised) gptq["lm_head"] = true;
  return gptq;
}

}  // namespace

SampleWeights sample_weights(const SampleOptions& options) {
  return SampleBuilder(options).build();
}

nlohmann::ordered_json sample_config(const SampleOptions& options) {
  const SampleSizes& sizes = options.sizes;
  const char* const architecture = options.qwen3 ? "Qwen3ForCausalLM" : "LlamaForCausalLM";
  return {{"architectures", nlohmann::ordered_json::array({architecture})},
          {"model_type", options.qwen3 ? "qwen3" : "llama"},
          {"torch_dtype", options.bf16 ? "bfloat16" : "float16"},
          {"hidden_size", sizes.hidden},
          {"intermediate_size", sizes.inner},
          {"num_hidden_layers", sizes.layers},
          {"num_attention_heads", sizes.heads},
          {"num_key_value_heads", sizes.kv_heads},
          {"head_dim", sizes.head_dim},
          {"vocab_size", sizes.vocabulary},
          {"max_position_embeddings", sizes.positions},
          {"hidden_act", "silu"},
          {"rms_norm_eps", kEpsilon},
          {"rope_theta", kRopeBase},
          {"attention_bias", false},
          {"tie_word_embeddings", options.head == SampleHead::kTied},
          {"bos_token_id", 1},
          {"eos_token_id", 2},
          {"quantization_config", quantisation_of(options)}};
}

}  // namespace heddle
