// What a kernel is made of: its plan, its source, its binary. An engine that only launches kernels
// needs heddle/heddle.hpp alone.
#ifndef HEDDLE_INSPECT_HPP_
#define HEDDLE_INSPECT_HPP_

#include "heddle/inspect/binary.h"
#include "heddle/inspect/decode_plan.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"

#endif  // HEDDLE_INSPECT_HPP_
