#include "tools/tune/informative.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "generator/planner/measured_costs.h"
#include "tools/tune/cost_fit.h"
#include "tools/tune/values.h"

namespace heddle {
namespace {

// Derivatives of log(predicted time) by the logarithm of each parameter.
Values slopes_of(const Plan& plan, const Candidate& candidate, std::int64_t m) {
  const GemmFamily& family = gemm_family_of(candidate.kernel);
  const Costs costs = costs_of(plan, family);
  Values values(costs.begin(), costs.end());
  const double us = family.predicted_us(plan, candidate.kernel, LaunchSize{m}, values);
  Values slopes;
  for (double& value : values) {
    const double own = value;
    value *= std::exp(kDifference);
    const double other = family.predicted_us(plan, candidate.kernel, LaunchSize{m}, values);
    slopes.push_back(std::log(other / us) / kDifference);
    value = own;
  }
  return slopes;
}

Values times(const Matrix& matrix, const Values& vector) {
  Values product;
  for (const Values& row : matrix) product.push_back(dot(row, vector));
  return product;
}

// What is known before anything is measured: as much as the ridge of the fit says.
Matrix unknown(std::size_t parameters) {
  Matrix covariance(parameters, Values(parameters, 0));
  for (std::size_t i = 0; i < parameters; ++i) covariance[i][i] = 1 / kCostRidge;
  return covariance;
}

// One more kernel with these slopes is to be measured (Sherman and Morrison).
void learn(Matrix* covariance, const Values& slopes) {
  const Values product = times(*covariance, slopes);
  const double scale = 1 / (1 + dot(slopes, product));
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    for (std::size_t j = 0; j < slopes.size(); ++j) {
      (*covariance)[i][j] -= scale * product[i] * product[j];
    }
  }
}

struct Choice {
  const Candidate* candidate = nullptr;
  Values slopes;
  bool is_picked = false;
};

// The candidates that may be picked, each family's fastest first among its own.
std::vector<Choice> choices_of(const Plan& plan, const std::vector<Candidate>& candidates,
                               std::int64_t m) {
  std::map<const Family*, double> fastest;
  std::vector<Choice> choices;
  for (const Candidate& one : candidates) {
    const double best = fastest.emplace(one.kernel.family, one.us).first->second;
    if (one.us > InformativeKernels::kSlowest * best) continue;
    choices.push_back({&one, slopes_of(plan, one, m)});
  }
  return choices;
}

}  // namespace

std::vector<Candidate> InformativeKernels::pick(const Plan& plan,
                                                const std::vector<Candidate>& candidates,
                                                std::int64_t m, std::size_t most) {
  std::vector<Choice> choices = choices_of(plan, candidates, m);
  std::vector<Candidate> picked;
  const auto take = [&](Choice& choice) {
    learn(&known_.at(choice.candidate->kernel.family), choice.slopes);
    choice.is_picked = true;
    picked.push_back(*choice.candidate);
  };
  std::set<const Family*> seen;
  for (Choice& choice : choices) {
    const Family* const family = choice.candidate->kernel.family;
    known_.try_emplace(family, unknown(choice.slopes.size()));
    if (seen.insert(family).second && picked.size() < most) take(choice);
  }
  while (picked.size() < std::min(most, choices.size())) {
    Choice* best = nullptr;
    double most_told = -1;
    for (Choice& choice : choices) {
      if (choice.is_picked) continue;
      const auto& covariance = known_.at(choice.candidate->kernel.family);
      const double told = dot(choice.slopes, times(covariance, choice.slopes));
      if (!(told > most_told)) continue;
      most_told = told;
      best = &choice;
    }
    if (best == nullptr) break;  // predicted times that are no numbers tell nothing
    take(*best);
  }
  return picked;
}

}  // namespace heddle
