#include "tools/gpu_harness/operations/moe/choice.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>

#include "generator/decode/float16.h"

namespace heddle {
namespace {

std::size_t place(std::int64_t value) { return static_cast<std::size_t>(value); }

// A kernel's scores are that near to those in FP64, relatively.
constexpr double kRounding = 1e-5;
bool differ(double a, double b) {
  return std::abs(a - b) > kRounding * std::max(std::abs(a), std::abs(b));
}

// One token: its scores, and by what it chooses.
class Choosing {
 public:
  Choosing(const MoeSpec& spec, const RouterVectors& vectors, const double* logits)
      : router_(spec.router),
        top_k_(place(spec.shape.top_k)),
        logits_(logits, logits + spec.shape.experts),
        vectors_(vectors) {
    constexpr double kLargest = std::numeric_limits<float>::max();
    for (double& logit : logits_) {
      logit = std::isnan(logit) ? -kLargest : std::clamp(logit, -kLargest, kLargest);
    }
    compute_scores();
    const bool has_bias = !vectors.correction_bias.empty();
    compares_scores_ = has_bias || sums_two();
    by_ = compares_scores_ ? scores_ : logits_;
    for (std::size_t i = 0; has_bias && i < by_.size(); ++i) by_[i] += vectors.correction_bias[i];
  }

  RouterChoice choose() {
    std::vector<std::int32_t> order;
    const std::vector<bool> is_open = open_groups();
    for (std::size_t i = 0; i < by_.size(); ++i) {
      if (is_open[i / group_experts()]) order.push_back(static_cast<std::int32_t>(i));
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int32_t a, std::int32_t b) { return by_[place(a)] > by_[place(b)]; });
    for (std::size_t i = 0; i < top_k_ && i + 1 < order.size(); ++i) {
      check(place(order[i]), place(order[i + 1]));
    }
    order.resize(top_k_);
    choice_.ids = order;
    double sum = 0;
    for (const std::int32_t id : order) sum += scores_[place(id)];
    for (const std::int32_t id : order) {
      double weight = scores_[place(id)];
      if (router_.renormalize) weight /= sum + 1e-20;
      weight *= static_cast<double>(router_.scaling_factor);
      if (!vectors_.expert_scales.empty()) weight *= vectors_.expert_scales[place(id)];
      choice_.weights.push_back(weight);
    }
    return choice_;
  }

 private:
  bool sums_two() const { return router_.groups > 1 && router_.group_score == GroupScore::kTopTwo; }
  std::size_t group_experts() const { return by_.size() / place(router_.groups); }

  void compute_scores() {
    const double most = *std::max_element(logits_.begin(), logits_.end());
    double sum = 0;
    for (const double logit : logits_) sum += std::exp(logit - most);
    for (const double logit : logits_) {
      switch (router_.scores) {
        case RouterScores::kSoftmax:
          scores_.push_back(std::exp(logit - most) / sum);
          break;
        case RouterScores::kSigmoid:
          scores_.push_back(1 / (1 + std::exp(-logit)));
          break;
        case RouterScores::kSqrtSoftplus:
          scores_.push_back(
              std::sqrt(std::max(logit, 0.0) + std::log1p(std::exp(-std::abs(logit)))));
          break;
        case RouterScores::kNone:
          throw std::logic_error("a spec without logits chooses no experts");
      }
    }
  }

  // Experts that are alike are ordered by their ids, and logits exactly.
  void check(std::size_t a, std::size_t b) {
    const bool are_alike = logits_[a] == logits_[b] && (by_[a] == by_[b]);
    if (compares_scores_ && !are_alike && !differ(by_[a], by_[b])) choice_.is_certain = false;
  }

  std::vector<bool> open_groups() {
    const std::size_t groups = place(router_.groups);
    std::vector<bool> is_open(groups, groups == 1);
    if (groups == 1) return is_open;
    struct Group {
      double score;
      std::size_t number;
    };
    std::vector<Group> order;
    for (std::size_t g = 0; g < groups; ++g) {
      std::vector<double> best(
          by_.begin() + static_cast<std::ptrdiff_t>(g * group_experts()),
          by_.begin() + static_cast<std::ptrdiff_t>((g + 1) * group_experts()));
      std::sort(best.rbegin(), best.rend());
      order.push_back({sums_two() ? best[0] + best[1] : best[0], g});
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const Group& a, const Group& b) { return a.score > b.score; });
    const std::size_t top = place(router_.top_groups);
    for (std::size_t i = 0; i < top; ++i) is_open[order[i].number] = true;
    if (top < groups && compares_scores_ && order[top - 1].score != order[top].score &&
        !differ(order[top - 1].score, order[top].score)) {
      choice_.is_certain = false;
    }
    return is_open;
  }

  const RouterSpec& router_;
  const std::size_t top_k_;
  std::vector<double> logits_;
  const RouterVectors& vectors_;
  std::vector<double> scores_;
  std::vector<double> by_;  // experts are chosen by them
  bool compares_scores_ = false;
  RouterChoice choice_;
};

}  // namespace

