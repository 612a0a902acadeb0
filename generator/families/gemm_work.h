// Instructions that a GEMM's kernels issue: counts, from the decode plan and the tile, of which the
// predicted times are made.
#ifndef HEDDLE_GENERATOR_FAMILIES_GEMM_WORK_H_
#define HEDDLE_GENERATOR_FAMILIES_GEMM_WORK_H_

#include "generator/families/gemm_request.h"
#include "generator/families/scale_mode.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// Issue slots that a warp takes to decode a chunk, 16 rows by 128 columns, and to scale the
// weights, or the sums of so many tiles of 8 tokens: one for each instruction, but at least two for
// each operation on bits or integers, for which an SM has half as many units.
double decode_slots(const GemmRequest& gemm, ScaleMode mode, double token_tiles);

// Issue slots of a chunk: decoding, the matrix instructions of mma.sync and their loads.
double chunk_slots(const GemmRequest& gemm, ScaleMode mode, double token_tiles);
// Issue slots of a chunk that is decoded by this plan for matrix instructions of so many columns.
double chunk_slots(const GemmRequest& gemm, const DecodePlan& decode, int columns, ScaleMode mode,
                   double token_tiles);

// Clocks in which the memory brings all weights, in copies of so many bytes: one that begins inside
// of a line reads one line more.
double weight_clocks(const GemmRequest& gemm, double copy_bytes, double bytes_per_clock);

// Bytes of X and Y of a launch with m tokens.
double activation_bytes(const GemmSpec& spec, std::int64_t m);

// Clocks of a stage of so many bytes, one of `total`, if nothing but its copies takes time: the
// SM's rate; but a stage behind the ring's first is asked for when its place is free, and the
// others of the ring must last until it is there.
double fetch_clocks(double bytes, double bytes_per_clock, double latency, int ring, double total);

// The time of two things that overlap: that of the longer one, and more where both take nearly as
// long. The higher the exponent, the less they hinder each other.
double side_by_side(double one, double other, double exponent);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_GEMM_WORK_H_
