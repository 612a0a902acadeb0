#include "tests/decoder/small_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tools/sample_model/sample_model.h"

namespace heddle {
namespace {

constexpr std::size_t kHiddenOfBlocks = 320;  // two blocks and a half
// Of models whose choices are all sure: DecoderReference.NoChoiceIsClose.
constexpr unsigned kMixtralSeed = 2215;
constexpr unsigned kOrderedMixtralSeed = 191;
constexpr unsigned kQwen3MoeSeed = 1138;
constexpr unsigned kGptOssSeed = 21208;

// As small as the kernels take them: the tests compute them without a GPU.
SampleOptions small_options(unsigned seed) {
  SampleOptions options;
  options.sizes.hidden = 128;
  options.sizes.inner = 256;
  options.sizes.vocabulary = 96;
  options.sizes.positions = 256;
  options.sizes.group = 64;
  options.seed = seed;
  options.keep_values = true;
  return options;
}

ReferenceMatrix reference_of(const SampleMatrix& matrix) {
  return {matrix.rows, matrix.columns, matrix.values};
}

// What a checkpoint says, by the names of its modules.
class Values {
 public:
  explicit Values(const SampleWeights& weights) : weights_(weights) {}

  const std::vector<float>& numbers(const std::string& name) const {
    return weights_.values.at(name).values;
  }
  ReferenceLinear linear(const std::string& module) const {
    const auto plain = weights_.values.find(module + ".weight");
    ReferenceLinear linear;
    static_cast<ReferenceMatrix&>(linear) =
        reference_of(plain == weights_.values.end() ? weights_.values.at(module) : plain->second);
    const auto bias = weights_.values.find(module + ".bias");
    if (bias != weights_.values.end()) linear.bias = bias->second.values;
    return linear;
  }
  // `count` rows of a stack with biases, of every `stride`-th from `first` on.
  ReferenceLinear rows(const std::string& stack, std::size_t first, std::size_t stride,
                       std::size_t count) const {
    const SampleMatrix& all = weights_.values.at(stack);
    const std::vector<float>& biases = numbers(stack + "_bias");
    ReferenceLinear linear;
    linear.rows = count;
    linear.columns = all.columns;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = first + i * stride;
      const auto from = all.values.begin() + static_cast<std::ptrdiff_t>(row * all.columns);
      linear.values.insert(linear.values.end(), from,
                           from + static_cast<std::ptrdiff_t>(all.columns));
      linear.bias.push_back(biases.at(row));
    }
    return linear;
  }

 private:
  const SampleWeights& weights_;
};

// The feed-forward layer of the decoder layer whose names begin with `at`.
void add_feed_forward(const SampleOptions& options, const Values& values, const std::string& at,
                      ReferenceLayer* layer) {
  const auto three = [&](const std::string& in, const char* gate, const char* up,
                         const char* down) {
    layer->experts.push_back(
        {values.linear(in + gate), values.linear(in + up), values.linear(in + down)});
  };
  if (options.experts == 0) return three(at + "mlp.", "gate_proj", "up_proj", "down_proj");
  const std::size_t inner = options.sizes.inner;
  const std::size_t hidden = options.sizes.hidden;
  switch (options.family) {
    case SampleFamily::kLlama:
      layer->router = values.linear(at + "block_sparse_moe.gate");
      for (std::size_t i = 0; i < options.experts; ++i) {
        three(at + "block_sparse_moe.experts." + std::to_string(i) + ".", "w1", "w3", "w2");
      }
      break;
    case SampleFamily::kQwen3:
      layer->router = values.linear(at + "mlp.gate");
      for (std::size_t i = 0; i < options.experts; ++i) {
        three(at + "mlp.experts." + std::to_string(i) + ".", "gate_proj", "up_proj", "down_proj");
      }
      break;
    case SampleFamily::kGptOss: {
      layer->router = values.linear(at + "mlp.router");
      const std::string first = at + "mlp.experts.gate_up_proj";
      for (std::size_t i = 0; i < options.experts; ++i) {
        layer->experts.push_back(
            {values.rows(first, 2 * inner * i, 2, inner),
             values.rows(first, 2 * inner * i + 1, 2, inner),
             values.rows(at + "mlp.experts.down_proj", hidden * i, 1, hidden)});
      }
    }
  }
}

ReferenceModel reference_of(const SampleOptions& options, const SampleWeights& weights,
                            std::vector<double> frequencies) {
  const Values values(weights);
  ReferenceModel plain;
  plain.heads = options.sizes.heads;
  plain.kv_heads = options.sizes.kv_heads;
  plain.head_dim = options.sizes.head_dim;
  plain.epsilon = 1e-5F;
  plain.frequencies = std::move(frequencies);
  plain.experts_per_token = 2;
  for (std::size_t i = 0; i < options.sizes.layers; ++i) {
    const std::string at = "model.layers." + std::to_string(i) + ".";
    ReferenceLayer layer;
    layer.q = values.linear(at + "self_attn.q_proj");
    layer.k = values.linear(at + "self_attn.k_proj");
    layer.v = values.linear(at + "self_attn.v_proj");
    layer.o = values.linear(at + "self_attn.o_proj");
    add_feed_forward(options, values, at, &layer);
    layer.input_norm = values.numbers(at + "input_layernorm.weight");
    layer.middle_norm = values.numbers(at + "post_attention_layernorm.weight");
    if (options.family == SampleFamily::kQwen3) {
      layer.q_norm = values.numbers(at + "self_attn.q_norm.weight");
      layer.k_norm = values.numbers(at + "self_attn.k_norm.weight");
    }
    if (options.family == SampleFamily::kGptOss) {
      layer.sinks = values.numbers(at + "self_attn.sinks");
    }
    plain.layers.push_back(std::move(layer));
  }
  plain.final_norm = values.numbers("model.norm.weight");
  plain.embeddings = values.linear("model.embed_tokens");
  plain.head = options.head == SampleHead::kTied ? plain.embeddings : values.linear("lm_head");
  return plain;
}

template <typename Scaling = Llama3Scaling>
SmallModel small_model(const SampleOptions& options, const nlohmann::ordered_json& config,
                       const Scaling& scaling = {}) {
  SampleWeights weights = sample_weights(options);
  SmallModel model;
  model.config = config.dump(2);
  model.plain =
      reference_of(options, weights, rope_frequencies(10000, options.sizes.head_dim, scaling));
  model.tensors = std::move(weights.tensors);
  return model;
}

}  // namespace

