// What must come of an AttentionProblem.
#include <algorithm>
#include <cmath>
#include <limits>

#include "generator/decode/float16.h"
#include "tools/gpu_harness/operations/decode_attention/problem.h"
#include "tools/gpu_harness/operations/decode_attention/tensor.h"

namespace heddle {
namespace {

// The slopes of the ALiBi paper.
double standard_slope(int head, int heads) {
  int below = 1;
  while (2 * below <= heads) below *= 2;
  return head < below ? std::exp2(-8.0 * (head + 1) / below)
                      : std::exp2(-4.0 * (2 * (head - below) + 1) / below);
}

double logit_of(const DecodeAttentionSpec& spec, const AttentionProblem& problem, double product,
                int head, std::int64_t distance) {
  const std::int64_t scale_dim = spec.scale_dim > 0 ? spec.scale_dim : spec.shape.head_dim;
  double logit = product / std::sqrt(static_cast<double>(scale_dim));
  if (spec.softcap > 0) {
    const auto cap = static_cast<double>(spec.softcap);
    logit = cap * std::tanh(logit / cap);
  }
  if (spec.alibi == Alibi::kNone) return logit;
  const double slope = spec.alibi == Alibi::kGiven ? problem.slopes[static_cast<std::size_t>(head)]
                                                   : standard_slope(head, spec.shape.heads);
  return logit + slope * static_cast<double>(distance);
}

bool is_seen(const DecodeAttentionSpec& spec, std::int64_t token, std::int64_t position) {
  if (token > position) return false;
  return spec.window == 0 || token > position - spec.window || token < spec.sink_tokens;
}

}  // namespace

double log_sum_limit(const DecodeAttentionSpec& spec) noexcept {
  return spec.kv.k.granularity == KvGranularity::kChannel ? 4e-3 : 1e-3;
}

ExpectedAttention expected_attention(const DecodeAttentionSpec& spec,
                                     const AttentionProblem& problem) {
  const auto [heads, kv_heads, head_dim, query_len] = spec.shape;
  const auto dim = static_cast<std::size_t>(head_dim);
  const AttentionTensor keys(spec, false);
  const AttentionTensor values(spec, true);
  const Float16Format format = float16_format(spec.activation);
  ExpectedAttention expected;
  expected.out.assign(problem.q.size(), 0);
  expected.log_sum_exp.assign(problem.q.size() / dim, -std::numeric_limits<double>::infinity());
  std::vector<double> row(dim);
  const auto group = static_cast<std::size_t>(heads / kv_heads);
  for (std::size_t s = 0; s < problem.lengths.size(); ++s) {
    for (int kv_head = 0; kv_head < kv_heads; ++kv_head) {
      const auto length = static_cast<std::size_t>(problem.lengths[s]);
      std::vector<double> k(length * dim);
      std::vector<double> v(length * dim);
      for (std::size_t token = 0; token < length; ++token) {
        const auto at = static_cast<std::int64_t>(token);
        keys.read(problem, s, at, kv_head, row);
        std::copy(row.begin(), row.end(), k.begin() + static_cast<std::ptrdiff_t>(token * dim));
        values.read(problem, s, at, kv_head, row);
        std::copy(row.begin(), row.end(), v.begin() + static_cast<std::ptrdiff_t>(token * dim));
      }
      for (std::size_t r = 0; r < group * static_cast<std::size_t>(query_len); ++r) {
        const std::size_t query = r / group;
        const std::size_t head = static_cast<std::size_t>(kv_head) * group + r % group;
        const std::size_t at =
            (s * static_cast<std::size_t>(query_len) + query) * static_cast<std::size_t>(heads) +
            head;
        const std::int64_t position =
            problem.lengths[s] - query_len + static_cast<std::int64_t>(query);
        std::vector<double> logits;
        std::vector<std::size_t> tokens;
        for (std::size_t token = 0; token < length; ++token) {
          const auto t = static_cast<std::int64_t>(token);
          if (!is_seen(spec, t, position)) continue;
          double product = 0;
          for (std::size_t d = 0; d < dim; ++d) {
            product += float16_to_double(format, problem.q[at * dim + d]) * k[token * dim + d];
          }
          logits.push_back(logit_of(spec, problem, product, static_cast<int>(head), t - position));
          tokens.push_back(token);
        }
        double most = -std::numeric_limits<double>::infinity();
        for (const double logit : logits) most = std::max(most, logit);
        double sum = 0;
        if (spec.sink_logits) {
          most = std::max(most, double{problem.sinks[head]});
          sum = std::exp(problem.sinks[head] - most);
        }
        for (std::size_t i = 0; i < logits.size(); ++i) {
          const double p = std::exp(logits[i] - most);
          sum += p;
          for (std::size_t d = 0; d < dim; ++d) {
            expected.out[at * dim + d] += p * v[tokens[i] * dim + d];
          }
        }
        if (sum == 0) continue;
        for (std::size_t d = 0; d < dim; ++d) expected.out[at * dim + d] /= sum;
        expected.log_sum_exp[at] = most + std::log(sum);
      }
    }
  }
  return expected;
}

}  // namespace heddle
