#include "generator/layout/packable.h"

#include <utility>
#include <vector>

#include "generator/spec/meaning.h"
#include "heddle/error.h"

namespace heddle {
namespace {

void refuse_if_any(std::vector<Problem> problems) {
  if (problems.empty()) return;
  throw Error(ErrorCategory::kUnsupported, "weights.unsupported", std::move(problems));
}

}  // namespace

void expect_packable(const GemmSpec& spec) {
  refuse_if_any(check_meaning(Spec::from_gemm(spec).gemm()));
}

void expect_packable(Op op, const WeightOpSpec& spec) {
  Spec::from_weight_op(op, spec);
  refuse_if_any(check_meaning(op, spec));
}

void expect_packable(const Spec& spec) {
  refuse_if_any(spec.op() == Op::kGemm ? check_meaning(spec.gemm())
                                       : check_meaning(spec.op(), spec.weight_op()));
}

}  // namespace heddle
