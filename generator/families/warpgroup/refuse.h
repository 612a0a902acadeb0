// Why a tile of wgmma cannot be built.
#ifndef HEDDLE_GENERATOR_FAMILIES_WARPGROUP_REFUSE_H_
#define HEDDLE_GENERATOR_FAMILIES_WARPGROUP_REFUSE_H_

#include <vector>

#include "generator/families/fields.h"
#include "generator/families/refuse.h"
#include "warpgroup/config.h"

namespace heddle {

// Whether two warpgroups may share a row tile of so many tokens.
constexpr bool wgmma_shares_rows(int tokens) { return tokens >= 32 && tokens <= 128; }

// As GemmFamily::exclusions_for().
std::vector<Problem> wgmma_exclusions(const GemmSpec& spec, const Target& target, const MRange& m);

// Every reason why this tile cannot be built; empty if it can.
std::vector<Problem> refuse_wgmma(const GemmSpec& spec, const Target& target,
                                  const device::WarpgroupConfig& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_WARPGROUP_REFUSE_H_
