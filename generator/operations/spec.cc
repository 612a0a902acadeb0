#include "heddle/spec.h"

#include <algorithm>
#include <typeinfo>
#include <utility>

#include "generator/operations/operation.h"
#include "generator/spec/canonical.h"
#include "generator/spec/document.h"
#include "generator/spec/findings.h"
#include "generator/spec/parser.h"
#include "heddle/error.h"

namespace heddle {

// Makes specs of any operation.
class SpecMaker {
 public:
  static Spec make(Op op, std::shared_ptr<void> fields, std::string name) {
    operation_of(op).settle(fields.get());
    return Spec(op, std::move(fields), std::move(name));
  }

  template <class Fields>
  static Spec checked(Op op, const Fields& fields, std::string name) {
    Findings findings("spec");
    check_fields(operation_of(op).fields(), &fields, name, findings);
    findings.throw_if_any();
    return make(op, std::make_shared<Fields>(fields), std::move(name));
  }
};

Spec with_sizes(const Spec& spec, const MRange& sizes) {
  std::shared_ptr<void> fields = operation_of(spec).copy(spec.fields());
  operation_of(spec).set_sizes(fields.get(), sizes);
  return SpecMaker::make(spec.op(), std::move(fields), spec.name());
}

Spec with_path(const Spec& spec, Path path) {
  std::shared_ptr<void> fields = operation_of(spec).copy(spec.fields());
  operation_of(spec).set_path(fields.get(), path);
  return SpecMaker::make(spec.op(), std::move(fields), spec.name());
}

namespace {

// The operation that the document names; none for a missing or unknown one.
std::optional<Op> op_of(const Node& root) {
  const Node* op = root.find("op");
  if (op == nullptr || op->kind != Node::Kind::kString) return std::nullopt;
  for (const Operation* operation : every_operation()) {
    if (to_string(operation->fields().op) == op->text) return operation->fields().op;
  }
  return std::nullopt;
}

}  // namespace

Spec::Spec() {
  static const std::shared_ptr<const void> defaults = operation_of(Op{}).make();
  fields_ = defaults;
}

Spec::Spec(Op op, std::shared_ptr<const void> fields, std::string name)
    : op_(op), fields_(std::move(fields)), name_(std::move(name)) {}

Spec Spec::parse(std::string_view json) {
  Findings findings("spec");
  Op op{};
  std::shared_ptr<void> fields;
  std::string name;
  if (const std::optional<Node> root = read_document(json, DocumentLimits{}, findings)) {
    const std::optional<Op> named = op_of(*root);
    op = named.value_or(Op{});
    const FieldTable& table = operation_of(op).fields();
    if (named || root->kind != Node::Kind::kObject) {
      fields = operation_of(op).make();
      parse_fields(*root, table, fields.get(), name, findings);
    } else {
      add_operation_fault(*root, table, findings);
    }
  }
  findings.throw_if_any();
  return SpecMaker::make(op, std::move(fields), std::move(name));
}

Spec Spec::from_gemm(const GemmSpec& gemm, std::string name) {
  return SpecMaker::checked(Op::kGemm, gemm, std::move(name));
}

Spec Spec::from_weight_op(Op op, const WeightOpSpec& weight_op, std::string name) {
  if (operation_of(op).type() != typeid(WeightOpSpec)) {
    throw Error(ErrorCategory::kUsage, "spec.op",
                std::string(to_string(op)) + " is no operation on weights alone");
  }
  return SpecMaker::checked(op, weight_op, std::move(name));
}

Spec Spec::from_kv_append(const KvAppendSpec& kv_append, std::string name) {
  return SpecMaker::checked(Op::kKvAppend, kv_append, std::move(name));
}

Spec Spec::from_decode_attention(const DecodeAttentionSpec& attention, std::string name) {
  return SpecMaker::checked(Op::kDecodeAttention, attention, std::move(name));
}

Spec Spec::from_row_transform(const RowTransformSpec& row_transform, std::string name) {
  return SpecMaker::checked(Op::kRowTransform, row_transform, std::move(name));
}

Spec Spec::from_moe(const MoeSpec& moe, std::string name) {
  return SpecMaker::checked(Op::kMoe, moe, std::move(name));
}

template <class Fields>
const Fields* Spec::get_if() const noexcept {
  if (operation_of(op_).type() != typeid(Fields)) return nullptr;
  return static_cast<const Fields*>(fields());
}

template HEDDLE_EXPORT const GemmSpec* Spec::get_if() const noexcept;
template HEDDLE_EXPORT const WeightOpSpec* Spec::get_if() const noexcept;
template HEDDLE_EXPORT const KvAppendSpec* Spec::get_if() const noexcept;
template HEDDLE_EXPORT const DecodeAttentionSpec* Spec::get_if() const noexcept;
template HEDDLE_EXPORT const RowTransformSpec* Spec::get_if() const noexcept;
template HEDDLE_EXPORT const MoeSpec* Spec::get_if() const noexcept;

void Spec::refuse_operation() const {
  throw Error(
      ErrorCategory::kUsage, "spec.operation",
      "the fields of another operation were asked of a spec of " + std::string(to_string(op_)));
}

bool Spec::has_cache() const noexcept { return operation_of(op_).cache(fields()).has_value(); }

const KvSpec& Spec::kv() const noexcept { return *operation_of(op_).cache(fields())->kv; }

KvShape Spec::kv_shape() const noexcept { return operation_of(op_).cache(fields())->shape; }

bool Spec::has_weight() const noexcept { return operation_of(op_).weight(fields()).has_value(); }

MatrixShape Spec::weight_shape() const noexcept {
  return operation_of(op_).weight(fields())->shape;
}

const WeightSpec& Spec::weight() const noexcept {
  return *operation_of(op_).weight(fields())->weight;
}

bool Spec::gated() const noexcept { return operation_of(op_).weight(fields())->gated; }

bool Spec::has_m() const noexcept { return operation_of(op_).size_kind() == SizeKind::kRows; }

MRange Spec::m_range() const noexcept { return operation_of(op_).sizes(fields()); }

std::string Spec::canonical_json() const {
  return canonical_text(operation_of(op_).fields(), fields());
}

std::string spec_schema() {
  std::vector<const FieldTable*> tables;
  for (const Operation* operation : every_operation()) tables.push_back(&operation->fields());
  return schema_text(tables);
}

}  // namespace heddle
