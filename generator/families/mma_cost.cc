#include "generator/families/mma_cost.h"

namespace heddle {

const std::vector<CostParameter>& mma_cost_parameters() {
  static const std::vector<CostParameter> parameters{
      {"start", "clocks", "of a launch, up to the first products of its blocks", 2106},
      {"stage", "clocks", "of each stage: waiting for it and freeing it", 172},
      {"issue", "instructions a clock", "that the warps of an SM reach together", 2.66, kMostIssue},
      {"latency", "clocks", "from the request of a stage to its arrival", 311},
      {"sm_bytes", "bytes a clock", "of weights and tokens that one SM can take", 64.0,
       kMostSmBytes},
      {"sum_bytes", "bytes a clock", "of sums that warps and blocks add at the end", 19.8},
      {"exchange", "clocks", "to add the sums of two blocks that share K, or of two such pairs",
       562},
      {"overlap", "exponent", "how little computing and memory hinder each other", 3.24},
  };
  return parameters;
}

}  // namespace heddle
