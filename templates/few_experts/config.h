// The configuration of a layer of experts for few tokens (few_experts.cuh).
#pragma once

#include "experts/config.h"
#include "stream/config.h"

namespace heddle::device {

// Offsets of what a thread block has in shared memory, of one of the products.
struct FewPlaces {
  int experts;   // their number; 16 bytes further each one's number among the local ones
  int choices;   // of each of these experts, each token's assignment or -1; then their weights
  int ranks;     // of each expert 1 + its place among them, or 0
  int tokens;    // rows of X; the second product has none
  int sums;      // of the warps, in slots
  int totals;    // of a row block, over experts; the first product has none
  int meetings;  // sums of the cluster's blocks
  int ring;      // stages of each warp, and its scales of 8 bits, widened
  int warp_bytes;
  int bytes;
};

// How a product's warps share its work.
struct FewShares {
  int groups;  // of warps, which take turns at the experts
  int rows;    // row blocks that a warp multiplies at once

  HEDDLE_FIELDS(groups, rows)
};

// The members of a product's StreamConfig have their meaning there, but for warps_k: the warps of a
// group, along K.
struct FewExpertsConfig {
  ExpertLayer layer;
  StreamConfig gate_up;
  StreamConfig down;
  FewShares gate_up_shares;
  FewShares down_shares;

  HEDDLE_BOTH constexpr int warps() const { return gate_up.warps_k * gate_up_shares.groups; }
  static constexpr int kAdders = 2;  // warps more, which add
  HEDDLE_BOTH constexpr int threads() const { return 32 * (warps() + kAdders); }

  HEDDLE_BOTH constexpr int most_experts() const {
    return min_of(gate_up.tokens * layer.choices(), layer.experts());
  }

  HEDDLE_BOTH constexpr int phases() const { return layer.router.phases() + 2; }
  // The phase of a launch: they are 0 to phases() - 1.
  HEDDLE_BOTH constexpr MoePhase phase(int launch) const {
    return launch < layer.router.phases()    ? MoePhase::kChoose
           : launch == layer.router.phases() ? MoePhase::kGateUp
                                             : MoePhase::kDown;
  }

  // What the first product gives the second one: of each assignment a row of 16 bits, as many
  // columns as whole chunks have. They lie behind what the router has in the workspace.
  HEDDLE_BOTH constexpr int middle_row_bytes() const {
    return 2 * Chunk::kColumns * down.shape.chunks;
  }
  HEDDLE_BOTH constexpr i64 middle_offset(i64 tokens) const { return layer.router_end(tokens); }
  HEDDLE_BOTH constexpr i64 workspace_bytes(i64 tokens) const {
    return middle_offset(tokens) + layer.assignments(tokens) * middle_row_bytes();
  }

  // Row blocks of the second product that a cluster owns, at most, and those of them that one of
  // its blocks finishes.
  HEDDLE_BOTH constexpr int clusters() const { return down.workers / down.split_k; }
  HEDDLE_BOTH constexpr int most_own() const {
    return static_cast<int>(ceil_div(down.shape.row_blocks, clusters()));
  }
  HEDDLE_BOTH constexpr int most_finished() const {
    return static_cast<int>(ceil_div(most_own(), down.split_k));
  }
  HEDDLE_BOTH constexpr int meetings() const { return down.split_k > 1 ? most_finished() : 0; }

  // A slot is filled while another one is read.
  HEDDLE_BOTH static constexpr int slots(const FewShares& shares) { return 2 * shares.groups; }
  // Of each warp's stages, of the tokens, of each slot full and free, of each meeting.
  HEDDLE_BOTH constexpr int barriers(const StreamConfig& product, const FewShares& shares) const {
    return warps() * product.stages + 1 + 2 * slots(shares) + meetings();
  }

  HEDDLE_BOTH constexpr FewPlaces places(const StreamConfig& product, const FewShares& shares,
                                         int token_bytes, int totals, int meeting_sums) const {
    const auto lines = [](int bytes) { return (bytes + 127) / 128 * 128; };
    FewPlaces at{};
    at.experts = lines(8 * barriers(product, shares));
    at.choices = at.experts + lines(16 + 4 * most_experts());
    at.ranks = at.choices + lines(2 * 4 * most_experts() * product.tokens);
    at.tokens = at.ranks + lines(4 * layer.experts());
    at.sums = at.tokens + lines(token_bytes);
    const int sum = product.sum_bytes();
    at.totals = at.sums + slots(shares) * shares.rows * product.warps_k * sum;
    at.meetings = at.totals + totals * sum;
    at.ring = lines(at.meetings + meeting_sums * sum);
    at.warp_bytes =
        lines(shares.rows * (product.stages * product.stage_bytes() + product.wide_scale_bytes()));
    at.bytes = at.ring + warps() * at.warp_bytes;
    return at;
  }
  // A row of tokens: its bytes in shared memory lie 16 bytes further in their banks than those of
  // the row before.
  HEDDLE_BOTH constexpr int token_row_bytes() const {
    return 2 * Chunk::kColumns * gate_up.shape.chunks + 16;
  }
  HEDDLE_BOTH constexpr FewPlaces gate_up_places() const {
    return places(gate_up, gate_up_shares, gate_up.tokens * token_row_bytes(), 0, 0);
  }
  HEDDLE_BOTH constexpr FewPlaces down_places() const {
    return places(down, down_shares, 0, most_own(), meetings() * down.split_k);
  }
  HEDDLE_BOTH constexpr int gate_up_shared_bytes() const {
    return max_of(gate_up_places().bytes, gate_up.least_shared_bytes);
  }
  HEDDLE_BOTH constexpr int down_shared_bytes() const {
    return max_of(down_places().bytes, down.least_shared_bytes);
  }
  HEDDLE_BOTH constexpr int shared_bytes() const {
    return max_of(gate_up_shared_bytes(), down_shared_bytes());
  }

  HEDDLE_FIELDS(layer, gate_up, down, gate_up_shares, down_shares)
};

}  // namespace heddle::device
