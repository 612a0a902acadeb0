#include "generator/plan/resolve.h"

namespace heddle {

void resolve_repack(Plan& plan) {
  refuse_if_any(plan.spec, {{"/op", "there is no kernel for this operation yet", "\"repack\"",
                             "\"gemm\"", ""}});
}

}  // namespace heddle
