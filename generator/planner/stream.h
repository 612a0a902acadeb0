// The plan of a GEMM that streams its weights (templates/stream/).
#ifndef HEDDLE_GENERATOR_PLANNER_STREAM_H_
#define HEDDLE_GENERATOR_PLANNER_STREAM_H_

#include <optional>

#include "generator/planner/gemm_variant.h"
#include "heddle/plan.h"

namespace heddle {

// How K and the rows are shared out for m_min tokens and some more; nothing where tiles must
// serve: too many tokens, an older path, a tile of the user's that no sharing out has, float zero
// points.
std::optional<GemmVariant> stream_variant(const GemmSpec& spec, const Target& target,
                                          const WeightLayout& layout, std::int64_t m_min);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_STREAM_H_
