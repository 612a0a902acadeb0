#include "heddle/spec.h"

#include <algorithm>
#include <utility>

#include "generator/spec/byte_meaning.h"
#include "generator/spec/canonical.h"
#include "generator/spec/document.h"
#include "generator/spec/fields.h"
#include "generator/spec/findings.h"
#include "generator/spec/kv_complete.h"
#include "generator/spec/parser.h"
#include "generator/spec/words.h"
#include "heddle/error.h"

namespace heddle {

namespace {

// The operation that the document names; a missing or unknown one is the parser's to report.
Op op_of(const Node& root) {
  const Node* op = root.find("op");
  if (op == nullptr || op->kind != Node::Kind::kString) return Op::kGemm;
  const auto word = std::find(kOpWords.begin(), kOpWords.end(), op->text);
  return word == kOpWords.end() ? Op::kGemm : static_cast<Op>(word - kOpWords.begin());
}

// Specs that mean the same are the same.
void settle(GemmSpec& gemm) {
  gemm.weight.interleave = settled_interleave(gemm);
  // With X of eight bits Y always has a type of its own, if only by name.
  if (!gemm.has_byte_activations() && gemm.output == gemm.activation) gemm.output.reset();
  if (gemm.multiply == gemm.activation) gemm.multiply.reset();
}

void check(Op op, const void* object, const std::string& name) {
  Findings findings("spec");
  check_fields(fields_of(op), object, name, findings);
  findings.throw_if_any();
}

}  // namespace

int bytes_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kFp32:
      return 4;
    case DType::kFp16:
    case DType::kBf16:
      return 2;
    case DType::kE8m0:
    case DType::kE4m3:
    case DType::kInt8:
    case DType::kFp8E4m3:
    case DType::kFp8E5m2:
      break;
  }
  return 1;
}

Spec Spec::parse(std::string_view json) {
  Findings findings("spec");
  Spec spec;
  if (const std::optional<Node> root = read_document(json, DocumentLimits{}, findings)) {
    spec.op_ = op_of(*root);
    parse_fields(*root, fields_of(spec.op_), spec.object(), spec.name_, findings);
  }
  findings.throw_if_any();
  settle(spec.gemm_);
  complete(spec.kv_append_);
  complete(spec.decode_attention_);
  return spec;
}

Spec Spec::from_gemm(const GemmSpec& gemm, std::string name) {
  check(Op::kGemm, &gemm, name);
  Spec spec;
  spec.gemm_ = gemm;
  settle(spec.gemm_);
  spec.name_ = std::move(name);
  return spec;
}

Spec Spec::from_weight_op(Op op, const WeightOpSpec& weight_op, std::string name) {
  if (op != Op::kDequantize && op != Op::kRepack && op != Op::kQuantizeWeight) {
    throw Error(ErrorCategory::kUsage, "spec.op",
                std::string(to_string(op)) + " is no operation on weights alone");
  }
  check(op, &weight_op, name);
  Spec spec;
  spec.op_ = op;
  spec.weight_op_ = weight_op;
  spec.name_ = std::move(name);
  return spec;
}

Spec Spec::from_kv_append(const KvAppendSpec& kv_append, std::string name) {
  check(Op::kKvAppend, &kv_append, name);
  Spec spec;
  spec.op_ = Op::kKvAppend;
  spec.kv_append_ = kv_append;
  spec.name_ = std::move(name);
  complete(spec.kv_append_);
  return spec;
}

Spec Spec::from_decode_attention(const DecodeAttentionSpec& attention, std::string name) {
  check(Op::kDecodeAttention, &attention, name);
  Spec spec;
  spec.op_ = Op::kDecodeAttention;
  spec.decode_attention_ = attention;
  spec.name_ = std::move(name);
  complete(spec.decode_attention_);
  return spec;
}

Spec Spec::from_row_transform(const RowTransformSpec& row_transform, std::string name) {
  check(Op::kRowTransform, &row_transform, name);
  Spec spec;
  spec.op_ = Op::kRowTransform;
  spec.row_transform_ = row_transform;
  spec.name_ = std::move(name);
  return spec;
}

const KvSpec& Spec::kv() const noexcept {
  return op_ == Op::kKvAppend ? kv_append_.kv : decode_attention_.kv;
}

KvShape Spec::kv_shape() const noexcept {
  if (op_ == Op::kKvAppend) return kv_append_.shape;
  return {decode_attention_.shape.kv_heads, decode_attention_.shape.head_dim};
}

bool Spec::has_cache() const noexcept {
  return op_ == Op::kKvAppend || op_ == Op::kDecodeAttention;
}

bool Spec::has_weight() const noexcept { return !has_cache() && op_ != Op::kRowTransform; }

bool Spec::has_m() const noexcept { return op_ == Op::kGemm || op_ == Op::kRowTransform; }

MRange Spec::m_range() const noexcept {
  if (op_ == Op::kGemm) return {gemm_.shape.m_min, gemm_.shape.m_max};
  return {row_transform_.shape.m_min, row_transform_.shape.m_max};
}

MatrixShape Spec::weight_shape() const noexcept {
  return op_ == Op::kGemm ? MatrixShape{gemm_.shape.n, gemm_.shape.k} : weight_op_.shape;
}

const WeightSpec& Spec::weight() const noexcept {
  return op_ == Op::kGemm ? gemm_.weight : weight_op_.weight;
}

bool Spec::gated() const noexcept {
  return op_ == Op::kGemm ? gemm_.epilogue.gated : weight_op_.gated;
}

void* Spec::object() noexcept {
  return const_cast<void*>(static_cast<const Spec*>(this)->object());
}

const void* Spec::object() const noexcept {
  switch (op_) {
    case Op::kGemm:
      return &gemm_;
    case Op::kKvAppend:
      return &kv_append_;
    case Op::kDecodeAttention:
      return &decode_attention_;
    case Op::kRowTransform:
      return &row_transform_;
    case Op::kDequantize:
    case Op::kRepack:
    case Op::kQuantizeWeight:
      break;
  }
  return &weight_op_;
}

std::string Spec::canonical_json() const { return canonical_text(fields_of(op_), object()); }

std::string spec_schema() { return schema_text(); }

}  // namespace heddle
