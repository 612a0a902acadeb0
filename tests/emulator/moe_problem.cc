#include "tests/emulator/moe_problem.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <utility>

#include "generator/decode/float16.h"
#include "heddle/weights.h"
#include "tests/emulator/gemm_problem.h"
#include "tools/gpu_harness/numbers/activated.h"
#include "tools/gpu_harness/numbers/random_weights.h"

namespace heddle {
namespace {

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

// The experts that tokens choose of.
std::vector<std::int32_t> experts_of(const MoeSpec& spec, EmulatedRouting routing) {
  const MoeShape& shape = spec.shape;
  const auto is_local = [&](std::int32_t id) {
    return id >= shape.first_expert && id < shape.first_expert + spec.local_experts();
  };
  std::vector<std::int32_t> all(index(shape.experts));
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::int32_t> chosen;
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen), [&](std::int32_t id) {
    switch (routing) {
      case EmulatedRouting::kUniform:
      case EmulatedRouting::kNoExperts:
        return true;
      case EmulatedRouting::kOne:
        return is_local(id);
      case EmulatedRouting::kEveryOther:
        return id % 2 == 1;
      case EmulatedRouting::kElsewhere:
        return !is_local(id);
    }
    return false;
  });
  const auto fewest = index(shape.top_k);
  if (routing == EmulatedRouting::kElsewhere) {
    // Numbers beyond the model's experts where it has no other device's.
    for (auto id = static_cast<std::int32_t>(shape.experts); chosen.size() < fewest; ++id) {
      chosen.push_back(id);
    }
  }
  return chosen.size() < fewest ? all : chosen;
}

// Added to the logits of experts, so that few tokens choose others.
std::vector<double> preferences_of(const MoeSpec& spec, EmulatedRouting routing) {
  constexpr double kOthers = -100;
  const std::vector<std::int32_t> liked = experts_of(spec, routing);
  std::vector<double> preferences(index(spec.shape.experts), kOthers);
  for (const std::int32_t id : liked) preferences[index(id)] = 0;
  return preferences;
}

double dot(const double* a, const double* b, std::int64_t count) {
  return std::inner_product(a, a + count, b, 0.0);
}

}  // namespace

EmulatedChoices emulated_choices(const MoeSpec& spec, std::int64_t tokens, EmulatedRouting routing,
                                 unsigned seed) {
  if (spec.router.chooses()) {
    RoutedTokens routed =
        routed_tokens(spec, emulated_router(spec), tokens, preferences_of(spec, routing),
                      routing == EmulatedRouting::kOne, seed);
    return {std::move(routed.ids), std::move(routed.weights), std::move(routed.logits),
            random_shared_gates(spec, tokens, seed)};
  }
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> weight(0.1F, 1.0F);
  std::vector<std::int32_t> experts = experts_of(spec, routing);
  EmulatedChoices choices;
  choices.shared_gates = random_shared_gates(spec, tokens, seed);
  for (std::int64_t token = 0; token < tokens; ++token) {
    if (routing != EmulatedRouting::kOne || token == 0) {
      std::shuffle(experts.begin(), experts.end(), random);
    }
    for (std::int64_t choice = 0; choice < spec.shape.top_k; ++choice) {
      std::int32_t id = experts[index(choice)];
      if (routing == EmulatedRouting::kNoExperts && (token + choice) % 2 == 0) {
        id = choice % 4 < 2 ? -1 : std::numeric_limits<std::int32_t>::max();
      }
      choices.ids.push_back(id);
      choices.weights.push_back(weight(random));
    }
  }
  return choices;
}

EmulatedChoices EmulatedChoices::of_token(std::int64_t token, const MoeSpec& spec) const {
  const auto slice = [&](const auto& values, std::int64_t size) {
    using Values = std::decay_t<decltype(values)>;
    if (values.empty()) return Values{};
    return Values(values.begin() + token * size, values.begin() + (token + 1) * size);
  };
  return {slice(ids, spec.shape.top_k), slice(weights, spec.shape.top_k),
          slice(logits, spec.shape.experts * bytes_of(spec.router.logits)), slice(shared_gates, 1)};
}

RouterVectors emulated_router(const MoeSpec& spec) { return random_router_vectors(spec, 105); }

