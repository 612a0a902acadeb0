#include "tools/gpu_harness/attention_problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "generator/decode/float16.h"
#include "heddle/kv_cache.h"

namespace heddle {
namespace {

constexpr int kSparePages = 2;
constexpr std::uint8_t kPoison = 0xFF;

bool is_integer(KvDtype dtype) {
  return dtype == KvDtype::kInt8 || dtype == KvDtype::kInt4 || dtype == KvDtype::kInt2;
}

// Sign, exponent, mantissa; NaN and infinity do not occur.
double small_float(unsigned code, int exponent_bits, int mantissa_bits) {
  const int exponent = static_cast<int>(code >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = static_cast<int>(code) & ((1 << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double size =
      exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                    : std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  return (code >> (exponent_bits + mantissa_bits)) != 0 ? -size : size;
}

double scale_at(const std::uint8_t* bytes, DType type) {
  if (type == DType::kFp32) {
    float value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes, sizeof bits);
  return float16_to_double(float16_format(type), bits);
}

void put_scale(std::uint8_t* bytes, DType type, double value) {
  if (type == DType::kFp32) {
    const auto single = static_cast<float>(value);
    std::memcpy(bytes, &single, sizeof single);
    return;
  }
  const std::uint16_t bits = float16_from_double(float16_format(type), value);
  std::memcpy(bytes, &bits, sizeof bits);
}

// K or V of a problem.
class Tensor {
 public:
  Tensor(const DecodeAttentionSpec& spec, bool value)
      : tensor_(value ? spec.kv.v : spec.kv.k),
        layout_(value ? kv_cache_layout(spec.kv, spec.shape.kv_heads, spec.shape.head_dim).v
                      : kv_cache_layout(spec.kv, spec.shape.kv_heads, spec.shape.head_dim).k),
        type_(tensor_.scale_dtype.value_or(DType::kFp32)),
        bits_(kv_bits(tensor_.dtype)),
        head_dim_(spec.shape.head_dim),
        middle_(is_integer(tensor_.dtype) ? 1 << (bits_ - 1) : 0) {}

  const KvTensorLayout& layout() const { return layout_; }

  void fill_token(const AttentionProblem& problem, std::int64_t page, std::int64_t row,
                  std::mt19937& random, std::vector<std::uint8_t>& codes,
                  std::vector<std::uint8_t>& scales) const {
    for (int head = 0; head < layout_.heads; ++head) {
      fill_codes(&codes[layout_.code_offset(page, problem.page_tokens, row, head)], random);
    }
    if (layout_.scale_row_bytes == 0) return;
    for (int head = 0; head < layout_.scale_heads; ++head) {
      fill_scales(&scales[layout_.scale_offset(page, problem.page_tokens, row, head)], random);
    }
  }

  void fill_given(float* given, std::mt19937& random) const {
    given[0] = static_cast<float>(usual_scale() * 1.1);
    given[1] = static_cast<float>(zero_of(random));
  }

  // A row's values, in FP64.
  void read(const AttentionProblem& problem, const std::vector<std::uint8_t>& codes,
            const std::vector<std::uint8_t>& scales, const float* given, std::int64_t page,
            std::int64_t row, int head, std::vector<double>& values) const {
    const std::uint8_t* code = &codes[layout_.code_offset(page, problem.page_tokens, row, head)];
    const std::uint8_t* scale =
        layout_.scale_row_bytes == 0
            ? nullptr
            : &scales[layout_.scale_offset(page, problem.page_tokens, row,
                                           layout_.scale_heads == 1 ? 0 : head)];
    const int group = scale == nullptr ? head_dim_ : head_dim_ / layout_.scales_of_row;
    for (int d = 0; d < head_dim_; ++d) {
      double factor = 1;
      double zero = middle_;
      if (scale != nullptr) {
        const std::uint8_t* at = scale + d / group * scale_bytes() * (tensor_.symmetric ? 1 : 2);
        factor = scale_at(at, type_);
        if (!tensor_.symmetric) zero = scale_at(at + scale_bytes(), type_);
      } else if (tensor_.granularity == KvGranularity::kTensor) {
        factor = given[0];
        if (!tensor_.symmetric) zero = given[1];
      }
      values[static_cast<std::size_t>(d)] = (value_of(code, d) - zero) * factor;
    }
  }

 private:
  int scale_bytes() const { return type_ == DType::kFp32 ? 4 : 2; }
  double usual_scale() const {
    if (!is_integer(tensor_.dtype)) return 1;
    return 2.0 / (1 << (bits_ - 1));  // codes from -2 to 2
  }
  double zero_of(std::mt19937& random) const {
    return middle_ - 3 + static_cast<double>(random() % 6);
  }

  void fill_codes(std::uint8_t* row, std::mt19937& random) const {
    if (bits_ == 16) {
      std::normal_distribution<double> normal;
      const DType type = tensor_.dtype == KvDtype::kBf16 ? DType::kBf16 : DType::kFp16;
      for (int d = 0; d < head_dim_; ++d) put_scale(row + 2 * d, type, normal(random));
      return;
    }
    for (int i = 0; i < layout_.row_bytes; ++i) {
      auto byte = static_cast<std::uint8_t>(random() >> 16);
      // Below two, sign and all.
      if (!is_integer(tensor_.dtype)) byte &= 0xBF;
      row[i] = byte;
    }
  }
  void fill_scales(std::uint8_t* row, std::mt19937& random) const {
    std::uniform_real_distribution<double> some(0.5, 1.5);
    for (int i = 0; i < layout_.scales_of_row; ++i) {
      put_scale(row, type_, usual_scale() * some(random));
      row += scale_bytes();
      if (tensor_.symmetric) continue;
      put_scale(row, type_, zero_of(random));
      row += scale_bytes();
    }
  }
  double value_of(const std::uint8_t* row, int d) const {
    switch (tensor_.dtype) {
      case KvDtype::kFp16:
        return scale_at(row + 2 * d, DType::kFp16);
      case KvDtype::kBf16:
        return scale_at(row + 2 * d, DType::kBf16);
      case KvDtype::kFp8E4m3:
        return small_float(row[d], 4, 3);
      case KvDtype::kFp8E5m2:
        return small_float(row[d], 5, 2);
      case KvDtype::kInt4:
        return (row[d / 2] >> (4 * (d % 2))) & 15;
      case KvDtype::kInt2:
        return (row[d / 4] >> (2 * (d % 4))) & 3;
      default:
        return row[d];
    }
  }

  KvTensor tensor_;
  KvTensorLayout layout_;
  DType type_;
  int bits_;
  int head_dim_;
  int middle_;
};

struct Place {
  std::int64_t page;
  std::int64_t row;
};

Place place_of(const AttentionProblem& problem, std::size_t sequence, std::int64_t token) {
  if (problem.block_table.empty()) return {static_cast<std::int64_t>(sequence), token};
  const std::size_t at = sequence * static_cast<std::size_t>(problem.table_stride) +
                         static_cast<std::size_t>(token / problem.page_tokens);
  return {problem.block_table[at], token % problem.page_tokens};
}

void make_pages(const KvSpec& kv, std::uint32_t page_seed, AttentionProblem& problem) {
  const std::int64_t longest =
      std::max(1, *std::max_element(problem.lengths.begin(), problem.lengths.end()));
  const auto sequences = static_cast<std::int64_t>(problem.lengths.size());
  if (kv.layout == KvLayout::kContiguous) {
    problem.pages = sequences;
    problem.page_tokens = (longest + 2) / 2 * 2;
    return;
  }
  problem.page_tokens = kv.page_size;
  problem.table_stride = (longest + kv.page_size - 1) / kv.page_size + 1;
  problem.pages = sequences * problem.table_stride + kSparePages;
  std::vector<std::int32_t> order(static_cast<std::size_t>(problem.pages));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(page_seed);
  std::shuffle(order.begin(), order.end(), random);
  problem.block_table.assign(order.begin(), order.end() - kSparePages);
}

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

AttentionProblem make_attention_problem(const DecodeAttentionSpec& spec,
                                        const std::vector<std::int32_t>& lengths,
                                        std::uint32_t seed, std::uint32_t page_seed) {
  AttentionProblem problem;
  problem.lengths = lengths;
  make_pages(spec.kv, page_seed, problem);
  std::mt19937 random(seed);
  for (const bool value : {false, true}) {
    const Tensor tensor(spec, value);
    auto& codes = problem.codes[value ? 1 : 0];
    auto& scales = problem.scales[value ? 1 : 0];
    codes.assign(tensor.layout().code_bytes(problem.pages, problem.page_tokens), kPoison);
    scales.assign(tensor.layout().scale_bytes(problem.pages, problem.page_tokens), kPoison);
    tensor.fill_given(&problem.given[value ? 2 : 0], random);
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      for (std::int64_t token = 0; token < lengths[s]; ++token) {
        const Place place = place_of(problem, s, token);
        tensor.fill_token(problem, place.page, place.row, random, codes, scales);
      }
    }
  }
  std::normal_distribution<double> normal;
  const auto [heads, kv_heads, head_dim, query_len] = spec.shape;
  problem.q.resize(lengths.size() * static_cast<std::size_t>(query_len * heads * head_dim));
  for (std::uint16_t& element : problem.q) {
    element = float16_from_double(float16_format(spec.activation), 1.5 * normal(random));
  }
  for (int head = 0; head < heads; ++head) {
    problem.slopes.push_back(static_cast<float>(std::exp2(-0.25 * (head % 24 + 1))));
    problem.sinks.push_back(static_cast<float>(normal(random)));
  }
  return problem;
}

ExpectedAttention expected_attention(const DecodeAttentionSpec& spec,
                                     const AttentionProblem& problem) {
  const auto [heads, kv_heads, head_dim, query_len] = spec.shape;
  const auto dim = static_cast<std::size_t>(head_dim);
  const Tensor keys(spec, false);
  const Tensor values(spec, true);
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
        const Place at = place_of(problem, s, static_cast<std::int64_t>(token));
        keys.read(problem, problem.codes[0], problem.scales[0], problem.given.data(), at.page,
                  at.row, kv_head, row);
        std::copy(row.begin(), row.end(), k.begin() + static_cast<std::ptrdiff_t>(token * dim));
        values.read(problem, problem.codes[1], problem.scales[1], &problem.given[2], at.page,
                    at.row, kv_head, row);
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
