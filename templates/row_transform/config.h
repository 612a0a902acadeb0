// The configuration of row_transform.cuh.
#pragma once

#include "steps/config.h"

namespace heddle::device {

// As the specs have them.
HEDDLE_ENUM(NormType, kNone, kRms, kLayer);
HEDDLE_ENUM(GateOrder, kNone, kHalves, kInterleaved);

constexpr int kVectorElements = 8;  // of 16 bytes

struct RowTransformConfig {
  // Vectors of X, and of the residual, that a thread has under way where it adds them.
  static constexpr int kChunkVectors = 4;
  // Vectors of weights that are read at a time where they do not stay in registers.
  static constexpr int kChunkWeights = 2;

  int columns;  // of Y
  int lanes;    // threads that take a row together: a power of two in one warp, or whole warps
  int rows;     // that a thread block takes at a time
  int vectors;  // of 16 bytes of Y that a thread takes at a time
  int parts;    // of a row, each for a thread block of its own along y; a norm has one
  NormType norm;
  int epsilon_bits;   // of the FP32
  int weight_offset;  // added to each weight
  bool bias;
  bool residual;
  bool in_registers;   // a norm's row stays in registers; else it is read again
  bool holds_weights;  // weight and bias stay in registers, for all rows of the block
  GateOrder gate;
  Activation activation;
  bool dependent;  // the kernel starts while the one before it still runs

  HEDDLE_BOTH constexpr int threads() const { return lanes * rows; }
  HEDDLE_BOTH constexpr int row_vectors() const { return columns / kVectorElements; }
  HEDDLE_BOTH constexpr int warps_of_row() const { return lanes / 32; }
  // Sums of the warps of a row, twice: each reduction uses the other place than the one before, so
  // that one barrier is enough for it. Read 16 bytes at a time.
  HEDDLE_BOTH constexpr int sums_bytes() const { return (warps_of_row() + 3) / 4 * 16; }
  HEDDLE_BOTH constexpr int shared_bytes() const {
    return norm != NormType::kNone && lanes > 32 ? 2 * sums_bytes() : 0;
  }

  HEDDLE_FIELDS(columns, lanes, rows, vectors, parts, norm, epsilon_bits, weight_offset, bias,
                residual, in_registers, holds_weights, gate, activation, dependent)
};

}  // namespace heddle::device