RouterVectors random_router_vectors(const MoeSpec& spec, std::uint32_t seed) {
  std::mt19937 random(seed);
  RouterVectors vectors;
  // Of the size of scores, so that both decide.
  const float size = spec.router.scores == RouterScores::kSoftmax
                         ? 4.0F / static_cast<float>(spec.shape.experts)
                         : 0.5F;
  std::uniform_real_distribution<float> bias(-size, size);
  std::uniform_real_distribution<float> scale(0.5F, 2.0F);
  for (std::int64_t i = 0; i < spec.shape.experts; ++i) {
    if (spec.router.correction_bias) vectors.correction_bias.push_back(bias(random));
    if (spec.router.expert_scales) vectors.expert_scales.push_back(scale(random));
  }
  return vectors;
}

RouterChoice router_choice(const MoeSpec& spec, const RouterVectors& vectors,
                           const double* logits) {
  return Choosing(spec, vectors, logits).choose();
}

RoutedTokens routed_tokens(const MoeSpec& spec, const RouterVectors& vectors, std::int64_t tokens,
                           const std::vector<double>& preferences, bool alike, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 2);
  RoutedTokens routed;
  std::vector<std::uint8_t> stored;
  RouterChoice choice;
  for (std::int64_t token = 0; token < tokens; ++token) {
    if (token == 0 || !alike) {
      do {
        std::vector<double> logits = preferences;
        for (double& logit : logits) logit += normal(random);
        stored = stored_logits(spec.router.logits, logits);
        choice = router_choice(spec, vectors, logit_values(spec.router.logits, stored).data());
      } while (!choice.is_certain);
    }
    routed.logits.insert(routed.logits.end(), stored.begin(), stored.end());
    routed.ids.insert(routed.ids.end(), choice.ids.begin(), choice.ids.end());
    for (const double weight : choice.weights) {
      routed.weights.push_back(static_cast<float>(weight));
    }
  }
  return routed;
}

std::vector<float> random_shared_gates(const MoeSpec& spec, std::int64_t tokens,
                                       std::uint32_t seed) {
  if (!spec.shared_gate) return {};
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> gates(static_cast<std::size_t>(tokens));
  for (float& gate : gates) gate = normal(random);
  return gates;
}

std::vector<std::int32_t> random_orders(const MoeSpec& spec, std::uint32_t seed) {
  if (!spec.act_order) return {};
  std::mt19937 random(seed);
  std::vector<std::int32_t> one(static_cast<std::size_t>(spec.shape.hidden));
  std::iota(one.begin(), one.end(), 0);
  std::vector<std::int32_t> orders;
  for (std::int64_t expert = 0; expert < spec.device_experts(); ++expert) {
    std::shuffle(one.begin(), one.end(), random);
    orders.insert(orders.end(), one.begin(), one.end());
  }
  return orders;
}

std::vector<std::uint16_t> in_order_of(const MoeSpec& spec, const std::vector<std::int32_t>& orders,
                                       std::int64_t expert, const std::uint16_t* token) {
  std::vector<std::uint16_t> columns(token, token + spec.shape.hidden);
  if (orders.empty()) return columns;
  const auto order = orders.begin() + static_cast<std::ptrdiff_t>(expert * spec.shape.hidden);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i] = token[order[static_cast<std::ptrdiff_t>(i)]];
  }
  return columns;
}

std::vector<ExpertUse> expert_uses(const MoeSpec& spec, const std::vector<std::int32_t>& ids,
                                   const std::vector<float>& weights,
                                   const std::vector<float>& shared_gates) {
  const auto top_k = static_cast<std::size_t>(spec.shape.top_k);
  std::vector<ExpertUse> uses;
  for (std::size_t begin = 0; begin < ids.size(); begin += top_k) {
    const std::size_t token = begin / top_k;
    const auto add = [&](std::int64_t expert, double weight) {
      uses.push_back({static_cast<std::int64_t>(token), expert, weight});
    };
    for (std::size_t i = begin; i < begin + top_k; ++i) {
      const std::int64_t local = ids[i] - spec.shape.first_expert;
      if (local >= 0 && local < spec.local_experts()) add(local, weights[i]);
    }
    const double gate = spec.shared_gate ? shared_gates[token] : 0;
    for (std::int64_t i = spec.local_experts(); i < spec.device_experts(); ++i) {
      add(i, spec.shared_gate ? 1 / (1 + std::exp(-gate)) : 1);
    }
  }
  return uses;
}

std::vector<std::uint8_t> stored_logits(DType dtype, const std::vector<double>& values) {
  const std::size_t size = place(bytes_of(dtype));
  std::vector<std::uint8_t> stored(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kFp32) {
      const auto value = static_cast<float>(values[i]);
      std::memcpy(stored.data() + size * i, &value, size);
    } else {
      const std::uint16_t value = float16_from_double(float16_format(dtype), values[i]);
      std::memcpy(stored.data() + size * i, &value, size);
    }
  }
  return stored;
}

std::vector<double> logit_values(DType dtype, const std::vector<std::uint8_t>& stored) {
  const std::size_t size = place(bytes_of(dtype));
  std::vector<double> values(stored.size() / size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kFp32) {
      float value = 0;
      std::memcpy(&value, stored.data() + size * i, size);
      values[i] = value;
    } else {
      std::uint16_t value = 0;
      std::memcpy(&value, stored.data() + size * i, size);
      values[i] = float16_to_double(float16_format(dtype), value);
    }
  }
  return values;
}

}  // namespace heddle
