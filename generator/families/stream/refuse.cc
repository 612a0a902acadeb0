#include "generator/families/stream/refuse.h"

#include <fmt/format.h>

#include "generator/families/stream/shape.h"
#include "generator/families/tile_fields.h"

namespace heddle {
namespace {

constexpr const char* kNothingElse =
    "and nothing else multiplies X of 8 bits by weights of 4 bits here";

}  // namespace

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

std::vector<Problem> refuse_byte_stream_tile() {
  return {{"/tile", fmt::format("no stream has this tile, {}", kNothingElse), "",
           "a tile of streams that fits into the shared memory, with the path hopper", ""}};
}

std::vector<Problem> refuse_long_rows(const Plan& plan, const MRange& m, std::int64_t most) {
  const std::string fewer = most > 0 ? fmt::format("M up to {}, ", most) : "";
  return {{"/shape/k",
           fmt::format("with M = {} such long rows of X do not fit into the {} bytes of shared "
                       "memory of a thread block, {}",
                       m.max, plan.target.shared_per_block, kNothingElse),
           fmt::format("{}", plan.spec.gemm().shape.k),
           fmt::format("shorter rows, {}or activations of 16 bits", fewer), ""}};
}

}  // namespace heddle
