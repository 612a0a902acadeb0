// What a block of quantize_weight takes along K.
#ifndef HEDDLE_GENERATOR_PLAN_QUANTIZE_SPAN_H_
#define HEDDLE_GENERATOR_PLAN_QUANTIZE_SPAN_H_

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "heddle/weights.h"

namespace heddle {

// The shortest run of whole chunks that is whole groups, too.
struct Span {
  int chunks = 1;
  int step_chunks = 1;  // at a time
  int groups = 1;       // in a span, the last of which may end with K
};

inline Span quantize_span(const WeightLayout& layout, const WeightSpec& weight) {
  constexpr int kMostStepChunks = 4;
  const std::int64_t chunk = WeightLayout::kChunkK;
  const std::int64_t whole = layout.chunks_per_row_block * chunk;
  const std::int64_t group = weight.group_size > 0 ? weight.group_size : whole;
  const std::int64_t columns = std::min(std::lcm(group, chunk), whole);
  Span span;
  span.chunks = static_cast<int>(columns / chunk);
  span.step_chunks = std::min(span.chunks, kMostStepChunks);
  span.groups = static_cast<int>((columns + group - 1) / group);
  return span;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLAN_QUANTIZE_SPAN_H_
