#include "heddle/spec.h"

#include <algorithm>
#include <utility>

#include "generator/spec/canonical.h"
#include "generator/spec/document.h"
#include "generator/spec/fields.h"
#include "generator/spec/findings.h"
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

}  // namespace

Spec Spec::parse(std::string_view json) {
  Findings findings("spec");
  Spec spec;
  if (const std::optional<Node> root = read_document(json, DocumentLimits{}, findings)) {
    spec.op_ = op_of(*root);
    void* object = spec.op_ == Op::kGemm ? static_cast<void*>(&spec.gemm_) : &spec.weight_op_;
    parse_fields(*root, fields_of(spec.op_), object, spec.name_, findings);
  }
  findings.throw_if_any();
  return spec;
}

Spec Spec::from_gemm(const GemmSpec& gemm, std::string name) {
  Findings findings("spec");
  check_fields(gemm_fields(), &gemm, name, findings);
  findings.throw_if_any();
  Spec spec;
  spec.gemm_ = gemm;
  spec.name_ = std::move(name);
  return spec;
}

Spec Spec::from_weight_op(Op op, const WeightOpSpec& weight_op, std::string name) {
  if (op == Op::kGemm) {
    throw Error(ErrorCategory::kUsage, "spec.op", "a gemm is made by from_gemm");
  }
  Findings findings("spec");
  check_fields(fields_of(op), &weight_op, name, findings);
  findings.throw_if_any();
  Spec spec;
  spec.op_ = op;
  spec.weight_op_ = weight_op;
  spec.name_ = std::move(name);
  return spec;
}

MatrixShape Spec::weight_shape() const noexcept {
  return op_ == Op::kGemm ? MatrixShape{gemm_.shape.n, gemm_.shape.k} : weight_op_.shape;
}

const WeightSpec& Spec::weight() const noexcept {
  return op_ == Op::kGemm ? gemm_.weight : weight_op_.weight;
}

std::string Spec::canonical_json() const {
  const void* object = op_ == Op::kGemm ? static_cast<const void*>(&gemm_) : &weight_op_;
  return canonical_text(fields_of(op_), object);
}

std::string spec_schema() { return schema_text(); }

}  // namespace heddle
