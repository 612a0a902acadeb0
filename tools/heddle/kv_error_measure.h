// What attention loses by a quantised cache: on the host, in FP64, on seeded synthetic data.
#ifndef HEDDLE_TOOLS_HEDDLE_KV_ERROR_MEASURE_H_
#define HEDDLE_TOOLS_HEDDLE_KV_ERROR_MEASURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/spec.h"

namespace heddle {

// K, V and Q as a trained model has them in kind: K with channels that are large and far from zero
// in all tokens, V without any, Q so that some tokens weigh much more than others. Values are
// rounded to `dtype`.
struct KvSample {
  int heads = 0;  // of K and V
  int ratio = 1;  // heads of Q for each of them
  int head_dim = 0;
  int tokens = 0;
  std::vector<float> k;  // [tokens][heads][head_dim]
  std::vector<float> v;
  std::vector<float> q;  // [heads * ratio][head_dim]
};
KvSample make_kv_sample(int heads, int ratio, int head_dim, int tokens, DType dtype,
                        std::uint32_t seed = 1);

// How a cache may be kept, with its name: "int4 group 32, zero points". Both tensors are complete.
struct KvChoice {
  std::string name;
  KvTensor k;
  KvTensor v;
};
// Every type in the granularities that make sense for the head, the largest first.
std::vector<KvChoice> kv_choices(int heads, int head_dim, DType dtype);

struct KvError {
  double k_only = 0;  // |output - exact| / |exact|, with K alone quantised, V alone, and both
  double v_only = 0;
  double both = 0;
};
// Scales that a caller gives are those of the sample's own largest values. With scales per channel
// the last tokens, which fill no block, stay as they are.
KvError measure_kv_error(const KvSample& sample, const KvTensor& k_tensor,
                         const KvTensor& v_tensor);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_KV_ERROR_MEASURE_H_
