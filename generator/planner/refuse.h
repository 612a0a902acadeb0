// What Heddle cannot serve, and why.
#ifndef HEDDLE_GENERATOR_PLANNER_REFUSE_H_
#define HEDDLE_GENERATOR_PLANNER_REFUSE_H_

#include <vector>

#include "generator/planner/gemm_variant.h"
#include "heddle/error.h"
#include "heddle/plan.h"

namespace heddle {

// What no kernel of any operation and path reads.
std::vector<Problem> refuse_weight(const WeightSpec& weight);

// Every reason why no kernel exists for this pair; empty if there is one.
std::vector<Problem> refuse_pair(const GemmSpec& spec, const Target& target);

// Why the path hopper, which the spec asks for, has no kernel.
std::vector<Problem> refuse_stream(const GemmSpec& spec);

// Every reason why this tile cannot be built; empty if it can.
std::vector<Problem> refuse_tile(const GemmSpec& spec, const Target& target,
                                 const WeightLayout& layout, const GemmVariant& variant);

// Every reason why this variant of kBulk cannot be built; empty if it can.
std::vector<Problem> refuse_bulk(const GemmSpec& spec, const Target& target,
                                 const WeightLayout& layout, const GemmVariant& variant);

// Registers of a thread for sums, those of unscaled groups included.
int sum_registers(const GemmVariant& variant);
// The most of them that wgmma leaves room for.
inline constexpr int kMostWgmmaSums = 128;

// Every reason why this variant of kWgmma cannot be built; empty if it can.
std::vector<Problem> refuse_wgmma(const GemmSpec& spec, const Target& target,
                                  const GemmVariant& variant);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_REFUSE_H_
