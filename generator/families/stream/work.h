// What predicted times of streams are made of, whatever their tokens are.
#ifndef HEDDLE_GENERATOR_FAMILIES_STREAM_WORK_H_
#define HEDDLE_GENERATOR_FAMILIES_STREAM_WORK_H_

#include "heddle/inspect/plan.h"
#include "stream/config.h"

namespace heddle {

// What a block has in a launch.
struct StreamWork {
  double row_blocks;
  double stages;  // of each warp; a last one that is shorter takes as long as a whole one
  double chunks;  // of these stages
};
StreamWork stream_work(const device::StreamConfig& config);

// Clocks in which so many warps of an SM issue as many instructions each, at most so many a clock
// together and one alone.
double issue_clocks(double instructions, double warps, double of_sm, double of_warp);

// What the start of a launch and an exchange of the sums of two blocks take, in clocks, and how
// little work and memory hinder each other.
struct StreamAround {
  double start, exchange, overlap;
};

// Microseconds of a launch whose warps take so many clocks, while the memory brings the weights.
double stream_us(const Plan& plan, const device::StreamConfig& config, double work_clocks,
                 const StreamAround& around);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_STREAM_WORK_H_
