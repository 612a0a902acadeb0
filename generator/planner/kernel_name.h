// How entry points are named.
#ifndef HEDDLE_GENERATOR_PLANNER_KERNEL_NAME_H_
#define HEDDLE_GENERATOR_PLANNER_KERNEL_NAME_H_

#include <string>

#include "heddle/spec.h"

namespace heddle {

// "uint4z_g128", "e4m3_channel", "e2m1_g16_ts": type, zero points (z, or f for floats), group,
// tensor scale.
std::string weight_name(const WeightSpec& weight);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_KERNEL_NAME_H_
