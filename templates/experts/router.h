// How a layer of experts comes from a router's logits to ids and routing weights (choose.cuh), and
// where they lie.
#pragma once

#include "config/config.h"
#include "config/workspace.h"

namespace heddle::device {

HEDDLE_SPEC_ENUM(RouterScores, kNone, kSoftmax, kSigmoid, kSqrtSoftplus);
HEDDLE_SPEC_ENUM(GroupScore, kMax, kTopTwo);
HEDDLE_ENUM(LogitType, kFp32, kFp16, kBf16);

struct RouterConfig {
  int experts;          // of the model
  RouterScores scores;  // kNone: ids and weights are given, and all else here is 0
  LogitType logits;
  bool renormalize;
  int scaling_bits;  // of the FP32
  bool correction_bias;
  bool expert_scales;
  int groups;
  int top_groups;
  GroupScore group_score;

  static constexpr int kMostGroups = 32;  // a lane has one

  HEDDLE_BOTH constexpr bool chooses() const { return scores != RouterScores::kNone; }
  HEDDLE_BOTH constexpr int phases() const { return chooses() ? 1 : 0; }  // kChoose
  // Whether experts are chosen by their scores, and not as well by the logits themselves.
  HEDDLE_BOTH constexpr bool compares_scores() const {
    return correction_bias || (groups > 1 && group_score == GroupScore::kTopTwo);
  }
  HEDDLE_BOTH constexpr int lane_experts() const { return (experts + 31) / 32; }
  HEDDLE_BOTH constexpr int group_experts() const { return experts / groups; }

  // In the workspace, behind everybody's counters, where the caller does not want them elsewhere:
  // ids, then routing weights. `assignments`: tokens times top_k.
  HEDDLE_BOTH static constexpr i64 ids_offset() { return Workspace::kCounterBytes; }
  HEDDLE_BOTH static constexpr i64 weights_offset(i64 assignments) {
    return ids_offset() + ceil_div(4 * assignments, 128) * 128;
  }
  // What else a layer has in its workspace begins here.
  HEDDLE_BOTH constexpr i64 end_offset(i64 assignments) const {
    if (!chooses()) return Workspace::kCounterBytes;
    return weights_offset(assignments) + ceil_div(4 * assignments, 128) * 128;
  }

  HEDDLE_FIELDS(experts, scores, logits, renormalize, scaling_bits, correction_bias, expert_scales,
                groups, top_groups, group_score)
};

}  // namespace heddle::device
