#include "generator/layout/packable.h"

#include <utility>
#include <vector>

#include "generator/operations/operation.h"
#include "heddle/error.h"

namespace heddle {
namespace {

void refuse_if_any(std::vector<Problem> problems) {
  if (problems.empty()) return;
  throw Error(ErrorCategory::kUnsupported, "weights.unsupported", std::move(problems));
}

}  // namespace

void expect_packable(const GemmSpec& spec) { expect_packable(Spec::from_gemm(spec)); }

void expect_packable(Op op, const WeightOpSpec& spec) {
  expect_packable(Spec::from_weight_op(op, spec));
}

void expect_packable(const Spec& spec) { refuse_if_any(check_meaning(spec)); }

}  // namespace heddle
