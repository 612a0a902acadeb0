#include "tools/gpu_harness/operations/decode_attention/tensor.h"

#include <cmath>
#include <cstring>

#include "generator/decode/float16.h"
#include "generator/kv/kv_rule.h"

namespace heddle {
namespace {

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
  if (type == DType::kE4m3) return small_float(*bytes, 4, 3);
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

}  // namespace

TokenPlace place_of(const AttentionProblem& problem, std::size_t sequence, std::int64_t token) {
  if (problem.block_table.empty()) return {static_cast<std::int64_t>(sequence), token};
  const std::size_t at = sequence * static_cast<std::size_t>(problem.table_stride) +
                         static_cast<std::size_t>(token / problem.page_tokens);
  return {problem.block_table[at], token % problem.page_tokens};
}

AttentionTensor::AttentionTensor(const DecodeAttentionSpec& spec, bool value)
    : index_(value ? 1 : 0),
      tensor_(value ? spec.kv.v : spec.kv.k),
      layout_(value ? kv_cache_layout(spec.kv, spec.shape.kv_heads, spec.shape.head_dim).v
                    : kv_cache_layout(spec.kv, spec.shape.kv_heads, spec.shape.head_dim).k),
      type_(tensor_.scale_dtype.value_or(DType::kFp32)),
      activation_(spec.activation),
      bits_(kv_bits(tensor_.dtype)),
      head_dim_(spec.shape.head_dim),
      middle_(is_integer(tensor_.dtype) ? 1 << (bits_ - 1) : 0) {}

void AttentionTensor::fill_token(std::size_t sequence, std::int64_t token, std::mt19937& random,
                                 AttentionProblem& problem) const {
  const TokenPlace place = place_of(problem, sequence, token);
  for (int head = 0; head < layout_.heads; ++head) {
    if (const std::uint16_t* row = row_in_window(problem, sequence, token, head)) {
      std::normal_distribution<double> normal;
      auto* element = &problem.residual[static_cast<std::size_t>(row - problem.residual.data())];
      for (int d = 0; d < head_dim_; ++d) {
        element[d] = float16_from_double(float16_format(activation_), normal(random));
      }
      continue;
    }
    fill_codes(&problem.codes[index_][code_offset(problem, place, head)], random);
  }
  if (layout_.scale_row_bytes == 0 || place.row % layout_.scale_tokens != 0) return;
  if (row_in_window(problem, sequence, token, 0) != nullptr) return;
  for (int head = 0; head < layout_.scale_heads; ++head) {
    fill_scales(&problem.scales[index_][scale_offset(problem, place, head)], random);
  }
}

void AttentionTensor::fill_given(std::mt19937& random, AttentionProblem& problem) const {
  problem.given[2 * index_] = static_cast<float>(usual_scale() * 1.1);
  problem.given[2 * index_ + 1] = static_cast<float>(zero_of(random));
}

void AttentionTensor::read(const AttentionProblem& problem, std::size_t sequence,
                           std::int64_t token, int head, std::vector<double>& values) const {
  if (const std::uint16_t* row = row_in_window(problem, sequence, token, head)) {
    for (int d = 0; d < head_dim_; ++d) {
      values[static_cast<std::size_t>(d)] = float16_to_double(float16_format(activation_), row[d]);
    }
    return;
  }
  const TokenPlace place = place_of(problem, sequence, token);
  const std::uint8_t* code = &problem.codes[index_][code_offset(problem, place, head)];
  const std::uint8_t* scale = nullptr;
  if (layout_.scale_row_bytes != 0) {
    const int scale_head = layout_.scale_heads == 1 ? 0 : head;
    scale = &problem.scales[index_][scale_offset(problem, place, scale_head)];
  }
  const int group = scale == nullptr ? head_dim_ : head_dim_ / layout_.scales_of_row;
  for (int d = 0; d < head_dim_; ++d) {
    double factor = takes_given(tensor_) ? problem.given[2 * index_] : 1;
    double zero = middle_;
    if (scale != nullptr) {
      const std::uint8_t* at = scale + d / group * scale_bytes() * (tensor_.symmetric ? 1 : 2);
      factor *= scale_at(at, type_);
      if (!tensor_.symmetric) zero = scale_at(at + scale_bytes(), type_);
    } else if (!tensor_.symmetric) {
      zero = problem.given[2 * index_ + 1];
    }
    values[static_cast<std::size_t>(d)] = (value_of(code, d) - zero) * factor;
  }
}

const std::uint16_t* AttentionTensor::row_in_window(const AttentionProblem& problem,
                                                    std::size_t sequence, std::int64_t token,
                                                    int head) const {
  if (layout_.residual_row_bytes == 0) return nullptr;
  const std::int64_t length = problem.lengths[sequence];
  if (token < length / layout_.scale_tokens * layout_.scale_tokens) return nullptr;
  const std::int64_t slot = problem.residual_slots.empty() ? static_cast<std::int64_t>(sequence)
                                                           : problem.residual_slots[sequence];
  return &problem.residual[layout_.residual_offset(slot, token, head) / 2];
}

std::size_t AttentionTensor::code_offset(const AttentionProblem& problem, TokenPlace place,
                                         int head) const {
  return layout_.code_offset(place.page, problem.page_tokens, place.row, head);
}

std::size_t AttentionTensor::scale_offset(const AttentionProblem& problem, TokenPlace place,
                                          int head) const {
  return layout_.scale_offset(place.page, problem.page_tokens, place.row, head);
}

double AttentionTensor::usual_scale() const {
  if (tensor_.dtype == KvDtype::kNvfp4) return 0.5;
  if (!is_integer(tensor_.dtype)) return 1;
  return 2.0 / (1 << (bits_ - 1));  // codes from -2 to 2
}

double AttentionTensor::zero_of(std::mt19937& random) const {
  return middle_ - 3 + static_cast<double>(random() % 6);
}

void AttentionTensor::fill_codes(std::uint8_t* row, std::mt19937& random) const {
  if (bits_ == 16) {
    std::normal_distribution<double> normal;
    const DType type = tensor_.dtype == KvDtype::kBf16 ? DType::kBf16 : DType::kFp16;
    for (int d = 0; d < head_dim_; ++d) put_scale(row + 2 * d, type, normal(random));
    return;
  }
  const bool is_fp8 = tensor_.dtype == KvDtype::kFp8E4m3 || tensor_.dtype == KvDtype::kFp8E5m2;
  for (int i = 0; i < layout_.row_bytes; ++i) {
    auto byte = static_cast<std::uint8_t>(random() >> 16);
    // Below two, sign and all.
    if (is_fp8) byte &= 0xBF;
    row[i] = byte;
  }
}

void AttentionTensor::fill_scales(std::uint8_t* row, std::mt19937& random) const {
  if (type_ == DType::kE4m3) {
    // Below two; an eighth of them zero or subnormal.
    for (int i = 0; i < layout_.scales_of_row; ++i) row[i] = (random() >> 16) & 0x3F;
    return;
  }
  std::uniform_real_distribution<double> some(0.5, 1.5);
  for (int i = 0; i < layout_.scales_of_row; ++i) {
    put_scale(row, type_, usual_scale() * some(random));
    row += scale_bytes();
    if (tensor_.symmetric) continue;
    put_scale(row, type_, zero_of(random));
    row += scale_bytes();
  }
}

double AttentionTensor::value_of(const std::uint8_t* row, int d) const {
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
    case KvDtype::kNvfp4:
      return small_float((row[d / 2] >> (4 * (d % 2))) & 15U, 2, 1);
    case KvDtype::kInt2:
      return (row[d / 4] >> (2 * (d % 4))) & 3;
    default:
      return row[d];
  }
}

}  // namespace heddle