SmallModel small_llama(bool quantised_head) {
  SampleOptions options = small_options(79);
  if (quantised_head) {
    options.method = SampleMethod::kGptq;
    options.head = SampleHead::kQuantised;
  }
  // So short that the few positions of a test see all three kinds of pairs.
  const Llama3Scaling scaling = {8, 1, 4, 64};
  nlohmann::ordered_json config = sample_config(options);
  config["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", scaling.factor},
                            {"low_freq_factor", scaling.low_freq_factor},
                            {"high_freq_factor", scaling.high_freq_factor},
                            {"original_max_position_embeddings", 64}};
  return small_model(options, config, scaling);
}

SmallModel small_qwen3(bool act_order) {
  SampleOptions options = small_options(act_order ? 28 : 159);
  options.method = act_order ? SampleMethod::kGptqActOrder : SampleMethod::kGptq;
  options.head = SampleHead::kTied;
  options.family = SampleFamily::kQwen3;
  options.bf16 = true;
  return small_model(options, sample_config(options));
}

SmallModel small_eight_bits(EightBits kind) {
  SampleOptions options = small_options(79);
  options.method = SampleMethod::kEightBits;
  options.eight_bits = kind;
  options.bf16 = true;
  if (has_blocks(kind)) options.sizes.hidden = kHiddenOfBlocks;
  return small_model(options, sample_config(options));
}

SmallModel small_mixtral(bool act_order) {
  SampleOptions options = small_options(act_order ? kOrderedMixtralSeed : kMixtralSeed);
  if (act_order) options.method = SampleMethod::kGptqActOrder;
  options.experts_alone = act_order;
  options.sizes.inner = 64;
  options.experts = 8;
  return small_model(options, sample_config(options));
}

SmallModel small_qwen3_moe() {
  SampleOptions options = small_options(kQwen3MoeSeed);
  options.sizes.inner = 64;
  options.method = SampleMethod::kGptq;
  options.head = SampleHead::kTied;
  options.family = SampleFamily::kQwen3;
  options.bf16 = true;
  options.experts = 16;
  nlohmann::ordered_json config = sample_config(options);
  config["norm_topk_prob"] = false;
  SmallModel model = small_model(options, config);
  model.plain.weights_add_up = false;
  return model;
}

SmallModel small_gpt_oss() {
  SampleOptions options = small_options(kGptOssSeed);
  options.sizes.inner = 64;
  options.method = SampleMethod::kMxfp4;
  options.family = SampleFamily::kGptOss;
  options.bf16 = true;
  options.experts = 8;
  // As short as the positions of a test.
  const YarnScaling scaling = {8, 32, 1, 64};
  constexpr std::size_t kWindow = 8;
  nlohmann::ordered_json config = sample_config(options);
  config["sliding_window"] = kWindow;
  config["rope_scaling"] = {{"rope_type", "yarn"},
                            {"factor", scaling.factor},
                            {"beta_fast", scaling.beta_fast},
                            {"beta_slow", scaling.beta_slow},
                            {"original_max_position_embeddings", 64},
                            {"truncate", false}};
  SmallModel model = small_model(options, config, scaling);
  model.plain.rotation_scale = 0.1 * std::log(scaling.factor) + 1;
  model.plain.clamp = 7;
  for (std::size_t i = 0; i < model.plain.layers.size(); i += 2) {
    model.plain.layers[i].window = kWindow;
  }
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
    greedy.least_lead = std::min(greedy.least_lead, decoder.least_lead());
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
