#include "generator/kv/head_norm.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

namespace heddle {
namespace {

constexpr int kRun = 8;  // elements that a lane has in a row; it has two runs

// The first element of a lane's run.
int first_of_run(int span, int lane, int run) {
  return 2 * kRun * lane < span ? kRun * lane + run * (span / 2) : 2 * kRun * lane + kRun * run;
}

// Each lane adds its own squares, then lanes add each other's sums in a butterfly.
float sum_of_squares(int span, int elements, const float* row) {
  std::vector<float> sums(std::bit_ceil(static_cast<unsigned>(elements / (2 * kRun))), 0.0F);
  for (int lane = 0; lane < elements / (2 * kRun); ++lane) {
    float& sum = sums[static_cast<std::size_t>(lane)];
    for (int run = 0; run < 2; ++run) {
      const int first = first_of_run(span, lane, run);
      for (int i = first; i < first + kRun; ++i) sum = std::fma(row[i], row[i], sum);
    }
  }
  for (std::size_t count = sums.size(); count > 1; count /= 2) {
    for (std::size_t i = 0; i < count / 2; ++i) sums[i] = sums[2 * i] + sums[2 * i + 1];
  }
  return sums[0];
}

}  // namespace

void normalize_head(const HeadNorm& norm, int span, const std::vector<float>& weights, float* row) {
  const int elements = static_cast<int>(weights.size());
  const float sum = sum_of_squares(span, elements, row);
  const float mean = std::fma(sum, 1.0F / static_cast<float>(elements), *norm.epsilon);
  const float root = std::sqrt(mean);
  const float factor = root > std::numeric_limits<float>::max() ? 0.0F : 1.0F / root;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const float normal = row[i] * factor;
    row[i] = normal * (weights[i] + static_cast<float>(norm.weight_offset));
  }
}

}  // namespace heddle
