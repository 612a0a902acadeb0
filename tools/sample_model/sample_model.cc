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
      : options_(options),
        sizes_(options.sizes),
        random_(options.seed),
        permutes_(options.method == SampleMethod::kGptqActOrder && !options.experts_alone) {}

  SampleWeights build() {
    const std::size_t queries = sizes_.heads * sizes_.head_dim;
    const std::size_t keys = sizes_.kv_heads * sizes_.head_dim;
    for (std::size_t i = 0; i < sizes_.layers; ++i) {
      const std::string at = "model.layers." + std::to_string(i) + ".";
      order_.clear();  // fused matrices have their columns in one order
      linear(at + "self_attn.q_proj", queries, sizes_.hidden);
      linear(at + "self_attn.k_proj", keys, sizes_.hidden);
      linear(at + "self_attn.v_proj", keys, sizes_.hidden);
      order_.clear();
      linear(at + "self_attn.o_proj", sizes_.hidden, queries);
      if (options_.family == SampleFamily::kGptOss) {
        gpt_oss_experts(at);
      } else if (options_.experts != 0) {
        experts(at);
      } else {
        feed_forward(at + "mlp.", "gate_proj", "up_proj", "down_proj");
      }
      norm(at + "input_layernorm.weight", sizes_.hidden);
      norm(at + "post_attention_layernorm.weight", sizes_.hidden);
      if (options_.family == SampleFamily::kQwen3) {
        norm(at + "self_attn.q_norm.weight", sizes_.head_dim);
        norm(at + "self_attn.k_norm.weight", sizes_.head_dim);
      }
    }
    norm("model.norm.weight", sizes_.hidden);
    // Those of a tied head are small: what a token is must not decide alone which one follows.
    plain("model.embed_tokens", sizes_.vocabulary, sizes_.hidden,
          options_.head == SampleHead::kTied ? 0.15 : 1);
    if (options_.head == SampleHead::kPlain) {
      plain("lm_head", sizes_.vocabulary, sizes_.hidden, deviation_for(sizes_.hidden));
    } else if (options_.head == SampleHead::kQuantised) {
      order_.clear();
      quantised("lm_head", sizes_.vocabulary, sizes_.hidden);
    }
    return std::move(made_);
  }

 private:
  static double deviation_for(std::size_t k) { return 1 / std::sqrt(static_cast<double>(k)); }

  void feed_forward(const std::string& at, const char* gate, const char* up, const char* down) {
    order_.clear();
    quantised(at + gate, sizes_.inner, sizes_.hidden);
    quantised(at + up, sizes_.inner, sizes_.hidden);
    order_.clear();
    quantised(at + down, sizes_.hidden, sizes_.inner);
  }

  void experts(const std::string& at) {
    const bool qwen3 = options_.family == SampleFamily::kQwen3;
    const std::string set = at + (qwen3 ? "mlp." : "block_sparse_moe.");
    plain(set + "gate", options_.experts, sizes_.hidden, deviation_for(sizes_.hidden));
    const bool others = std::exchange(permutes_, options_.method == SampleMethod::kGptqActOrder);
    for (std::size_t i = 0; i < options_.experts; ++i) {
      const std::string expert = set + "experts." + std::to_string(i) + ".";
      if (qwen3) {
        feed_forward(expert, "gate_proj", "up_proj", "down_proj");
      } else {
        feed_forward(expert, "w1", "w3", "w2");
      }
    }
    permutes_ = others;
  }

  // Rows of gates and ups take turns; everything has a bias, and heads have sinks.
  void gpt_oss_experts(const std::string& at) {
    vector(at + "self_attn.sinks", {sizes_.heads}, 0, 1);
    plain(at + "mlp.router", options_.experts, sizes_.hidden, deviation_for(sizes_.hidden));
    vector(at + "mlp.router.bias", {options_.experts}, 0, 0.5);
    mxfp4(at + "mlp.experts.gate_up_proj", 2 * sizes_.inner, sizes_.hidden);
    mxfp4(at + "mlp.experts.down_proj", sizes_.hidden, sizes_.inner);
  }

  // A stack of all experts, with its biases.
  void mxfp4(const std::string& name, std::size_t n, std::size_t k) {
    constexpr std::size_t kGroup = 32;
    constexpr double kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    constexpr double kDeviation = 2.93;  // of a random one of them, with a sign
    constexpr int kBias = 127;           // of e8m0
    const std::size_t count = options_.experts * n * k;
    std::vector<std::uint8_t> codes(count / 2);
    std::vector<std::uint8_t> scales(count / kGroup);
    for (std::uint8_t& two : codes) two = static_cast<std::uint8_t>(random_());
    const int exponent = static_cast<int>(std::lround(std::log2(deviation_for(k) / kDeviation)));
    for (std::uint8_t& scale : scales) {
      scale = static_cast<std::uint8_t>(kBias + exponent - 1 + static_cast<int>(random_() % 3));
    }
    if (options_.keep_values) {
      SampleMatrix matrix{options_.experts * n, k, std::vector<float>(count)};
      for (std::size_t i = 0; i < count; ++i) {
        const unsigned code = codes[i / 2] >> (i % 2 * 4) & 0xF;
        const double value = (code & 8U) != 0 ? -kValues[code & 7U] : kValues[code & 7U];
        matrix.values[i] = static_cast<float>(std::ldexp(value, scales[i / kGroup] - kBias));
      }
      made_.values[name] = std::move(matrix);
    }
    const auto side = [](std::size_t size) { return static_cast<std::int64_t>(size); };
    const std::int64_t groups = side(k / kGroup);
    made_.tensors.push_back({name + "_blocks",
                             TensorType::kU8,
                             {side(options_.experts), side(n), groups, kGroup / 2},
                             std::move(codes)});
    made_.tensors.push_back({name + "_scales",
                             TensorType::kU8,
                             {side(options_.experts), side(n), groups},
                             std::move(scales)});
    vector(name + "_bias", {options_.experts, n}, 0, 0.1);
  }

  // As the format has it, in 16 bits with a bias of gpt-oss.
  void linear(const std::string& name, std::size_t n, std::size_t k) {
    if (options_.family != SampleFamily::kGptOss) return quantised(name, n, k);
    plain(name, n, k, deviation_for(k));
    vector(name + ".bias", {n}, 0, 0.1);
  }

  // A matrix whose products keep the size of what they multiply.
  void quantised(const std::string& name, std::size_t n, std::size_t k) {
    if (options_.method == SampleMethod::kEightBits) {
      keep(name, add_eight_bits(options_.eight_bits, name, n, k, options_.scales_bf16, random_,
                                &made_.tensors));
      return;
    }
    SampleLayer layer =
        random_layer(n, k, sizes_.group, kBits, permutes_, static_cast<unsigned>(random_()));
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
  void plain(const std::string& module, std::size_t n, std::size_t k, double deviation) {
    vector(module + ".weight", {n, k}, 0, deviation);
  }
  void vector(const std::string& name, const std::vector<std::size_t>& sides, double mean,
              double deviation) {
    std::normal_distribution<double> weight(mean, deviation);
    std::size_t count = 1;
    for (const std::size_t side : sides) count *= side;
    std::vector<double> values(count);
    for (double& value : values) value = weight(random_);
    sixteen_bits(name, {sides.begin(), sides.end()}, values);
  }

  const SampleOptions& options_;
  const SampleSizes& sizes_;
  std::mt19937 random_;
  bool permutes_;  // columns of the matrices that follow
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
    case SampleMethod::kMxfp4:
      return {{"quant_method", "mxfp4"},
              {"modules_to_not_convert",
               {"model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens",
                "lm_head"}}};
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

struct SampleTypeNames {
  const char* model_type;
  const char* architecture;
};

SampleTypeNames names_of(const SampleOptions& options) {
  const bool experts = options.experts != 0;
  switch (options.family) {
    case SampleFamily::kLlama:
      if (experts) return {"mixtral", "MixtralForCausalLM"};
      break;
    case SampleFamily::kQwen3:
      if (experts) return {"qwen3_moe", "Qwen3MoeForCausalLM"};
      return {"qwen3", "Qwen3ForCausalLM"};
    case SampleFamily::kGptOss:
      return {"gpt_oss", "GptOssForCausalLM"};
  }
  return {"llama", "LlamaForCausalLM"};
}

void add_experts(const SampleOptions& options, nlohmann::ordered_json* config) {
  nlohmann::ordered_json& json = *config;
  if (options.experts == 0) return;
  const bool qwen3 = options.family == SampleFamily::kQwen3;
  json[qwen3 ? "num_experts" : "num_local_experts"] = options.experts;
  json["num_experts_per_tok"] = 2;
  if (qwen3) {
    json["moe_intermediate_size"] = options.sizes.inner;
    json["decoder_sparse_step"] = 1;
    json["mlp_only_layers"] = nlohmann::ordered_json::array();
    json["norm_topk_prob"] = true;
  } else if (options.family == SampleFamily::kLlama) {
    json.erase("attention_bias");  // Mixtral has no such field
  } else {
    json["sliding_window"] = 128;
    json["swiglu_limit"] = 7.0;
    json["layer_types"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < options.sizes.layers; ++i) {
      json["layer_types"].push_back(i % 2 == 0 ? "sliding_attention" : "full_attention");
    }
  }
}

}  // namespace

SampleWeights sample_weights(const SampleOptions& options) {
  return SampleBuilder(options).build();
}

nlohmann::ordered_json sample_config(const SampleOptions& options) {
  const SampleSizes& sizes = options.sizes;
  const SampleTypeNames names = names_of(options);
  nlohmann::ordered_json config = {
      {"architectures", nlohmann::ordered_json::array({names.architecture})},
      {"model_type", names.model_type},
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
      {"attention_bias", options.family == SampleFamily::kGptOss},
      {"tie_word_embeddings", options.head == SampleHead::kTied},
      {"bos_token_id", 1},
      {"eos_token_id", 2}};
  add_experts(options, &config);
  config["quantization_config"] = quantisation_of(options);
  return config;
}

}  // namespace heddle
