#include "tests/decoder/small_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tools/sample_model/sample_model.h"

namespace heddle {
namespace {

constexpr std::size_t kHiddenOfBlocks = 320;  // two blocks and a half

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

ReferenceModel reference_of(const SampleOptions& options, const SampleWeights& weights,
                            const Llama3Scaling& scaling) {
  const auto matrix = [&](const std::string& name) {
    return reference_of(weights.values.at(name));
  };
  const auto norm = [&](const std::string& name) { return weights.values.at(name).values; };
  ReferenceModel plain;
  plain.heads = options.sizes.heads;
  plain.kv_heads = options.sizes.kv_heads;
  plain.head_dim = options.sizes.head_dim;
  plain.epsilon = 1e-5F;
  plain.frequencies = rope_frequencies(10000, options.sizes.head_dim, scaling);
  for (std::size_t i = 0; i < options.sizes.layers; ++i) {
    const std::string at = "model.layers." + std::to_string(i) + ".";
    ReferenceLayer layer;
    layer.q = matrix(at + "self_attn.q_proj");
    layer.k = matrix(at + "self_attn.k_proj");
    layer.v = matrix(at + "self_attn.v_proj");
    layer.o = matrix(at + "self_attn.o_proj");
    layer.gate = matrix(at + "mlp.gate_proj");
    layer.up = matrix(at + "mlp.up_proj");
    layer.down = matrix(at + "mlp.down_proj");
    layer.input_norm = norm(at + "input_layernorm.weight");
    layer.middle_norm = norm(at + "post_attention_layernorm.weight");
    if (options.family == SampleFamily::kQwen3) {
      layer.q_norm = norm(at + "self_attn.q_norm.weight");
      layer.k_norm = norm(at + "self_attn.k_norm.weight");
    }
    plain.layers.push_back(std::move(layer));
  }
  plain.final_norm = norm("model.norm.weight");
  plain.embeddings = matrix("model.embed_tokens.weight");
  plain.head = options.head == SampleHead::kTied
                   ? plain.embeddings
                   : matrix(options.head == SampleHead::kPlain ? "lm_head.weight" : "lm_head");
  return plain;
}

SmallModel small_model(const SampleOptions& options, const nlohmann::ordered_json& config,
                       const Llama3Scaling& scaling = {}) {
  SampleWeights weights = sample_weights(options);
  SmallModel model;
  model.config = config.dump(2);
  model.plain = reference_of(options, weights, scaling);
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
