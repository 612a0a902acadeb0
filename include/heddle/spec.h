// Spec: what the user asked for, validated, typed and canonical.
//
// Parsing does no I/O and touches no CUDA. A Spec is a value: copy it, use it from any thread.
// Every field is described in docs/spec.md and by the JSON Schema of spec_schema().
#ifndef HEDDLE_SPEC_H_
#define HEDDLE_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/export.h"
#include "heddle/kv_spec.h"
#include "heddle/row_spec.h"

namespace heddle {

inline constexpr int kSpecVersion = 1;  // the value of the field "heddle"
inline constexpr int kPerChannel = -1;  // WeightSpec::group_size: one scale per row of W
inline constexpr int kPerTensor = 0;    // WeightSpec::group_size: one scale for all of W
inline constexpr int kBlockRows = 128;  // WeightSpec::group_rows of blocks
inline constexpr std::int64_t kDefaultMaxM = 65536;  // shape.m is [1, kDefaultMaxM] when absent

enum class Op {
  kGemm,
  kDequantize,
  kRepack,
  kQuantizeWeight,
  kKvAppend,
  kDecodeAttention,
  kRowTransform
};
// kE8m0 and kE4m3 are of scales only: e8m0 is 2^(code - 127), 255 is NaN; e4m3 as in OCP FP8. The
// last three are of X and Y, with scales of their own; FP8 is OCP's, too. kInt8 is also of scales
// in two levels (WeightSpec::channel_scale).
enum class DType { kFp16, kBf16, kFp32, kE8m0, kE4m3, kInt8, kFp8E4m3, kFp8E5m2 };
// 1 for e8m0, e4m3 and what has eight bits by name, 2, or 4.
HEDDLE_EXPORT int bytes_of(DType dtype) noexcept;
// Codes of X and Y.
constexpr bool is_byte(DType dtype) noexcept {
  return dtype == DType::kInt8 || dtype == DType::kFp8E4m3 || dtype == DType::kFp8E5m2;
}
// kInt: two's complement. eXmY: a sign, X exponent bits and Y mantissa bits, with subnormals.
// kNf4: the sixteen values of nf4_values(). kFp16, kBf16: weights that were not quantised.
enum class WeightType { kUint, kInt, kE4m3, kE5m2, kE2m3, kE3m2, kE2m1, kNf4, kFp16, kBf16 };
enum class ZeroPoint { kNone, kInt, kFloat };
// The order of the codes in a packed word; see ElementOrder. The last two are of weights that are
// multiplied by activations of eight bits: kSwizzle128b of codes of eight bits that matrix
// instructions read as they are (docs/layouts.md), kByteFragment of codes that become eight bits.
enum class Interleave {
  kFragment,
  kLinear,
  kAwq,
  kEvenOdd,
  kTrtllm,
  kPermutation,
  kSwizzle128b,
  kByteFragment
};
// How a checkpoint stores integer codes, scales and zero points; docs/checkpoints.md has the bytes.
enum class CheckpointFormat { kHeddle, kAwq, kGptq, kGptqV2 };
// kRelu2: the square of kRelu. kClampedSwiglu, of gated epilogues only, is gpt-oss's: with
// g = min(gate, limit) and u = clamp(up, -limit, limit) it is (u + 1) * g * sigmoid(1.702 * g).
enum class Activation { kNone, kRelu, kGelu, kGeluTanh, kSilu, kRelu2, kClampedSwiglu };
// Which generation's instructions the kernel uses; kAuto takes the newest that the target has.
enum class Path {
  kAuto,
  kTuring,  // mma.m16n8k8, loads through registers: sm_75 and up, FP16 only
  kAmpere,  // mma.m16n8k16, cp.async pipeline: sm_80 and up
  kHopper,  // bulk copies and mbarriers: sm_90 and up; wgmma: sm_90
};

// Y[M,N] = X[M,K] * W[N,K]^T
struct GemmShape {
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t m_min = 1;
  std::int64_t m_max = kDefaultMaxM;
};

// Weights that were not quantised (has_scales() is false) have 16 bits and neither groups, scales
// nor zero points: the members that describe those keep their defaults and mean nothing.
struct WeightSpec {
  int bits = 4;
  WeightType type = WeightType::kUint;
  int group_size = 128;  // weights along K that share a scale, kPerChannel or kPerTensor
  // kNone: kUint codes have the fixed bias 2^(bits-1), others have none. kFloat: of scale_dtype.
  ZeroPoint zero_point = ZeroPoint::kNone;
  DType scale_dtype = DType::kFp16;  // absent in JSON: the activation's dtype
  bool tensor_scale = false;         // one FP32 factor more, for all of W
  Interleave interleave = Interleave::kFragment;
  std::vector<int> permutation{};  // kPermutation: field i of a word is element permutation[i]
  // W is a shard of a larger matrix: its column 0 is column group_offset of a group. The first and
  // the last group may then have fewer columns than group_size.
  int group_offset = 0;
  // Rows of W that share a scale: 1, or of blocks of 128 by 128, which activations of 8 bits with a
  // scale for each row and 128 columns are multiplied by, kBlockRows with as large a group_size.
  int group_rows = 1;
  // Scales in two levels, of 4 bits that INT8 multiplies: those of groups are integers of 1 to 127
  // (scale_dtype kInt8) whose product with each code less its zero point is an INT8, and each row
  // has one scale more, of this type: kFp16, kBf16 or kFp32.
  std::optional<DType> channel_scale{};

