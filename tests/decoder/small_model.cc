#include "tests/decoder/small_model.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "generator/decode/float16.h"
#include "tests/checkpoint/foreign_formats.h"
#include "tests/decoder/eight_bits.h"

namespace heddle {
namespace {

constexpr std::size_t kHidden = 128;
constexpr std::size_t kHiddenOfBlocks = 320;  // two blocks and a half
constexpr std::size_t kHeads = 4;
constexpr std::size_t kKvHeads = 2;
constexpr std::size_t kHeadDim = 64;
constexpr std::size_t kInner = 256;
constexpr std::size_t kVocabulary = 96;
constexpr std::size_t kLayers = 2;
constexpr std::size_t kGroup = 64;
constexpr double kBase = 10000;

enum class Method { kAwq, kGptq, kGptqActOrder, kEightBits };
enum class Head { kPlain, kTied, kQuantised };

class Builder {
 public:
  Builder(Method method, const Float16Format& format, unsigned seed, EightBits kind = {})
      : method_(method),
        format_(format),
        random_(seed),
        kind_(kind),
        hidden_(has_blocks(kind) ? kHiddenOfBlocks : kHidden) {
    model_.plain.heads = kHeads;
    model_.plain.kv_heads = kKvHeads;
    model_.plain.head_dim = kHeadDim;
    model_.plain.epsilon = 1e-5F;
  }

  SmallModel build(bool qk_norm, Head head, const Llama3Scaling& scaling) {
    model_.plain.frequencies = rope_frequencies(kBase, kHeadDim, scaling);
    for (std::size_t i = 0; i < kLayers; ++i) {
      const std::string at = "model.layers." + std::to_string(i) + ".";
      ReferenceLayer layer;
      order_.clear();  // fused matrices have their columns in one order
      layer.q = quantised(at + "self_attn.q_proj", kHeads * kHeadDim, hidden_);
      layer.k = quantised(at + "self_attn.k_proj", kKvHeads * kHeadDim, hidden_);
      layer.v = quantised(at + "self_attn.v_proj", kKvHeads * kHeadDim, hidden_);
      order_.clear();
      layer.o = quantised(at + "self_attn.o_proj", hidden_, kHeads * kHeadDim);
      order_.clear();
      layer.gate = quantised(at + "mlp.gate_proj", kInner, hidden_);
      layer.up = quantised(at + "mlp.up_proj", kInner, hidden_);
      order_.clear();
      layer.down = quantised(at + "mlp.down_proj", hidden_, kInner);
      layer.input_norm = norm(at + "input_layernorm.weight", hidden_);
      layer.middle_norm = norm(at + "post_attention_layernorm.weight", hidden_);
      if (qk_norm) {
        layer.q_norm = norm(at + "self_attn.q_norm.weight", kHeadDim);
        layer.k_norm = norm(at + "self_attn.k_norm.weight", kHeadDim);
      }
      model_.plain.layers.push_back(layer);
    }
    model_.plain.final_norm = norm("model.norm.weight", hidden_);
    // Those of a tied head are small: what a token is must not decide alone which one follows.
    model_.plain.embeddings = plain("model.embed_tokens.weight", head == Head::kTied ? 0.15 : 1);
    if (head == Head::kTied) {
      model_.plain.head = model_.plain.embeddings;
    } else if (head == Head::kPlain) {
      model_.plain.head = plain("lm_head.weight", 1 / std::sqrt(static_cast<double>(hidden_)));
    } else {
      order_.clear();
      model_.plain.head = quantised("lm_head", kVocabulary, hidden_);
    }
    return std::move(model_);
  }

