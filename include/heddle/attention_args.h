// The arguments of a launch of decode_attention.
#ifndef HEDDLE_ATTENTION_ARGS_H_
#define HEDDLE_ATTENTION_ARGS_H_

#include <cstddef>
#include <cstdint>

#include "heddle/kv_args.h"

namespace heddle {

// All pointers are of device memory; what they point to may change between replays of a graph, the
// lengths too. Q and the output are dense.
struct DecodeAttentionArgs {
  const void* q = nullptr;     // [sequences][query_len][heads][head_dim] of the activation's dtype
  void* out = nullptr;         // the same
  std::int64_t sequences = 0;  // at most 1024; 0: nothing is launched
  // [sequences], tokens in the cache, those of Q among them: Q's last one has the position
  // lengths[s] - 1. Of a sequence without tokens the output is zero. Sequences times
  // the tokens that each may have, rounded up to 32, are fewer than 2^31.
  const std::int32_t* lengths = nullptr;
  KvCache cache;
  const float* slopes = nullptr;       // [heads]; required exactly with alibi given
  const float* sink_logits = nullptr;  // [heads]; required exactly with sink_logits
  float* log_sum_exp = nullptr;  // [sequences][query_len][heads]; required exactly with log_sum_exp
  // Kernel::max_workspace_bytes(). Zeroed once before its first use; every launch leaves it ready
  // for the next one. Launches that may run at the same time need their own.
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

}  // namespace heddle

#endif  // HEDDLE_ATTENTION_ARGS_H_