  bool has_blocks() const noexcept { return group_rows != 1; }
  bool has_two_levels() const noexcept { return channel_scale.has_value(); }
  bool has_scales() const noexcept {
    return type != WeightType::kFp16 && type != WeightType::kBf16;
  }
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
// of W are gates, the others are what they multiply ("up"): with S = X W^T + bias it is Y[m, n] =
// activation(S[m, n]) * S[m, N / 2 + n] + residual[m, n], so Y and the residual are [M, N / 2].
// Packed weights then hold 8 gates and their 8 ups in each block of 16 rows, so that whoever
// finishes a gate has its up; pack_weights() does that.
struct EpilogueSpec {
  bool bias = false;  // [N], GemmSpec::bias_dtype()
  Activation activation = Activation::kNone;
  bool residual = false;  // of Y's shape, GemmSpec::residual_dtype()
  bool gated = false;     // N is a multiple of 16
  int limit = 0;          // of kClampedSwiglu, where it is required
};

// How X of eight bits was quantised, by row_transform or another kernel: a value is the code, less
// its row's zero point if there is one, times the scale. Members are those of RowOutputSpec; scales
// of kGroup, which weights in blocks have, are in ScaleLayout::kColumnMajor.
struct ActivationScaleSpec {
  RowGranularity granularity = RowGranularity::kNone;  // kNone exactly with 16 bits
  bool symmetric = true;  // false, of kInt8 with kToken: a zero point for each row
  RowScaleDtype scale_dtype = RowScaleDtype::kFp32;  // kE8m0 with kGroup
};

// How Y of eight bits is quantised: as row_transform does it, from the FP32 values that Y of 16
// bits would be rounded from. Scales of kGroup are in ScaleLayout::kColumnMajor, as the next GEMM
// wants them.
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
  // kFp16, kBf16, kFp32 or one of eight bits: Y; the activation's where absent, which no X of eight
  // bits allows.
  std::optional<DType> output{};
  OutputScaleSpec output_scale{};
  // What the matrix instruction multiplies, X and decoded W; its sums are FP32. The activation's
  // where absent: resolve() refuses every other one, because no kernel converts X.
  std::optional<DType> multiply{};
  bool pre_scale = false;  // column k of X is multiplied by a factor of its own first
  bool act_order = false;  // packed column j of W is column permutation[j] of X
  TileSpec tile;
  EpilogueSpec epilogue;
  bool deterministic = true;
  Path path = Path::kAuto;

  // Whether X has eight bits. The matrix instruction then multiplies codes, and bias and residual
  // are of Y's type where that has more.
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

// Numbers of rows (tokens), both inclusive.
struct MRange {
  std::int64_t min = 1;
  std::int64_t max = 1;
};

struct MatrixShape {
  std::int64_t n = 0;
  std::int64_t k = 0;
};

// The operations that read or make packed weights W[N, K]:
//   dequantize       from `format` to W in `dtype`, row-major
//   repack           from `format`, which is not kHeddle, to Heddle's layout
//   quantize_weight  from W in `dtype`, row-major, to Heddle's layout, each code the nearest
struct WeightOpSpec {
  MatrixShape shape;
  WeightSpec weight;  // what the codes mean, in every format
  CheckpointFormat format = CheckpointFormat::kHeddle;
  bool act_order = false;      // the source's columns are permuted: GPTQ with g_idx
  DType dtype = DType::kFp16;  // kFp16 or kBf16; no part of repack
  // Packed weights, which `repack` and `quantize_weight` write and `dequantize` reads, are those of
  // a gemm with EpilogueSpec::gated. W is in the checkpoint's order: gates first, then ups.
  bool gated = false;
};

class HEDDLE_EXPORT Spec {
 public:
  // Parses and validates one JSON document. Throws Error(kSpec) that holds every problem found,
  // each with its JSON pointer.
  static Spec parse(std::string_view json);
  // Throws Error(kSpec) like parse() if a value is out of range. With X of eight bits the
  // interleave kFragment becomes that of their matrix instruction: kSwizzle128b of codes of eight
  // bits, kByteFragment of others.
  static Spec from_gemm(const GemmSpec& gemm, std::string name = {});
  // The same for kDequantize, kRepack and kQuantizeWeight.
  static Spec from_weight_op(Op op, const WeightOpSpec& weight_op, std::string name = {});
  // What the kv block leaves open is filled in.
  static Spec from_kv_append(const KvAppendSpec& kv_append, std::string name = {});
  static Spec from_decode_attention(const DecodeAttentionSpec& attention, std::string name = {});
  static Spec from_row_transform(const RowTransformSpec& row_transform, std::string name = {});

