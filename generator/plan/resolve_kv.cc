#include <utility>

#include "generator/plan/resolve.h"
#include "generator/spec/meaning.h"

namespace heddle {
namespace {

// Of an operation that the language has and the planner does not.
void refuse_without_kernel(const Spec& spec, std::vector<Problem> problems) {
  problems.push_back({"/op", "there is no kernel for this operation yet",
                      '"' + std::string(to_string(spec.op())) + '"', "", ""});
  refuse_if_any(spec, std::move(problems));
}

}  // namespace

void resolve_kv_append(Plan& plan) {
  refuse_without_kernel(plan.spec, check_meaning(plan.spec.kv_append()));
}

void resolve_decode_attention(Plan& plan) {
  refuse_without_kernel(plan.spec, check_meaning(plan.spec.decode_attention()));
}

}  // namespace heddle
