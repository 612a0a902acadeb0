// The kernels that the planner could have chosen: what a sweep measures its choice against.
#ifndef HEDDLE_GENERATOR_PLANNER_CANDIDATES_H_
#define HEDDLE_GENERATOR_PLANNER_CANDIDATES_H_

#include <cstdint>
#include <vector>

#include "heddle/plan.h"

namespace heddle {

// The spec, then the same with each tile and path that it leaves open and the target can serve, no
// two of them with the same kernel for M. Those after the first ask for the M range of one kernel.
// Tiles that leave most of a block or of its threads without work are passed over. Throws what
// resolve() throws for the spec itself. Precondition: a gemm, M inside shape.m.
std::vector<Spec> tile_candidates(const Spec& spec, const Target& target, std::int64_t m);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_CANDIDATES_H_
