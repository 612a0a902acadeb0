// Plans as arguments of Python functions: a Plan, or a spec together with a target.
#ifndef HEDDLE_PYTHON_SRC_PLAN_ARGUMENT_H_
#define HEDDLE_PYTHON_SRC_PLAN_ARGUMENT_H_

#include <nanobind/nanobind.h>

#include "heddle/inspect/plan.h"
#include "heddle/tuned.h"

namespace heddle::python {

namespace nb = nanobind;

// With `tables`, or where that is null with those that come with Heddle. Throws what resolve()
// throws, and TypeError for a spec without a target and a plan with one.
Plan plan_argument(nb::handle value, nb::handle target, const TunedTables* tables);

}  // namespace heddle::python

#endif  // HEDDLE_PYTHON_SRC_PLAN_ARGUMENT_H_
