// GemmSpec: Y[M, N] = X[M, K] * W[N, K]^T, what is done to Y, and how.
#pragma once

#include <cstdint>
#include <optional>

#include "heddle/dtype.h"
#include "heddle/row_spec.h"
#include "heddle/weight_spec.h"

namespace heddle {

inline constexpr std::int64_t kDefaultMaxM = 65536;  // shape.m is [1, kDefaultMaxM] when absent

// kRelu2: the square of kRelu. A gated kSilu with a limit takes g = min(gate, limit) for the gate
// and u = clamp(up, -limit, limit) for the up (DeepSeek V4). kClampedSwiglu, of gated epilogues
// only, is gpt-oss's: (u + 1) * g * sigmoid(1.702 * g). kSitu, of gated epilogues only, is Kimi
// K3's: with t(x, b) = b * tanh(x / b) it is t(gate, gate_limit) * sigmoid(gate) * t(up, limit).
enum class Activation { kNone, kRelu, kGelu, kGeluTanh, kSilu, kRelu2, kClampedSwiglu, kSitu };
// Which generation's instructions the kernel uses; with kAuto any that the target has.
enum class Path {
  kAuto,
  kTuring,  // mma.m16n8k8, of INT8 m8n8k16, loads through registers: sm_75 and up; FP16 and INT8
  kAmpere,  // mma.m16n8k16, cp.async pipeline: sm_80 and up
  kHopper,  // bulk copies and mbarriers: sm_90 and up; wgmma: sm_90
};

struct GemmShape {
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t m_min = 1;
  std::int64_t m_max = kDefaultMaxM;
};

// Every field that is set is honoured or refused by resolve(); the planner fills the others.
// A tile that is set applies to every M range.
struct TileSpec {
  std::optional<int> m;        // tokens per block
  std::optional<int> n;        // rows of W per block
  std::optional<int> k;        // K per pipeline stage
  std::optional<int> stages;   // pipeline stages
  std::optional<int> split_k;  // blocks that share one output tile
  std::optional<int> warps_m;  // warps of a block along M, N and K
  std::optional<int> warps_n;
  std::optional<int> warps_k;
};

// Y = activation(X W^T + bias) + residual, in FP32, then one rounding. Gated: the first N / 2 rows
// of W are gates, the others are what they multiply ("up"); with S = X W^T + bias, Y[m, n] =
// activation(S[m, n]) * S[m, N / 2 + n] + residual[m, n], and Y and the residual are [M, N / 2].
// Packed weights then hold 8 gates and their 8 ups in each block of 16 rows.
struct EpilogueSpec {
  bool bias = false;  // [N], GemmSpec::bias_dtype()
  Activation activation = Activation::kNone;
  bool residual = false;  // of Y's shape, GemmSpec::residual_dtype()
  bool gated = false;     // N is a multiple of 16
  int limit = 0;       // kClampedSwiglu requires one, a gated kSilu or kSitu may have one; 0: none
  int gate_limit = 0;  // of kSitu, where it is required
};

// How X of eight bits was quantised: a value is the code, less its row's zero point, times the
// scale. Members are those of RowOutputSpec; scales of kGroup are in ScaleLayout::kColumnMajor.
struct ActivationScaleSpec {
  RowGranularity granularity = RowGranularity::kNone;  // kNone exactly with 16 bits
  bool symmetric = true;  // false, of kInt8 with kToken: a zero point for each row
  RowScaleDtype scale_dtype = RowScaleDtype::kFp32;  // kE8m0 with kGroup
};

// How Y of eight bits is quantised: as row_transform does it. Scales of kGroup are in
// ScaleLayout::kColumnMajor.
struct OutputScaleSpec {
  RowGranularity granularity = RowGranularity::kNone;  // kNone exactly with 16 and 32 bits
  RowScaleDtype scale_dtype = RowScaleDtype::kFp32;    // kE8m0 of FP8 with kGroup
};

// How products of FP8 are added. The tensor cores of sm_90 keep some 14 bits of a sum.
enum class Accumulation {
  kPromoted,  // the sums of at most 128 columns are added in FP32
  kFast,      // the sums of all of K stay in the tensor cores
};

struct GemmSpec {
  GemmShape shape;
  WeightSpec weight;
  DType activation = DType::kFp16;  // kFp16, kBf16 or one of eight bits: X
  ActivationScaleSpec activation_scale{};
  Accumulation accumulation = Accumulation::kPromoted;
  // Y: kFp16, kBf16, kFp32 or eight bits. The activation's where absent, which no X of eight bits
  // allows.
  std::optional<DType> output{};
  OutputScaleSpec output_scale{};
  // What the matrix instruction multiplies. The activation's where absent: resolve() refuses
  // others.
  std::optional<DType> multiply{};
  bool pre_scale = false;  // column k of X is multiplied by a factor of its own first
  bool act_order = false;  // packed column j of W is column permutation[j] of X
  TileSpec tile;
  EpilogueSpec epilogue;
  bool deterministic = true;
  bool batch_invariant = false;  // a token's bits of Y do not depend on the launch's other tokens
  Path path = Path::kAuto;

  // Whether X has eight bits. Bias and residual are then of Y's type where that has more.
  bool has_byte_activations() const noexcept { return is_byte(activation); }
  bool has_byte_output() const noexcept { return is_byte(output_dtype()); }
  DType output_dtype() const noexcept { return output.value_or(activation); }
  // FP32 where neither X nor Y has more than eight bits.
  DType bias_dtype() const noexcept {
    if (!has_byte_activations()) return activation;
    return has_byte_output() ? DType::kFp32 : output_dtype();
  }
  DType residual_dtype() const noexcept {
    return has_byte_output() ? bias_dtype() : output_dtype();
  }
  DType multiply_dtype() const noexcept { return multiply.value_or(activation); }
  // Columns of Y.
  std::int64_t output_columns() const noexcept { return epilogue.gated ? shape.n / 2 : shape.n; }
  // Groups of a row of Y.
  std::int64_t output_groups() const noexcept {
    return (output_columns() + kRowGroup - 1) / kRowGroup;
  }
};

}  // namespace heddle
