// The RMSNorm of heads of K and Q on the host, with the bits that kv_append's kernel makes.
#ifndef HEDDLE_GENERATOR_KV_HEAD_NORM_H_
#define HEDDLE_GENERATOR_KV_HEAD_NORM_H_

#include <vector>

#include "heddle/kv_spec.h"

namespace heddle {

// Normalises a row of weights.size() elements in place: x * (1 / sqrt(mean(x^2) + epsilon)) *
// (weight + weight_offset), in FP32. `span`: which elements a lane of the kernel adds first, as
// span_of() of its configuration has it; the sum's bits depend on it.
// Precondition: the norm has an epsilon, and there are whole runs of 16 elements.
void normalize_head(const HeadNorm& norm, int span, const std::vector<float>& weights, float* row);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_KV_HEAD_NORM_H_
