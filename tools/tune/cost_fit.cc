#include "tools/tune/cost_fit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tools/tune/values.h"

namespace heddle {
namespace {

// Residuals beyond this count linearly (Huber's loss): what the model gets wrong in a few kernels
// must not bend the parameters of all others.
constexpr double kHuber = 0.12;
constexpr int kMostSteps = 60;
constexpr int kMostTries = 8;         // of a step, with more and more damping
constexpr double kLongestStep = 0.7;  // of a value's logarithm
constexpr double kSmallGain = 1e-5;   // of the loss: the fit has converged

// A number whose square is Huber's loss.
double huber(double residual) {
  const double size = std::abs(residual);
  if (size <= kHuber) return residual;
  return std::copysign(std::sqrt(2 * kHuber * size - kHuber * kHuber), residual);
}

double sum_of_squares(const Values& values) { return dot(values, values); }

// The x with matrix * x = right, by Cholesky. Precondition: symmetric, positive definite.
Values solve(Matrix matrix, Values right) {
  const std::size_t n = right.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = matrix[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= matrix[i][k] * matrix[j][k];
      matrix[i][j] = i == j ? std::sqrt(sum) : sum / matrix[j][j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) right[i] -= matrix[i][k] * right[k];
    right[i] /= matrix[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) right[i] -= matrix[k][i] * right[k];
    right[i] /= matrix[i][i];
  }
  return right;
}

// The unknowns are changes: logarithms of the values over the current ones.
class Fit {
 public:
  Fit(const GemmFamily& family, const std::vector<WeightedKernel>& kernels, Costs current)
      : kernels_(kernels), current_(current.begin(), current.end()) {
    const std::vector<CostParameter>& parameters = family.cost_parameters();
    for (std::size_t i = 0; i < current_.size(); ++i) {
      const CostRange range = range_of(parameters[i]);
      least_.push_back(std::log(std::max(range.least / current_[i], 1 / kMostChange)));
      most_.push_back(std::log(std::min(range.most / current_[i], kMostChange)));
    }
  }

  Values run() {
    Values changes(current_.size(), 0);
    Values residuals = residuals_of(changes);
    double loss = loss_of(residuals, changes);
    double damping = 1e-2;
    for (int step = 0; step < kMostSteps; ++step) {
      const Matrix slopes = slopes_of(changes, residuals);
      const double before = loss;
      for (int attempt = 0; attempt < kMostTries && loss >= before; ++attempt) {
        Values next = moved(changes, slopes, residuals, damping);
        Values of_next = residuals_of(next);
        const double loss_of_next = loss_of(of_next, next);
        if (loss_of_next < loss) {
          changes = std::move(next);
          residuals = std::move(of_next);
          loss = loss_of_next;
          damping = std::max(damping / 5, 1e-6);
        } else {
          damping *= 8;
        }
      }
      if (before - loss <= kSmallGain * before) break;
    }
    return values_with(changes);
  }

 private:
  Values values_with(const Values& changes) const {
    Values values;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      values.push_back(current_[i] * std::exp(changes[i]));
    }
    return values;
  }

  Values residuals_of(const Values& changes) const {
    const Values values = values_with(changes);
    Values residuals;
    residuals.reserve(kernels_.size());
    for (const WeightedKernel& one : kernels_) {
      const double predicted = one.kernel->predicted_us(values);
      residuals.push_back(one.weight * huber(std::log(predicted / one.kernel->us)));
    }
    return residuals;
  }

  static double loss_of(const Values& residuals, const Values& changes) {
    return sum_of_squares(residuals) + kCostRidge * sum_of_squares(changes);
  }

  // For each unknown, the derivatives of all residuals.
  Matrix slopes_of(const Values& changes, const Values& residuals) const {
    Matrix slopes;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      Values other = changes;
      other[i] += kDifference;
      Values slope = residuals_of(other);
      for (std::size_t k = 0; k < slope.size(); ++k) {
        slope[k] = (slope[k] - residuals[k]) / kDifference;
      }
      slopes.push_back(std::move(slope));
    }
    return slopes;
  }

  // One step of Levenberg and Marquardt from there.
  Values moved(const Values& changes, const Matrix& slopes, const Values& residuals,
               double damping) const {
    const std::size_t n = changes.size();
    Matrix normal(n, Values(n));
    Values down(n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) normal[i][j] = dot(slopes[i], slopes[j]);
      normal[i][i] = (normal[i][i] + kCostRidge) * (1 + damping);
      down[i] = -dot(slopes[i], residuals) - kCostRidge * changes[i];
    }
    const Values step = solve(std::move(normal), std::move(down));
    Values next;
    for (std::size_t i = 0; i < n; ++i) {
      const double change = changes[i] + std::clamp(step[i], -kLongestStep, kLongestStep);
      next.push_back(std::clamp(change, least_[i], most_[i]));
    }
    return next;
  }

  const std::vector<WeightedKernel>& kernels_;
  const Values current_;
  Values least_, most_;  // that each change may be
};

// The value at that place, rounded up. Precondition: sorted, not empty.
double quantile_rounded_up(const Values& sorted, double part) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::ceil(part * last))];
}

}  // namespace

CostErrors cost_errors(const std::vector<TimedKernel>& kernels, Costs costs) {
  Values errors;
  for (const TimedKernel& one : kernels) {
    errors.push_back(std::abs(one.predicted_us(costs) / one.us - 1));
  }
  std::sort(errors.begin(), errors.end());
  return {kernels.size(), quantile_rounded_up(errors, 0.5), quantile_rounded_up(errors, 0.9)};
}

std::vector<double> fit_costs(const GemmFamily& family, const std::vector<WeightedKernel>& kernels,
                              Costs current) {
  return Fit(family, kernels, current).run();
}

}  // namespace heddle
