// Row transform: a norm of each row, or an activation and a gate of each element, in 16 or 8 bits.
//
// Floors. Bytes: every element of X, and of the residual, is read once, and every element of Y, and
// of the residual, written once: with a residual 8 bytes for each column of a row, without one 4; a
// gate reads 4 and writes 2. 4096 rows of 8192 columns with a residual are 268 MB: 80 us at 3.35
// TB/s. Y of 8 bits takes a byte less, and a scale for each row or each 128 columns next to
// nothing: 3 bytes for X alone, 101 MB and 30 us. Operations: an element of an RMSNorm takes 14
// instructions, at that rate 25 of the 128 lanes that an SM issues in a clock. 8 bits take 6 more,
// with a scale for each 128 columns 9: at 3 bytes an element that is up to 110 of the 128 lanes. So
// memory is the only limit. The floor of one row is latency: one read, a sum and, for the scale, a
// maximum over its threads, one write.
//
// Budget. At 3.35 TB/s and 0.8 us each of 132 SMs must have 20 KB under way. A thread has four
// 16-byte vectors of X and as many of the residual, 128 bytes, in eight loads in a row: 768 threads
// of an SM (72 registers each) have 96 KB, so that blocks which wait for their sums leave enough to
// those that read. Without a residual it is half of that. Shared memory: a few sums of warps.
// With a scale for each row its values stay in registers from their maximum to their codes: X as it
// is, what a norm or a gate makes of it as FP32, eight registers for a vector.
//
// Roles. All threads do the same. `lanes` of them take a row: so few that each has four vectors,
// within a warp or as a thread block of whole warps. Long rows have eight vectors for a thread;
// those that fit into no block's registers are read a second time, from the L2 cache, from where
// their sums were written. With fewer rows than SMs a row has as many threads as it has vectors.
// Blocks take rows a grid apart, and the grid is as many blocks as the GPU holds at a time. The 16
// vectors of a group of 128 columns are those of neighbouring lanes.
//
// Order.
// 1. A norm (row_norm.cuh) requests weight, bias and pre_scale, which no kernel that still runs
//    writes, and waits for the previous kernel. For each row of the block it reads X and residual,
//    writes their sums to the residual, adds up the statistics, and writes Y.
// 2. A gate, or nothing (row_gate.cuh), waits, and for each row of the block reads the gates and
//    what they multiply, and writes Y.
// 3. Y (row_output.cuh): in 16 bits; by the scale that the launch has; or the scale of a row or a
//    group is found first, written by one of its lanes, and all of them round (row_codes.cuh).
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
