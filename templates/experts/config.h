// The configuration of a layer of experts (experts.cuh), and where its launches keep what they give
// each other.
#pragma once

#include "config/workspace.h"
#include "tiles/config.h"

namespace heddle::device {

// The launches of a layer, in their order.
HEDDLE_ENUM(MoePhase,
            kRoute,   // which rows each expert has
            kGateUp,  // the first product and its activation
            kDown,    // the second product
            kSum);    // of a token's experts

// An assignment is a token's choice of an expert; assignment i is choice i % top_k of token
// i / top_k. A row is an assignment to an expert of this device; rows are sorted by expert, and of
// an expert by assignment.
struct ExpertsConfig {
  int hidden;
  int intermediate;
  int first_expert;
  int local_experts;
  int top_k;
  bool weighs_input;  // the routing weight multiplies the sums of the first product
  bool residual;
  i64 gate_up_bytes;  // packed weights of an expert
  i64 down_bytes;
  TilesConfig gate_up;  // both have the same thread blocks
  TilesConfig down;

  HEDDLE_BOTH constexpr int threads() const { return gate_up.threads(); }
  HEDDLE_BOTH constexpr int warps() const { return threads() / 32; }

  // Behind the ring and the sums of a tile of the first product: the tokens of its rows.
  HEDDLE_BOTH constexpr int table_offset() const { return (gate_up.shared_bytes() + 15) / 16 * 16; }
  HEDDLE_BOTH constexpr int gate_up_shared_bytes() const {
    return table_offset() + 4 * gate_up.tile_m;
  }
  HEDDLE_BOTH constexpr int shared_bytes() const {
    return max_of(gate_up_shared_bytes(), down.shared_bytes());
  }

  // The workspace, behind everybody's counters: of each local expert its first row, and behind the
  // last one the end of all rows; of each row its assignment; of each assignment its row; what the
  // first product gives the second one, [rows][intermediate] of 16 bits; what the second one gives
  // the sum, [rows][hidden] of FP32.
  HEDDLE_BOTH constexpr i64 assignments(i64 tokens) const { return tokens * top_k; }
  HEDDLE_BOTH static constexpr i64 lines(i64 bytes) { return ceil_div(bytes, 128) * 128; }
  HEDDLE_BOTH constexpr i64 first_rows_offset() const { return Workspace::kCounterBytes; }
  HEDDLE_BOTH constexpr i64 assignments_offset() const {
    return first_rows_offset() + lines(4 * (local_experts + 1));
  }
  HEDDLE_BOTH constexpr i64 rows_offset(i64 tokens) const {
    return assignments_offset() + lines(4 * assignments(tokens));
  }
  HEDDLE_BOTH constexpr i64 middle_offset(i64 tokens) const {
    return rows_offset(tokens) + lines(4 * assignments(tokens));
  }
  HEDDLE_BOTH constexpr i64 outputs_offset(i64 tokens) const {
    return middle_offset(tokens) + lines(2 * assignments(tokens) * intermediate);
  }
  HEDDLE_BOTH constexpr i64 workspace_bytes(i64 tokens) const {
    return outputs_offset(tokens) + lines(4 * assignments(tokens) * hidden);
  }

  HEDDLE_FIELDS(hidden, intermediate, first_expert, local_experts, top_k, weighs_input, residual,
                gate_up_bytes, down_bytes, gate_up, down)
};

}  // namespace heddle::device