  Op op() const noexcept { return op_; }
  // Precondition: op() == Op::kGemm.
  const GemmSpec& gemm() const noexcept { return gemm_; }
  // Precondition: kDequantize, kRepack or kQuantizeWeight.
  const WeightOpSpec& weight_op() const noexcept { return weight_op_; }
  // Precondition: op() == Op::kKvAppend.
  const KvAppendSpec& kv_append() const noexcept { return kv_append_; }
  // Precondition: op() == Op::kDecodeAttention.
  const DecodeAttentionSpec& decode_attention() const noexcept { return decode_attention_; }
  // Precondition: op() == Op::kRowTransform.
  const RowTransformSpec& row_transform() const noexcept { return row_transform_; }
  // Whether the operation is on a key-value cache.
  bool has_cache() const noexcept;
  // Precondition: has_cache(). No granularity is kAuto, and group_size, scale_dtype and page_size
  // are what they stand for.
  const KvSpec& kv() const noexcept;
  KvShape kv_shape() const noexcept;
  // Whether the operation has weights W.
  bool has_weight() const noexcept;
  // Precondition: has_weight().
  MatrixShape weight_shape() const noexcept;
  const WeightSpec& weight() const noexcept;
  // Precondition: has_weight(). Whether packed weights have the row order of a gated epilogue.
  bool gated() const noexcept;
  // Whether a launch has M rows, of a range that the spec names.
  bool has_m() const noexcept;
  // Precondition: has_m().
  MRange m_range() const noexcept;
  // The optional label "name": shown in tables and messages, no part of what is generated.
  const std::string& name() const noexcept { return name_; }
  // One line of JSON: fixed field order, no name, every default written out but that of
  // weight.group_offset and those that mean nothing. Two specs that mean the same have the same
  // canonical text.
  std::string canonical_json() const;

 private:
  Op op_ = Op::kGemm;
  GemmSpec gemm_;
  WeightOpSpec weight_op_;
  KvAppendSpec kv_append_;
  DecodeAttentionSpec decode_attention_;
  RowTransformSpec row_transform_;
  std::string name_;

  void* object() noexcept;
  const void* object() const noexcept;
};

// The JSON Schema (draft 2020-12) of a spec. Spec::parse accepts exactly what it accepts.
HEDDLE_EXPORT std::string spec_schema();

// The words used in JSON: "fp16", "none", "turing" ...
HEDDLE_EXPORT std::string_view to_string(Op op) noexcept;
HEDDLE_EXPORT std::string_view to_string(DType dtype) noexcept;
HEDDLE_EXPORT std::string_view to_string(WeightType type) noexcept;
HEDDLE_EXPORT std::string_view to_string(ZeroPoint zero_point) noexcept;
HEDDLE_EXPORT std::string_view to_string(Interleave interleave) noexcept;
HEDDLE_EXPORT std::string_view to_string(CheckpointFormat format) noexcept;
HEDDLE_EXPORT std::string_view to_string(Activation activation) noexcept;
HEDDLE_EXPORT std::string_view to_string(Path path) noexcept;
HEDDLE_EXPORT std::string_view to_string(Accumulation accumulation) noexcept;
HEDDLE_EXPORT std::string_view to_string(KvDtype dtype) noexcept;
HEDDLE_EXPORT std::string_view to_string(KvGranularity granularity) noexcept;
HEDDLE_EXPORT std::string_view to_string(KvLayout layout) noexcept;
HEDDLE_EXPORT std::string_view to_string(KvOrder order) noexcept;
HEDDLE_EXPORT std::string_view to_string(RopePairing pairing) noexcept;
HEDDLE_EXPORT std::string_view to_string(RopeSource source) noexcept;
HEDDLE_EXPORT std::string_view to_string(RopeScalingType type) noexcept;
HEDDLE_EXPORT std::string_view to_string(Alibi alibi) noexcept;
HEDDLE_EXPORT std::string_view to_string(NormType type) noexcept;
HEDDLE_EXPORT std::string_view to_string(GateOrder order) noexcept;
HEDDLE_EXPORT std::string_view to_string(RowDtype dtype) noexcept;
HEDDLE_EXPORT std::string_view to_string(RowGranularity granularity) noexcept;
HEDDLE_EXPORT std::string_view to_string(RowScaleDtype dtype) noexcept;
HEDDLE_EXPORT std::string_view to_string(ScaleLayout layout) noexcept;

}  // namespace heddle

#endif  // HEDDLE_SPEC_H_
