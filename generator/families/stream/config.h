#ifndef HEDDLE_GENERATOR_FAMILIES_STREAM_CONFIG_H_
#define HEDDLE_GENERATOR_FAMILIES_STREAM_CONFIG_H_

#include "generator/families/gemm_config.h"
#include "stream/config.h"

namespace heddle {

// What the planner has settled as the kernel's configuration, without the scales' powers of two.
device::StreamConfig stream_config(const GemmSpec& spec, const WeightLayout& layout,
                                   const GemmVariant& variant);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_STREAM_CONFIG_H_
