// Spec: what the user asked for, validated, typed and canonical.
//
// Parsing does no I/O and touches no CUDA. A Spec is a value: copy it, use it from any thread.
// Every field is described in docs/spec.md and by the JSON Schema of spec_schema().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "heddle/dtype.h"
#include "heddle/export.h"
#include "heddle/gemm_spec.h"
#include "heddle/kv_spec.h"
#include "heddle/moe_spec.h"
#include "heddle/row_spec.h"
#include "heddle/weight_spec.h"

namespace heddle {

inline constexpr int kSpecVersion = 1;  // the value of the field "heddle"

enum class Op {
  kGemm,
  kDequantize,
  kRepack,
  kQuantizeWeight,
  kKvAppend,
  kDecodeAttention,
  kRowTransform,
  kMoe
};

// Sizes, both inclusive: numbers of rows (tokens); of decode_attention lengths of sequences.
struct MRange {
  std::int64_t min = 1;
  std::int64_t max = 1;
};

class HEDDLE_EXPORT Spec {
 public:
  // A gemm with every default, which has no sizes. It, and what was moved from, are good for
  // nothing but to be assigned to.
  Spec();
  // Parses and validates one JSON document. Throws Error(kSpec) that holds every problem found,
  // each with its JSON pointer.
  static Spec parse(std::string_view json);
  // Throws Error(kSpec) like parse() if a value is out of range. With X of eight bits the
  // interleave kFragment becomes that of their matrix instruction.
  static Spec from_gemm(const GemmSpec& gemm, std::string name = {});
  // As from_gemm(), for kDequantize, kRepack and kQuantizeWeight.
  static Spec from_weight_op(Op op, const WeightOpSpec& weight_op, std::string name = {});
  // What the kv block leaves open is filled in.
  static Spec from_kv_append(const KvAppendSpec& kv_append, std::string name = {});
  static Spec from_decode_attention(const DecodeAttentionSpec& attention, std::string name = {});
  static Spec from_row_transform(const RowTransformSpec& row_transform, std::string name = {});
  static Spec from_moe(const MoeSpec& moe, std::string name = {});

  Op op() const noexcept { return op_; }
  // The fields of the operation; those of weight_op() are of kDequantize, kRepack and
  // kQuantizeWeight. Throws Error(kUsage, "spec.operation") for a spec of another one.
  const GemmSpec& gemm() const { return get<GemmSpec>(); }
  const WeightOpSpec& weight_op() const { return get<WeightOpSpec>(); }
  const KvAppendSpec& kv_append() const { return get<KvAppendSpec>(); }
  const DecodeAttentionSpec& decode_attention() const { return get<DecodeAttentionSpec>(); }
  const RowTransformSpec& row_transform() const { return get<RowTransformSpec>(); }
  const MoeSpec& moe() const { return get<MoeSpec>(); }
  // One of these six, or null for a spec of another operation.
  template <class Fields>
  HEDDLE_EXPORT const Fields* get_if() const noexcept;
  // Whether the operation is on a key-value cache.
  bool has_cache() const noexcept;
  // Precondition: has_cache(). No granularity is kAuto, and group_size, scale_dtype and page_size
  // are what they stand for.
  const KvSpec& kv() const noexcept;
  KvShape kv_shape() const noexcept;
  // Whether the operation has weights W.
  bool has_weight() const noexcept;
  // Precondition: has_weight(). gated(): whether packed weights have the rows of a gated epilogue.
  MatrixShape weight_shape() const noexcept;
  const WeightSpec& weight() const noexcept;
  bool gated() const noexcept;
  // Whether a launch has M rows, of a range that the spec names.
  bool has_m() const noexcept;
  MRange m_range() const noexcept;  // precondition: has_m()
  // The optional label "name": shown in tables and messages, no part of what is generated.
  const std::string& name() const noexcept { return name_; }
  // One line of JSON without the name, every default written out that means something. Specs that
  // mean the same have the same text.
  std::string canonical_json() const;
  // The struct of the operation's fields, for code that serves all operations.
  const void* fields() const noexcept { return fields_.get(); }

 private:
  Op op_ = Op::kGemm;
  std::shared_ptr<const void> fields_;  // immutable: copies share it
  std::string name_;

  friend class SpecMaker;
  Spec(Op op, std::shared_ptr<const void> fields, std::string name);
  template <class Fields>
  const Fields& get() const {
    if (const Fields* fields = get_if<Fields>()) return *fields;
    refuse_operation();
  }
  [[noreturn]] void refuse_operation() const;
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
HEDDLE_EXPORT std::string_view to_string(RoutingWeight weight) noexcept;
HEDDLE_EXPORT std::string_view to_string(RouterScores scores) noexcept;
HEDDLE_EXPORT std::string_view to_string(GroupScore score) noexcept;

}  // namespace heddle
