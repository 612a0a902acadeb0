#include "tools/gpu_harness/operations/moe/problem.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <utility>

#include "generator/decode/float16.h"
#include "tools/gpu_harness/numbers/as_size.h"

namespace heddle {
namespace {

constexpr std::size_t kDrawnExperts = 7;  // a prime, so that few experts that share are alike in it

std::vector<std::uint16_t> normals(DType dtype, std::int64_t count, double deviation,
                                   std::mt19937& random) {
  const Float16Format format = float16_format(dtype);
  std::normal_distribution<double> normal(0, deviation);
  std::vector<std::uint16_t> values(as_size(count));
  for (std::uint16_t& value : values) value = float16_from_double(format, normal(random));
  return values;
}

// Integers of many bits are large weights: the square of a sum must still be a number of 16 bits.
double x_deviation(const MoeSpec& spec) {
  constexpr int kFewBits = 4;
  const auto bits_of = [&](const WeightSpec& weight) {
    const bool is_integer = weight.type == WeightType::kUint || weight.type == WeightType::kInt;
    return is_integer ? std::max(weight.bits, kFewBits) : kFewBits;
  };
  return std::exp2(kFewBits - std::max(bits_of(spec.gate_up), bits_of(spec.down)));
}

DeviceBuffer all_experts(const std::vector<std::unique_ptr<DeviceWeights>>& drawn,
                         std::int64_t experts, const OwnedStream& stream) {
  const std::size_t bytes = drawn.front()->packed().size();
  DeviceBuffer all(bytes * as_size(experts));
  for (std::size_t expert = 0; expert < drawn.size(); ++expert) {
    all.upload(drawn[expert]->packed().data(), bytes, stream, expert * bytes);
  }
  all.repeat(0, bytes * drawn.size(), all.bytes(), stream);
  stream.synchronize();
  return all;
}

}  // namespace

RouterChoices random_choices(const MoeSpec& spec, std::int64_t tokens, Routing routing,
                             std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> popularity(as_size(spec.shape.experts), 1.0);
  if (routing == Routing::kSkewed) {
    for (std::size_t i = 0; i < popularity.size(); ++i) {
      popularity[i] = 1 / (static_cast<double>(i) + 1);
    }
    std::shuffle(popularity.begin(), popularity.end(), random);
  }
  if (spec.router.chooses()) {
    for (double& value : popularity) value = std::log(value);
    RoutedTokens routed = routed_tokens(spec, router_vectors(spec), tokens, popularity,
                                        routing == Routing::kOne, seed);
    return {std::move(routed.ids), std::move(routed.weights), std::move(routed.logits),
            random_shared_gates(spec, tokens, seed)};
  }
  RouterChoices choices;
  choices.shared_gates = random_shared_gates(spec, tokens, seed);
  std::vector<std::pair<double, std::int32_t>> order(popularity.size());
  for (std::int64_t token = 0; token < tokens; ++token) {
    if (routing != Routing::kOne || token == 0) {
      // The largest u^(1 / popularity) are a draw without replacement.
      for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = {std::log(uniform(random)) / popularity[i], static_cast<std::int32_t>(i)};
      }
      std::partial_sort(order.begin(), order.begin() + spec.shape.top_k, order.end(),
                        [](const auto& a, const auto& b) { return a.first > b.first; });
    }
    std::vector<double> weights(as_size(spec.shape.top_k));
    for (double& weight : weights) weight = 0.1 + uniform(random);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      choices.ids.push_back(order[i].second);
      choices.weights.push_back(static_cast<float>(weights[i] / sum));
    }
  }
  return choices;
}

RouterVectors router_vectors(const MoeSpec& spec) {
  constexpr std::uint32_t kSeed = 63;
  return random_router_vectors(spec, kSeed);
}

DeviceChoices::DeviceChoices(const MoeSpec& spec, const RouterChoices& choices,
                             const OwnedStream& stream)
    : has_logits_(spec.router.chooses()), shared_gates_(to_device(choices.shared_gates, stream)) {
  if (has_logits_) {
    const RouterVectors vectors = router_vectors(spec);
    logits_ = to_device(choices.logits, stream);
    correction_bias_ = to_device(vectors.correction_bias, stream);
    expert_scales_ = to_device(vectors.expert_scales, stream);
    stream.synchronize();
  } else {
    ids_ = to_device(choices.ids, stream);
    weights_ = to_device(choices.weights, stream);
  }
}

void DeviceChoices::upload(const RouterChoices& choices, const OwnedStream& stream) {
  if (has_logits_) {
    logits_.upload(choices.logits.data(), logits_.bytes(), stream);
  } else {
    ids_.upload(choices.ids.data(), ids_.bytes(), stream);
    weights_.upload(choices.weights.data(), weights_.bytes(), stream);
  }
  if (shared_gates_.bytes() == 0) return;
  shared_gates_.upload(choices.shared_gates.data(), shared_gates_.bytes(), stream);
}

void DeviceChoices::give(MoeArgs* args) const {
  args->ids = ids_.memory();
  args->weights = weights_.memory();
  args->logits = logits_.memory();
  args->correction_bias = correction_bias_.memory();
  args->expert_scales = expert_scales_.memory();
  args->shared_gates = shared_gates_.memory();
}

std::vector<std::int64_t> rows_of_experts(const MoeSpec& spec, const RouterChoices& choices) {
  std::vector<std::int64_t> rows(as_size(spec.device_experts()));
  for (const ExpertUse& use :
       expert_uses(spec, choices.ids, choices.weights, choices.shared_gates)) {
    ++rows[as_size(use.expert)];
  }
  return rows;
}

MoeWeights::MoeWeights(const MoeSpec& spec, std::uint32_t seed, const OwnedStream& stream) {
  const MoeGemms gemms = moe_gemms(spec);
  const std::size_t drawn = std::min(kDrawnExperts, as_size(spec.device_experts()));
  for (std::size_t i = 0; i < drawn; ++i) {
    const auto of_expert = static_cast<std::uint32_t>(seed + 2 * i);
    gate_up_drawn_.push_back(std::make_unique<DeviceWeights>(gemms.gate_up, of_expert, stream));
    down_drawn_.push_back(std::make_unique<DeviceWeights>(gemms.down, of_expert + 1, stream));
  }
  gate_up_ = all_experts(gate_up_drawn_, spec.device_experts(), stream);
  down_ = all_experts(down_drawn_, spec.device_experts(), stream);
}

MoeProblem make_moe_problem(const MoeSpec& spec, std::int64_t tokens, Routing routing,
                            std::uint32_t seed) {
  std::mt19937 random(seed);
  MoeProblem problem;
  problem.tokens = tokens;
  problem.choices = random_choices(spec, tokens, routing, seed + 1);
  problem.x = normals(spec.activation, tokens * spec.shape.hidden, x_deviation(spec), random);
  if (spec.epilogue.bias) {
    const std::int64_t rows = moe_gemms(spec).gate_up.shape.n;
    problem.gate_up_bias = normals(spec.activation, spec.device_experts() * rows, 0.5, random);
    problem.down_bias =
        normals(spec.activation, spec.device_experts() * spec.shape.hidden, 0.5, random);
  }
  problem.permutation = random_orders(spec, seed + 2);
  if (spec.epilogue.residual) {
    problem.residual = normals(spec.activation, tokens * spec.shape.hidden, 1, random);
  }
  return problem;
}

}  // namespace heddle
