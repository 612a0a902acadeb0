// RowTransformSpec: operations on the rows of a matrix, between GEMMs and attention.
//
// docs/kv-caches-and-attention.md has the formulas, their rounding and what may alias.
#pragma once

#include <cstdint>
#include <optional>

#include "heddle/dtype.h"

namespace heddle {

enum class Activation;

// kRms: s / sqrt(mean(s^2) + epsilon) * (weight + weight_offset).
// kLayer: (s - mean(s)) / sqrt(variance(s) + epsilon) * (weight + weight_offset) + bias.
enum class NormType { kNone, kRms, kLayer };
// How a row of X holds what an activation takes and what multiplies it.
enum class GateOrder {
  kNone,         // [columns]: y = activation(x)
  kHalves,       // [2 * columns], gates first: y = activation(gate) * up
  kInterleaved,  // [2 * columns], gate 0, up 0, gate 1, up 1 ...: the same
};

// What a row is stored in. kFp8E4m3 and kFp8E5m2 are OCP FP8: e4m3 has no infinities.
enum class RowDtype { kFp16, kBf16, kInt8, kFp8E4m3, kFp8E5m2 };
// Values of Y that share a scale.
enum class RowGranularity {
  kNone,    // 16 bits have no scale
  kTensor,  // all of Y: a scale that the launch is given
  kToken,   // a row
  kGroup,   // kRowGroup columns of a row; the last group of a row may have fewer
};
// The type of the scales that are found. kE8m0: 2^(code - 127), 255 is NaN.
enum class RowScaleDtype { kFp32, kE8m0 };
// For kGroup, with G groups in a row and strides S of the launch.
enum class ScaleLayout {
  kRowMajor,     // [m][S >= G]
  kColumnMajor,  // FP32: [G][S >= m]; E8M0: [ceil(G / 4)][S >= m] words of four groups, 0 behind G
};

inline constexpr int kRowGroup = 128;  // columns that share a scale of RowGranularity::kGroup

// The row's type of 16 bits. Precondition: kFp16 or kBf16.
constexpr RowDtype row_dtype(DType dtype) noexcept { return static_cast<RowDtype>(dtype); }
// Bytes of an element.
constexpr int bytes_of(RowDtype dtype) noexcept {
  return dtype == RowDtype::kFp16 || dtype == RowDtype::kBf16 ? 2 : 1;
}

struct RowShape {
  std::int64_t columns = 0;  // of Y
  std::int64_t m_min = 1;    // rows
  std::int64_t m_max = 65536;
};

struct NormSpec {
  NormType type = NormType::kNone;
  std::optional<float> epsilon{};  // set exactly where there is a norm
  int weight_offset = 0;           // 0 or 1
  bool bias = false;               // of kLayer
};

struct GateSpec {
  GateOrder order = GateOrder::kNone;
  Activation activation{};  // Activation::kNone
};

// How Y is stored. The values that are rounded to 8 bits are FP32: they are not rounded before.
struct RowOutputSpec {
  RowDtype dtype{};                                    // 16 bits: that of the input
  RowGranularity granularity = RowGranularity::kNone;  // kNone exactly with 16 bits
  bool symmetric = true;  // false, of kInt8 with kToken: a zero point for each row
  RowScaleDtype scale_dtype = RowScaleDtype::kFp32;  // kE8m0 of FP8 with kGroup
  ScaleLayout scale_layout = ScaleLayout::kRowMajor;
  // Values of 8 bits are multiplied by a factor of their column first: 1 / s of SmoothQuant's
  // smoothing factors s.
  bool pre_scale = false;

  bool is_quantized() const noexcept { return bytes_of(dtype) == 1; }
};

// A norm of X or of X + residual, a gate or activation, or neither where Y has 8 bits.
struct RowTransformSpec {
  RowShape shape;
  DType input{};          // kFp16 or kBf16: X, the residual, weight and bias
  bool residual = false;  // the norm is of s = X + residual, rounded, which replaces the residual
  NormSpec norm;
  GateSpec gate;
  RowOutputSpec output;

  // Columns of X.
  std::int64_t x_columns() const noexcept {
    return gate.order == GateOrder::kNone ? shape.columns : 2 * shape.columns;
  }
  // Groups of a row of Y.
  std::int64_t groups() const noexcept { return (shape.columns + kRowGroup - 1) / kRowGroup; }
};

}  // namespace heddle
