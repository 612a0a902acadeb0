#include "generator/plan/resolve.h"

namespace heddle {

void resolve_quantize_weight(Plan& plan) {
  refuse_if_any(plan.spec, {{"/op", "there is no kernel for this operation yet",
                             "\"quantize_weight\"", "\"gemm\"", ""}});
}

}  // namespace heddle
