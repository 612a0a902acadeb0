// A layer of experts, and where its launches keep what they give each other; the configuration of
// one whose products are tiles (experts.cuh).
#pragma once

#include "config/workspace.h"
#include "experts/router.h"
#include "tiles/config.h"

namespace heddle::device {

// The launches of a layer, in their order.
HEDDLE_ENUM(MoePhase,
            kChoose,  // a token's experts, where there are logits
            kRoute,   // which rows each expert has, and copies of their tokens
            kGateUp,  // the first product and its activation
            kDown,    // the second product
            kSum);    // of a token's experts

// The experts of a device are local_experts from first_expert on, then the shared experts, which
// every token takes. An assignment is a token's choice of an expert; assignment i is choice
// i % choices() of token i / choices(). A row is an assignment to an expert of this device; rows
// are sorted by expert, and of an expert by assignment.
struct ExpertLayer {
  int hidden;
  int intermediate;
  int first_expert;
  int local_experts;
  int shared_experts;
  int top_k;
  bool shared_gate;   // the shared experts' weight is the sigmoid of a number of the token, else 1
  bool weighs_input;  // the routing weight multiplies the sums of the first product
  bool residual;
  bool gathers;       // the tokens of the rows are copied
  bool act_order;     // their columns in the order of the expert's permutation
  int tile_rows;      // of a tile of either product
  i64 gate_up_bytes;  // packed weights of an expert
  i64 down_bytes;
  RouterConfig router;

  HEDDLE_BOTH constexpr int phases() const { return router.phases() + 4; }
  // The phase of a launch: they are 0 to phases() - 1.
  HEDDLE_BOTH constexpr MoePhase phase(int launch) const {
    return static_cast<MoePhase>(router.chooses() ? launch : launch + 1);
  }

  HEDDLE_BOTH constexpr int experts() const { return local_experts + shared_experts; }
  HEDDLE_BOTH constexpr int choices() const { return top_k + shared_experts; }
  HEDDLE_BOTH constexpr i64 assignments(i64 tokens) const { return tokens * choices(); }
  // What the router leaves in the workspace ends here.
  HEDDLE_BOTH constexpr i64 router_end(i64 tokens) const {
    return router.end_offset(tokens * top_k);
  }
  // A router chooses no expert of a token twice; a caller may.
  HEDDLE_BOTH constexpr i64 most_rows(i64 tokens) const {
    return tokens * (shared_experts + (router.chooses() ? min_of(top_k, local_experts) : top_k));
  }
  // The most tiles that the rows of all experts can have: each expert has one that is not full.
  HEDDLE_BOTH constexpr i64 most_tiles(i64 tokens) const {
    const i64 rows = most_rows(tokens);
    const i64 partly_full = experts() + rows / tile_rows;
    return rows < partly_full ? rows : partly_full;
  }

  // The workspace, behind everybody's counters and what the router has there: the number of tiles
  // and, 16 bytes further, the list of them (schedule/listed_tiles.cuh); of each row its
  // assignment; of each assignment its row, or -1 where the expert is not one of this device; with
  // gathers the tokens of the rows, [rows][hidden] of 16 bits; what the first product gives the
  // second one, [rows][intermediate] of 16 bits; what the second one gives the sum, [rows][hidden]
  // of FP32.
  static constexpr int kListOffset = 16;
  HEDDLE_BOTH static constexpr i64 lines(i64 bytes) { return ceil_div(bytes, 128) * 128; }
  HEDDLE_BOTH constexpr i64 tiles_offset(i64 tokens) const { return router_end(tokens); }
  HEDDLE_BOTH constexpr i64 assignments_offset(i64 tokens) const {
    return tiles_offset(tokens) + lines(kListOffset + 16 * most_tiles(tokens));
  }
  HEDDLE_BOTH constexpr i64 rows_offset(i64 tokens) const {
    return assignments_offset(tokens) + lines(4 * most_rows(tokens));
  }
  HEDDLE_BOTH constexpr i64 gathered_offset(i64 tokens) const {
    return rows_offset(tokens) + lines(4 * assignments(tokens));
  }
  HEDDLE_BOTH constexpr i64 middle_offset(i64 tokens) const {
    return gathered_offset(tokens) + (gathers ? lines(2 * most_rows(tokens) * hidden) : 0);
  }
  HEDDLE_BOTH constexpr i64 outputs_offset(i64 tokens) const {
    return middle_offset(tokens) + lines(2 * most_rows(tokens) * intermediate);
  }
  HEDDLE_BOTH constexpr i64 workspace_bytes(i64 tokens) const {
    return outputs_offset(tokens) + lines(4 * most_rows(tokens) * hidden);
  }

  // Columns of a token that a warp of kSum adds at a time, in groups of four for each lane. Of 2048
  // threads that an SM could have the registers of a product leave room for a few hundred: these
  // have 16 or 8 vectors of four on their way each.
  static constexpr int kSumGroup = 4 * 32;
  HEDDLE_BOTH constexpr int sum_groups(int threads) const {
    return max_of(1, (threads <= 384 ? 16 : 8) / choices());
  }
  HEDDLE_BOTH constexpr int sum_columns(int threads) const {
    return kSumGroup * sum_groups(threads);
  }

  // Shared memory of kRoute: assignments of each expert, and what each warp has of one.
  HEDDLE_BOTH constexpr int route_shared_bytes() const { return 4 * (experts() + 32); }

  HEDDLE_FIELDS(hidden, intermediate, first_expert, local_experts, shared_experts, top_k,
                shared_gate, weighs_input, residual, gathers, act_order, tile_rows, gate_up_bytes,
                down_bytes, router)
};

struct ExpertsConfig {
  ExpertLayer layer;
  TilesConfig gate_up;  // both have the same thread blocks
  TilesConfig down;

  HEDDLE_BOTH constexpr int threads() const { return gate_up.threads(); }

  // Behind the ring and the sums of a tile: the tile itself, kTileBytes, and of the first product
  // the tokens of its rows.
  static constexpr int kTileBytes = 16;
  HEDDLE_BOTH static constexpr int tile_offset(const TilesConfig& product) {
    return (product.shared_bytes() + 15) / 16 * 16;
  }
  HEDDLE_BOTH constexpr int table_offset() const { return tile_offset(gate_up) + kTileBytes; }
  HEDDLE_BOTH constexpr int gate_up_shared_bytes() const {
    return table_offset() + 4 * gate_up.tile_m;
  }
  HEDDLE_BOTH constexpr int down_shared_bytes() const { return tile_offset(down) + kTileBytes; }
  HEDDLE_BOTH constexpr int shared_bytes() const {
    return max_of(max_of(gate_up_shared_bytes(), down_shared_bytes()), layer.route_shared_bytes());
  }

  HEDDLE_FIELDS(layer, gate_up, down)
};

}  // namespace heddle::device
