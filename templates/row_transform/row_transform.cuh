// Row transform: a norm of each row, or an activation and a gate of each element.
//
// Floors. Bytes: every element of X, and of the residual, is read once, and every element of Y, and
// of the residual, written once: with a residual 8 bytes for each column of a row, without one 4; a
// gate reads 4 and writes 2. 4096 rows of 8192 columns with a residual are 268 MB: 80 us at 3.35
// TB/s. Operations: an element of an RMSNorm takes 14 instructions, at that rate 25 of the 128
// lanes that an SM issues in a clock, so memory is the only limit. The floor of one row is latency:
// one read, one sum over its threads, one write.
//
// Budget. At 3.35 TB/s and 0.8 us each of 132 SMs must have 20 KB under way. A thread has four
// 16-byte vectors of X and as many of the residual, 128 bytes, in eight loads in a row: 768 threads
// of an SM (72 registers each) have 96 KB, so that blocks which wait for their sums leave enough to
// those that read. Without a residual it is half of that. Shared memory: a few sums of warps.
//
// Roles. All threads do the same. `lanes` of them take a row: so few that each has four vectors,
// within a warp or as a thread block of whole warps. Long rows have eight vectors for a thread;
// those that fit into no block's registers are read a second time, from the L2 cache, from where
// their sums were written. With fewer rows than SMs a row has as many threads as it has vectors.
// Blocks take rows a grid apart, and the grid is as many blocks as the GPU holds at a time.
//
// Order.
// 1. A norm (row_norm.cuh) requests weight and bias, which no kernel that still runs writes, and
//    waits for the previous kernel. For each row of the block it reads X and residual, writes their
//    sums to the residual, adds up the statistics, and writes Y.
// 2. A gate (row_gate.cuh) waits, and for each row of the block reads the gates and what they
//    multiply, and writes Y.
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
