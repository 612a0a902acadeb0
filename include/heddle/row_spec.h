// RowTransformSpec: operations on the rows of a matrix, between GEMMs and attention.
//
// docs/kv-caches-and-attention.md has the formulas, their rounding and what may alias.
#ifndef HEDDLE_ROW_SPEC_H_
#define HEDDLE_ROW_SPEC_H_

#include <cstdint>
#include <optional>

namespace heddle {

enum class Activation;
enum class DType;

// kRms: s / sqrt(mean(s^2) + epsilon) * (weight + weight_offset).
// kLayer: (s - mean(s)) / sqrt(variance(s) + epsilon) * (weight + weight_offset) + bias.
enum class NormType { kNone, kRms, kLayer };
// How a row of X holds what an activation takes and what multiplies it.
enum class GateOrder {
  kNone,         // [columns]: y = activation(x)
  kHalves,       // [2 * columns], gates first: y = activation(gate) * up
  kInterleaved,  // [2 * columns], gate 0, up 0, gate 1, up 1 ...: the same
};

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

// Either a norm, of X or of X + residual, or a gate or activation.
struct RowTransformSpec {
  RowShape shape;
  DType input{};          // kFp16 or kBf16: X, the residual, weight and bias
  bool residual = false;  // the norm is of s = X + residual, rounded, which replaces the residual
  NormSpec norm;
  GateSpec gate;
  DType output{};  // of Y

  // Columns of X.
  std::int64_t x_columns() const noexcept {
    return gate.order == GateOrder::kNone ? shape.columns : 2 * shape.columns;
  }
};

}  // namespace heddle

#endif  // HEDDLE_ROW_SPEC_H_
