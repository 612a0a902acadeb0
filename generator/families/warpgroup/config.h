#ifndef HEDDLE_GENERATOR_FAMILIES_WARPGROUP_CONFIG_H_
#define HEDDLE_GENERATOR_FAMILIES_WARPGROUP_CONFIG_H_

#include "generator/families/gemm_config.h"
#include "generator/families/gemm_variant.h"
#include "warpgroup/config.h"

namespace heddle {

// The members that sizes in shared memory depend on; those of the spec alone are not set.
device::WarpgroupConfig warpgroup_sizes(const WeightLayout& layout, const GemmVariant& variant);

// The settled values of a planned kernel.
GemmVariant variant_of(const PlannedKernel& kernel);

// What the planner has settled as the kernel's configuration, without the scales' powers of two.
device::WarpgroupConfig warpgroup_config(const GemmSpec& spec, const WeightLayout& layout,
                                         const GemmVariant& variant);

// The candidate that has these values.
PlannedKernel warpgroup_kernel(const Plan& plan, const GemmVariant& variant);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_WARPGROUP_CONFIG_H_
