// Row transform: a norm of each row, or an activation and a gate of each element.
//
// Floors. Every element of X, and of the residual, is read once and every element of Y, and of the
// residual, written once: with a residual 8 bytes for each column of a row, without one 4; a gate
// reads 4 and writes 2. 4096 rows of 8192 columns with a residual are 268 MB: 80 us at 3.35 TB/s.
// An element of an RMSNorm takes 14 instructions: at that rate 25 of the 128 lanes that an SM
// issues in a clock, so memory is the only limit. The floor of one row is latency: one read, one
// sum over its threads, one write.
//
// Budget. At 3.35 TB/s and 0.8 us each of 132 SMs must have 20 KB under way. A thread has four
// 16-byte vectors of X and as many of the residual, 128 bytes, in eight loads in a row: 768 threads
// of an SM (72 registers each) have 96 KB, so that blocks which wait for their sums leave enough to
// those that read. Without a residual it is half of that.
//
// Roles. All threads do the same. `lanes` of them take a row: so few that each has four vectors,
// within a warp or as a thread block of whole warps. Long rows have eight vectors for a thread;
// those that fit into no block's registers are read a second time, from the L2 cache, from where
// their sums were written. With fewer rows than SMs a row has as many threads as it has vectors.
//
// Order, of a norm (row_norm.cuh): weight and bias, which no kernel writes that still runs; wait
// for that kernel; for each row of the block: X and residual, sums to the residual, statistics, Y.
// Of a gate (row_gate.cuh): wait; for each row of the block: gates and what they multiply, Y.
// Blocks take rows a grid apart, and the grid is as many blocks as the GPU holds at a time.
#pragma once

#include "primitives/dependent_launch.cuh"
#include "row_transform/row_gate.cuh"
#include "row_transform/row_norm.cuh"

namespace heddle {

template <class Config>
__device__ __forceinline__ void row_transform(const RowTransformParameters& p) {
  if constexpr (Config::value.norm == NormType::kNone) {
    gate_rows<Config>(p);
  } else {
    normalize_rows<Config>(p);
  }
}

}  // namespace heddle
