// What the bits of an output depend on in a GEMM with wgmma.
#ifndef HEDDLE_GENERATOR_FAMILIES_WARPGROUP_ARITHMETIC_H_
#define HEDDLE_GENERATOR_FAMILIES_WARPGROUP_ARITHMETIC_H_

#include <optional>
#include <string>

#include "generator/families/gemm_request.h"
#include "generator/families/warpgroup/kernel.h"

namespace heddle {

// As Family::arithmetic(), of a thread block that has all of a tile's K. An instruction's columns,
// and with them the tokens of a tile, do not depend on each other.
std::string wgmma_block_arithmetic(const device::WarpgroupConfig& config);

// As Family::arithmetic(). Nothing where a launch's tokens decide how blocks share tiles.
std::optional<std::string> wgmma_arithmetic(const GemmRequest& gemm, const WarpgroupKernel& kernel);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_WARPGROUP_ARITHMETIC_H_
