// The configuration of row_transform.cuh.
#pragma once

#include "steps/config.h"

namespace heddle::device {

HEDDLE_SPEC_ENUM(NormType, kNone, kRms, kLayer);
HEDDLE_SPEC_ENUM(GateOrder, kNone, kHalves, kInterleaved);
HEDDLE_SPEC_ENUM(RowDtype, kFp16, kBf16, kInt8, kFp8E4m3, kFp8E5m2);
HEDDLE_SPEC_ENUM(RowGranularity, kNone, kTensor, kToken, kGroup);
HEDDLE_SPEC_ENUM(RowScaleDtype, kFp32, kE8m0);
HEDDLE_SPEC_ENUM(ScaleLayout, kRowMajor, kColumnMajor);

constexpr int kVectorElements = 8;     // of 16 bytes
constexpr int kRowGroupColumns = 128;  // that share a scale of kGroup
[[maybe_unused]] constexpr int kRowGroupVectors = kRowGroupColumns / kVectorElements;
[[maybe_unused]] constexpr int kScalesOfWord = 4;  // of e8m0 in column-major order

// What is written of Y.
struct RowOutputConfig {
  RowDtype dtype;
  RowGranularity granularity;  // kNone exactly with 16 bits
  bool asymmetric;             // kInt8 of kToken with zero points
  RowScaleDtype scale_dtype;
  ScaleLayout scale_layout;  // of kGroup
  bool pre_scale;            // each column is multiplied by a factor of its own first

  HEDDLE_BOTH constexpr bool is_16_bit() const { return granularity == RowGranularity::kNone; }
  HEDDLE_BOTH constexpr int vector_bytes() const {
    return is_16_bit() ? 2 * kVectorElements : kVectorElements;
  }

  HEDDLE_FIELDS(dtype, granularity, asymmetric, scale_dtype, scale_layout, pre_scale)
};

struct RowTransformConfig {
  // Vectors of X, and of the residual, that a thread has under way where it adds them.
  static constexpr int kChunkVectors = 4;

  int columns;  // of Y
  int lanes;    // threads that take a row together: a power of two in one warp, or whole warps
  int rows;     // that a thread block takes at a time
  int vectors;  // of eight elements of Y that a thread takes at a time
  int parts;    // of a row, each for a thread block of its own along y; one where takes_rows()
  NormType norm;
  int epsilon_bits;   // of the FP32
  int weight_offset;  // added to each weight
  bool bias;
  bool residual;
  bool in_registers;   // where takes_rows(): a row stays in registers; else it is read again
  bool holds_weights;  // weight, bias and pre_scale stay in registers, for all rows of the block
  GateOrder gate;
  Activation activation;
  bool dependent;  // the kernel starts while the one before it still runs
  RowOutputConfig output;

  // Vectors of weights that are read at a time where they do not stay in registers.
  HEDDLE_BOTH constexpr int chunk_weights() const { return output.pre_scale ? 1 : 2; }
  HEDDLE_BOTH constexpr int threads() const { return lanes * rows; }
  HEDDLE_BOTH constexpr int row_vectors() const { return columns / kVectorElements; }
  HEDDLE_BOTH constexpr int groups() const {
    return (columns + kRowGroupColumns - 1) / kRowGroupColumns;
  }
  // Whether a value of a row depends on all of the row.
  HEDDLE_BOTH constexpr bool takes_rows() const {
    return norm != NormType::kNone || output.granularity == RowGranularity::kToken;
  }
  // Whether the values of Y are more than a conversion of X, so that they are kept as FP32 between
  // the search for their range and their rounding.
  HEDDLE_BOTH constexpr bool keeps_values() const {
    return output.granularity == RowGranularity::kToken &&
           (norm != NormType::kNone || gate != GateOrder::kNone ||
            activation != Activation::kNone || output.pre_scale);
  }
  HEDDLE_BOTH constexpr int warps_of_row() const { return lanes / 32; }
  // A number of each warp of a row, twice: each reduction uses the other place than the one before,
  // so that one barrier is enough for it. Read 16 bytes at a time.
  HEDDLE_BOTH constexpr int sums_bytes() const { return (warps_of_row() + 3) / 4 * 16; }
  HEDDLE_BOTH constexpr int shared_bytes() const {
    return takes_rows() && lanes > 32 ? 2 * sums_bytes() : 0;
  }

  HEDDLE_FIELDS(columns, lanes, rows, vectors, parts, norm, epsilon_bits, weight_offset, bias,
                residual, in_registers, holds_weights, gate, activation, dependent, output)
};

}  // namespace heddle::device
