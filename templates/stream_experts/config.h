// The configuration of a layer of experts whose products stream weights past the rows of one expert
// after the other (stream_experts.cuh).
#pragma once

#include "experts/config.h"
#include "stream/config.h"

namespace heddle::device {

// Offsets of what a thread block has in shared memory, of one of the products.
struct SegmentPlaces {
  int experts;  // segments, first row block, row blocks; 16 bytes further each segment's expert
  int choices;  // of each segment the assignment of each column or -1; then their weights
  int rows;     // of each expert how many
  int chosen;   // of each assignment the expert or -1
  int tokens;   // buffers of rows
  int sums;     // of the warps, in slots
  int ring;     // stages of each warp, and its scales of 8 bits, widened
  int warp_bytes;
  int bytes;
};

// How a product's warps share its work.
struct SegmentShares {
  int groups;   // of warps, which take turns at the row blocks
  int buffers;  // of rows: with two, those of the next segment come while this one is multiplied

  HEDDLE_FIELDS(groups, buffers)
};

// The members of a product's StreamConfig have their meaning there, but for warps_k: the warps of a
// group, along K; and tokens: the rows of a tile.
struct StreamExpertsConfig {
  ExpertLayer layer;
  StreamConfig gate_up;
  StreamConfig down;
  SegmentShares gate_up_shares;
  SegmentShares down_shares;
  int most_tokens;  // of a launch

  HEDDLE_BOTH constexpr int warps() const { return gate_up.warps_k * gate_up_shares.groups; }
  // A warp that has all of K of a row block makes outputs of its sums. Others hand them to two
  // warps more, which add. One more copies rows.
  HEDDLE_BOTH static constexpr int adders(const StreamConfig& product) {
    return product.warps_k > 1 ? 2 : 0;
  }
  HEDDLE_BOTH constexpr int adders() const { return max_of(adders(gate_up), adders(down)); }
  HEDDLE_BOTH constexpr int threads() const { return 32 * (warps() + adders() + 1); }

  HEDDLE_BOTH constexpr int phases() const { return layer.router.phases() + 3; }
  // The phase of a launch: they are 0 to phases() - 1.
  HEDDLE_BOTH constexpr MoePhase phase(int launch) const {
    return launch < layer.router.phases()        ? MoePhase::kChoose
           : launch == layer.router.phases()     ? MoePhase::kGateUp
           : launch == layer.router.phases() + 1 ? MoePhase::kDown
                                                 : MoePhase::kSum;
  }

  // The workspace, behind what the router has there: what the first product gives the second one,
  // [assignments][intermediate] of 16 bits; what the second one gives the sum,
  // [assignments][hidden] of FP32.
  HEDDLE_BOTH constexpr i64 middle_offset(i64 tokens) const { return layer.router_end(tokens); }
  HEDDLE_BOTH constexpr i64 outputs_offset(i64 tokens) const {
    return middle_offset(tokens) +
           ExpertLayer::lines(2 * layer.assignments(tokens) * layer.intermediate);
  }
  HEDDLE_BOTH constexpr i64 workspace_bytes(i64 tokens) const {
    return outputs_offset(tokens) +
           ExpertLayer::lines(4 * layer.assignments(tokens) * layer.hidden);
  }

  // A segment is what a block has of a tile: its row blocks are neighbours in the list of all.
  HEDDLE_BOTH constexpr int most_segments(const StreamConfig& product) const {
    return static_cast<int>(ceil_div(layer.most_tiles(most_tokens), product.workers)) + 1;
  }
  // A slot is filled while another one is read.
  HEDDLE_BOTH static constexpr int slots(const StreamConfig& product, const SegmentShares& shares) {
    return adders(product) > 0 ? 2 * shares.groups : 0;
  }
  // Of each warp's stages, of each slot full and free, of each buffer of rows full and free; and
  // one that is not used, which FewMemory has for tokens.
  HEDDLE_BOTH constexpr int barriers(const StreamConfig& product,
                                     const SegmentShares& shares) const {
    return warps() * product.stages + 1 + 2 * slots(product, shares) + 2 * shares.buffers;
  }
  // A row: its bytes in shared memory lie 16 bytes further in their banks than those of the row
  // before.
  HEDDLE_BOTH static constexpr int token_row_bytes(const StreamConfig& product) {
    return 2 * Chunk::kColumns * product.shape.chunks + 16;
  }

  HEDDLE_BOTH constexpr SegmentPlaces places(const StreamConfig& product,
                                             const SegmentShares& shares) const {
    const auto lines = [](int bytes) { return (bytes + 127) / 128 * 128; };
    const int segments = most_segments(product);
    SegmentPlaces at{};
    at.experts = lines(8 * barriers(product, shares));
    at.choices = at.experts + lines(16 + 4 * segments);
    at.rows = at.choices + lines(2 * 4 * segments * product.tokens);
    at.chosen = at.rows + lines(4 * ((layer.experts() + 31) / 32 * 32));
    at.tokens = at.chosen + lines(4 * static_cast<int>(layer.assignments(most_tokens)));
    at.sums = at.tokens + lines(shares.buffers * product.tokens * token_row_bytes(product));
    at.ring = at.sums + lines(slots(product, shares) * product.warps_k * product.sum_bytes());
    at.warp_bytes = lines(product.stages * product.stage_bytes() + product.wide_scale_bytes());
    at.bytes = at.ring + warps() * at.warp_bytes;
    return at;
  }
  HEDDLE_BOTH constexpr SegmentPlaces gate_up_places() const {
    return places(gate_up, gate_up_shares);
  }
  HEDDLE_BOTH constexpr SegmentPlaces down_places() const { return places(down, down_shares); }
  HEDDLE_BOTH constexpr int gate_up_shared_bytes() const {
    return max_of(gate_up_places().bytes, gate_up.least_shared_bytes);
  }
  HEDDLE_BOTH constexpr int down_shared_bytes() const {
    return max_of(down_places().bytes, down.least_shared_bytes);
  }
  HEDDLE_BOTH constexpr int shared_bytes() const {
    return max_of(gate_up_shared_bytes(), down_shared_bytes());
  }

  HEDDLE_FIELDS(layer, gate_up, down, gate_up_shares, down_shares, most_tokens)
};

}  // namespace heddle::device
