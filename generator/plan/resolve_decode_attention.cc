#include <utility>

#include "generator/plan/resolve.h"
#include "generator/spec/meaning.h"

namespace heddle {

void resolve_decode_attention(Plan& plan) {
  std::vector<Problem> problems = check_meaning(plan.spec.decode_attention());
  problems.push_back({"/op", "there is no kernel for this operation yet",
                      '"' + std::string(to_string(plan.spec.op())) + '"', "", ""});
  refuse_if_any(plan.spec, std::move(problems));
}

}  // namespace heddle