EmulatedChoices uneven_choices(const std::vector<int>& expert_tokens, unsigned seed) {
  EmulatedChoices choices;
  for (std::size_t expert = 0; expert < expert_tokens.size(); ++expert) {
    choices.ids.insert(choices.ids.end(), index(expert_tokens[expert]),
                       static_cast<std::int32_t>(expert));
  }
  std::mt19937 random(seed);
  std::shuffle(choices.ids.begin(), choices.ids.end(), random);
  choices.weights.assign(choices.ids.size(), 0.75F);
  return choices;
}

EmulatedMoe::EmulatedMoe(const MoeSpec& spec) : spec_(spec), gemms_(moe_gemms(spec)) {
  const auto add = [](const GemmSpec& gemm, unsigned seed, std::vector<std::uint8_t>* packed,
                      std::vector<std::vector<double>>* values) {
    const QuantizedWeights weights =
        random_weights({gemm.shape.n, gemm.shape.k}, gemm.weight, seed);
    const std::vector<std::uint8_t> bytes = pack_weights(gemm, weights);
    packed->insert(packed->end(), bytes.begin(), bytes.end());
    values->push_back(plain_weights(gemm, weights));
  };
  const std::int64_t experts = spec.device_experts();
  for (unsigned expert = 0; expert < experts; ++expert) {
    add(gemms_.gate_up, 2 * expert + 1, &gate_up, &gate_up_numbers_);
    add(gemms_.down, 2 * expert + 2, &down, &down_numbers_);
  }
  const std::int64_t elements = spec.shape.tokens_max * spec.shape.hidden;
  x = random_values(elements, spec.activation, 101);
  if (spec.epilogue.bias) {
    gate_up_bias = random_values(experts * gemms_.gate_up.shape.n, spec.activation, 102);
    down_bias = random_values(experts * spec.shape.hidden, spec.activation, 103);
  }
  permutation = random_orders(spec, 106);
  if (spec.router.chooses()) router = emulated_router(spec);
  if (spec.epilogue.residual) residual = random_values(elements, spec.activation, 104);
}

std::vector<double> EmulatedMoe::output(std::int64_t expert, std::int64_t token,
                                        double input_weight) const {
  const Float16Format format = float16_format(spec_.activation);
  const auto number = [&](std::uint16_t bits) { return float16_to_double(format, bits); };
  const std::int64_t hidden = spec_.shape.hidden;
  const std::int64_t columns = spec_.shape.intermediate;
  const std::int64_t n = gemms_.gate_up.shape.n;
  std::vector<double> row;
  for (const std::uint16_t bits :
       in_order_of(spec_, permutation, expert, x.data() + index(token * hidden))) {
    row.push_back(number(bits));
  }
  const auto sum = [&](std::int64_t of) {
    const double* const w = gate_up_numbers_[index(expert)].data() + of * hidden;
    const double s = input_weight * dot(row.data(), w, hidden);
    return spec_.epilogue.bias ? s + number(gate_up_bias[index(expert * n + of)]) : s;
  };
  std::vector<double> middle;
  for (std::int64_t i = 0; i < columns; ++i) {
    const double value = spec_.epilogue.gated
                             ? activated(gemms_.gate_up.epilogue, sum(i), sum(columns + i))
                             : activated(spec_.epilogue.activation, sum(i));
    middle.push_back(number(float16_from_double(format, value)));
  }
  std::vector<double> outputs;
  for (std::int64_t i = 0; i < hidden; ++i) {
    const double s = dot(middle.data(), down_numbers_[index(expert)].data() + i * columns, columns);
    outputs.push_back(spec_.epilogue.bias ? s + number(down_bias[index(expert * hidden + i)]) : s);
  }
  return outputs;
}

std::vector<double> EmulatedMoe::expected(const EmulatedChoices& choices) const {
  const bool weighs_input = spec_.routing_weight == RoutingWeight::kInput;
  const std::int64_t hidden = spec_.shape.hidden;
  const auto tokens = static_cast<std::int64_t>(choices.ids.size()) / spec_.shape.top_k;
  std::vector<double> y = numbers(residual, spec_.activation);
  y.resize(index(tokens * hidden));
  for (const ExpertUse& use :
       expert_uses(spec_, choices.ids, choices.weights, choices.shared_gates)) {
    const std::vector<double> outputs =
        output(use.expert, use.token, weighs_input ? use.weight : 1);
    for (std::int64_t i = 0; i < hidden; ++i) {
      y[index(use.token * hidden + i)] += (weighs_input ? 1 : use.weight) * outputs[index(i)];
    }
  }
  return y;
}

}  // namespace heddle
