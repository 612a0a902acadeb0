// Notes the specs of a command that compiles kernels without launching them: a Runtime records only
// those that it loads.
#ifndef HEDDLE_TOOLS_HEDDLE_BUILD_RECORD_PLANS_H_
#define HEDDLE_TOOLS_HEDDLE_BUILD_RECORD_PLANS_H_

#include <vector>

#include "heddle/inspect/plan.h"
#include "tools/heddle/shared/options.h"

namespace heddle {

// Adds the specs and targets to $HEDDLE_RECORD, if it is set.
void record_plans(const std::vector<const Plan*>& plans, const CompileOptions& options);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_BUILD_RECORD_PLANS_H_