 private:
  // A matrix whose products keep the size of what they multiply.
  ReferenceMatrix quantised(const std::string& name, std::size_t n, std::size_t k) {
    if (method_ == Method::kEightBits) {
      return add_eight_bits(kind_, name, n, k, random_, &model_.tensors);
    }
    Layer layer = random_layer(n, k, kGroup, 4, method_ == Method::kGptqActOrder,
                               static_cast<unsigned>(random_()));
    if (order_.empty()) order_ = layer.index;
    layer.index = order_;
    // The deviation of a code is 4.6.
    std::uniform_real_distribution<double> scale(0.5, 1.5);
    for (auto& one : layer.scales) {
      one = float16_from_double(kBinary16, scale(random_) / 4.6 / std::sqrt(double(k)));
    }
    for (auto& zero : layer.zeros) zero = 6 + static_cast<std::uint32_t>(random_() % 4);
    for (TestTensor& tensor :
         method_ == Method::kAwq ? awq(layer, name) : gptq(layer, name, true)) {
      model_.tensors.push_back(std::move(tensor));
    }
    ReferenceMatrix matrix{n, k, std::vector<float>(n * k)};
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

  // Values that 16 bits hold.
  std::vector<float> sixteen_bits(const std::string& name, std::vector<std::int64_t> shape,
                                  std::vector<double> values) {
    std::vector<std::uint16_t> bits;
    std::vector<float> exact;
    for (const double value : values) {
      bits.push_back(float16_from_double(format_, value));
      exact.push_back(static_cast<float>(float16_to_double(format_, bits.back())));
    }
    const bool fp16 = &format_ == &kBinary16;
    model_.tensors.push_back({name, fp16 ? TensorType::kF16 : TensorType::kBf16, std::move(shape),
                              bytes_of_values(bits)});
    return exact;
  }
  std::vector<float> norm(const std::string& name, std::size_t size) {
    std::uniform_real_distribution<double> weight(0.5, 1.5);
    std::vector<double> values(size);
    for (double& value : values) value = weight(random_);
    return sixteen_bits(name, {static_cast<std::int64_t>(size)}, values);
  }
  ReferenceMatrix plain(const std::string& name, double deviation) {
    std::normal_distribution<double> weight(0, deviation);
    std::vector<double> values(kVocabulary * hidden_);
    for (double& value : values) value = weight(random_);
    const auto columns = static_cast<std::int64_t>(hidden_);
    return {kVocabulary, hidden_, sixteen_bits(name, {std::int64_t{kVocabulary}, columns}, values)};
  }

  Method method_;
  const Float16Format& format_;
  std::mt19937 random_;
  EightBits kind_;
  std::size_t hidden_;
  std::vector<std::int32_t> order_;
  SmallModel model_;
};

std::string model_config(const std::string& type, const std::string& quantisation,
                         std::size_t hidden = kHidden) {
  return R"({"model_type": ")" + type + R"(", "hidden_size": )" + std::to_string(hidden) +
         R"(, "intermediate_size": 256,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
    "vocab_size": 96, "rms_norm_eps": 1e-5, "hidden_act": "silu", "rope_theta": 10000.0,
    "max_position_embeddings": 256, "quantization_config": )" +
         quantisation;
}

}  // namespace

SmallModel small_llama(bool quantised_head) {
  // So short that the few positions of a test see all three kinds of pairs.
  SmallModel model =
      quantised_head
          ? Builder(Method::kGptq, kBinary16, 79).build(false, Head::kQuantised, {8, 1, 4, 64})
          : Builder(Method::kAwq, kBinary16, 79).build(false, Head::kPlain, {8, 1, 4, 64});
  const std::string quantisation =
      quantised_head ? R"({"quant_method": "gptq", "bits": 4, "group_size": 64, "sym": false,
      "desc_act": false, "lm_head": true},)"
                     : R"({"quant_method": "awq", "bits": 4, "group_size": 64,
      "zero_point": true, "version": "gemm"},)";
  model.config = model_config("llama", quantisation + R"(
    "torch_dtype": "float16", "tie_word_embeddings": false,
    "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                     "high_freq_factor": 4.0, "original_max_position_embeddings": 64}})");
  return model;
}

SmallModel small_qwen3(bool act_order) {
  SmallModel model =
      Builder(act_order ? Method::kGptqActOrder : Method::kGptq, kBfloat16, act_order ? 28 : 159)
          .build(true, Head::kTied, {});
  model.config =
      model_config("qwen3", R"({"quant_method": "gptq", "bits": 4, "group_size": 64, "sym": false,
      "desc_act": )" + std::string(act_order ? "true" : "false") +
                                R"(}, "torch_dtype": "bfloat16", "tie_word_embeddings": true})");
  return model;
}

SmallModel small_eight_bits(EightBits kind) {
  SmallModel model =
      Builder(Method::kEightBits, kBfloat16, 79, kind).build(false, Head::kPlain, {});
  model.config = model_config("llama", eight_bits_quantisation(kind) + R"(,
    "torch_dtype": "bfloat16", "tie_word_embeddings": false})",
                              has_blocks(kind) ? kHiddenOfBlocks : kHidden);
  return model;
}

std::vector<std::vector<int>> ragged_prompts() {
  return {{5}, {90, 3, 17, 17, 60, 2, 8, 44, 71, 0, 33, 95, 12}, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
}

Greedy reference_greedy(const ReferenceModel& model, const std::vector<std::vector<int>>& prompts,
                        int steps) {
  Greedy greedy;
  greedy.tokens.resize(static_cast<std::size_t>(steps));
  greedy.logits.resize(static_cast<std::size_t>(steps));
  for (const std::vector<int>& prompt : prompts) {
    ReferenceDecoder decoder(model);
    for (std::size_t i = 0; i + 1 < prompt.size(); ++i) decoder.step(prompt[i]);
    int token = prompt.back();
    for (std::size_t i = 0; i < greedy.tokens.size(); ++i) {
      greedy.logits[i].push_back(decoder.step(token));
      token = argmax(greedy.logits[i].back().data(), greedy.logits[i].back().size());
      greedy.tokens[i].push_back(token);
    }
  }
  return greedy;
}

double relative_error(const std::vector<float>& got, const std::vector<float>& expected) {
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error += std::pow(double{got[i]} - expected[i], 2);
    norm += std::pow(double{expected[i]}, 2);
  }
  return std::sqrt(error / norm);
}

double relative_margin(const std::vector<float>& logits) {
  std::vector<float> sorted = logits;
  std::sort(sorted.rbegin(), sorted.rend());
  double norm = 0;
  for (const float logit : logits) norm += std::pow(double{logit}, 2);
  return (double{sorted[0]} - sorted[1]) / std::sqrt(norm / static_cast<double>(logits.size()));
}

int argmax(const float* logits, std::size_t count) {
  return static_cast<int>(std::max_element(logits, logits + count) - logits);
}

}  // namespace heddle
