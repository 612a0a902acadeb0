// Registers of a thread that multiplies by wgmma.
#ifndef HEDDLE_GENERATOR_FAMILIES_WARPGROUP_REGISTERS_H_
#define HEDDLE_GENERATOR_FAMILIES_WARPGROUP_REGISTERS_H_

#include "generator/families/fields.h"
#include "heddle/spec.h"
#include "warpgroup/config.h"

namespace heddle {

// What setmaxnreg gives a thread of two warpgroups (templates/warpgroup/shape.cuh).
inline constexpr int kWgmmaRegisters = 232;

// Registers of a thread for sums, those of unscaled groups included.
int wgmma_sum_registers(const device::WarpgroupConfig& config);

// All registers of a thread, one of two warpgroups; the compiler may take fewer.
int wgmma_registers(const GemmSpec& spec, const device::WarpgroupConfig& config);

// Whether the thread has them. Four warpgroups are chosen only where theirs suffice.
bool wgmma_fits_registers(const GemmSpec& spec, const device::WarpgroupConfig& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_WARPGROUP_REGISTERS_H_
