// Why a tile of wgmma cannot be built.
#ifndef HEDDLE_GENERATOR_FAMILIES_WARPGROUP_REFUSE_H_
#define HEDDLE_GENERATOR_FAMILIES_WARPGROUP_REFUSE_H_

#include <vector>

#include "generator/families/fields.h"
#include "generator/families/refuse.h"
#include "warpgroup/config.h"

namespace heddle {

// The most registers for sums that wgmma leaves room for beside decoding.
inline constexpr int kMostWgmmaSums = 128;
// Of codes of eight bits that are multiplied as they are: nothing else takes registers.
inline constexpr int kMostByteSums = 192;
// Of weights that are decoded to FP8: with those of 128 columns, and with those of a group.
inline constexpr int kMostPromotedSums = 160, kMostGroupSums = 192;
// Of INT8 sums of groups shorter than a chunk, beside a stage of more chunks than one.
inline constexpr int kMostShortGroupSums = 64;

// Registers of a thread for sums, those of unscaled groups included.
int sum_registers(const device::WarpgroupConfig& config);

// Whether the sums leave registers for no more than the weights of one matrix instruction at a
// time.
bool leaves_few_registers(const device::WarpgroupConfig& config);

// Whether two warpgroups may share a row tile of so many tokens.
constexpr bool wgmma_shares_rows(int tokens) { return tokens >= 32 && tokens <= 128; }

// As GemmFamily::exclusions().
std::vector<Problem> wgmma_exclusions(const GemmSpec& spec, const Target& target, const MRange& m);

// Every reason why this tile cannot be built; empty if it can.
std::vector<Problem> refuse_wgmma(const GemmSpec& spec, const Target& target,
                                  const device::WarpgroupConfig& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_WARPGROUP_REFUSE_H_
