// The tile of a kernel as JSON, the same in plans and in what tools report.
#ifndef HEDDLE_GENERATOR_PLAN_TILE_JSON_H_
#define HEDDLE_GENERATOR_PLAN_TILE_JSON_H_

#include <nlohmann/json.hpp>

#include "heddle/plan.h"

namespace heddle {

inline nlohmann::ordered_json tile_json(const GemmVariant& v) {
  return {{"m", v.tile_m},        {"n", v.tile_n},        {"k", v.stage_k},
          {"stages", v.stages},   {"split_k", v.split_k}, {"warps_m", v.warps_m},
          {"warps_n", v.warps_n}, {"warps_k", v.warps_k}};
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLAN_TILE_JSON_H_
