// Streams of sixteen warps, which fill an SM: where instructions and not the memory set the pace.
#ifndef HEDDLE_GENERATOR_PLANNER_STREAM_MANY_WARPS_H_
#define HEDDLE_GENERATOR_PLANNER_STREAM_MANY_WARPS_H_

#include "generator/planner/gemm_variant.h"
#include "heddle/plan.h"

namespace heddle {

// Gives a stream whose shares of K and of the rows are settled sixteen warps and what fit_stream()
// settles, if they are faster and have equal whole stages that fit; else leaves it as it was.
bool take_many_warps(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                     GemmVariant& v);

// Whether a stream is faster than bulk because it has taken them.
bool many_warps_beat_bulk(const GemmSpec& spec, const GemmVariant& stream, const GemmVariant& bulk);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_STREAM_MANY_WARPS_H_
