// The configuration of a layer of experts whose products are those of warpgroups
// (warpgroup_experts.cuh).
#pragma once

#include "experts/config.h"
#include "warpgroup/config.h"

namespace heddle::device {

struct WarpgroupExpertsConfig {
  ExpertLayer layer;
  WarpgroupConfig gate_up;  // both have the same tokens in a tile, and the same threads
  WarpgroupConfig down;
  WeightShape gate_up_shape;
  WeightShape down_shape;

  HEDDLE_BOTH constexpr int threads() const { return gate_up.threads(); }
  HEDDLE_BOTH constexpr int shared_bytes() const {
    return max_of(max_of(gate_up.shared_bytes(), down.shared_bytes()), layer.route_shared_bytes());
  }

  HEDDLE_FIELDS(layer, gate_up, down, gate_up_shape, down_shape)
};

}  // namespace heddle::device
