#include "generator/families/stream/refuse.h"

#include <fmt/format.h>

#include "generator/families/stream/shape.h"
#include "generator/families/tile_fields.h"

namespace heddle {

std::vector<Problem> refuse_stream(const GemmSpec& spec) {
  Reasons reasons;
  reasons.unless(spec.weight.zero_point != ZeroPoint::kFloat, "/path",
                 "streamed weights know no float zero points", "\"hopper\"",
                 "\"auto\", \"ampere\"");
  reasons.unless(spec.shape.m_min <= kMostStreamTokens, "/path",
                 fmt::format("streamed weights serve up to {} tokens", kMostStreamTokens),
                 "\"hopper\"", "\"auto\", \"ampere\"");
  std::vector<Problem> problems = reasons.take();
  if (problems.empty() && !sets_any(spec.tile)) {
    problems.push_back({"/path", "the tokens of so long rows do not fit into the shared memory",
                        "\"hopper\"", "\"auto\", \"ampere\"", ""});
  } else if (problems.empty()) {
    problems.push_back(
        {"/tile",
         fmt::format("streams serve the fewest tokens of the spec, M = {}, and none of "
                     "them has this tile",
                     spec.shape.m_min),
         "", "no tile, or another path", ""});
  }
  return problems;
}

std::vector<Problem> refuse_byte_stream(const Plan& plan, const MRange& m) {
  const GemmSpec& spec = plan.spec.gemm();
  if (sets_any(spec.tile)) {
    return {
        {"/tile",
         "no stream has this tile, and nothing else multiplies X of 8 bits by such weights here",
         "", "a tile of streams, with the path hopper", ""}};
  }
  return {
      {"/shape/k",
       fmt::format("{} tokens of such long rows do not fit into the {} bytes of shared memory of "
                   "a thread block, and nothing else multiplies X of 8 bits by such weights here",
                   m.max, plan.target.shared_per_block),
       fmt::format("{}", spec.shape.k), "shorter rows, fewer tokens, or activations of 16 bits",
       ""}};
}

}  // namespace heddle
