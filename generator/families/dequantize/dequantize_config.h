// The configuration of dequantize's kernel: how its thread blocks cut W, and the numbers that its
// template takes.
#ifndef HEDDLE_GENERATOR_FAMILIES_DEQUANTIZE_DEQUANTIZE_CONFIG_H_
#define HEDDLE_GENERATOR_FAMILIES_DEQUANTIZE_DEQUANTIZE_CONFIG_H_

#include <variant>

#include "dequantize/config.h"
#include "generator/families/fields.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// One for each source: Heddle's packed weights in words or in rows, GPTQ's tensors, AWQ's.
using DequantizeConfig =
    std::variant<device::DequantizePackedConfig, device::DequantizeSwizzledConfig,
                 device::DequantizeGptqConfig, device::DequantizeAwqConfig>;

// Precondition: the plan has the spec, and the decode plan and the layout that belong to it.
DequantizeConfig dequantize_config(const Plan& plan);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_DEQUANTIZE_DEQUANTIZE_CONFIG_H_
