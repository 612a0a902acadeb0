// Attention of the last tokens of each sequence over a key-value cache: the arguments of a launch,
// and its kernel.
#ifndef HEDDLE_DECODE_ATTENTION_H_
#define HEDDLE_DECODE_ATTENTION_H_

#include <cstdint>

#include "heddle/device_memory.h"
#include "heddle/export.h"
#include "heddle/kernel.h"
#include "heddle/kv_append.h"

namespace heddle {

// Memory may change between replays of a graph. Q and the output are dense. Memory is aligned to 16
// bytes, that of 32-bit numbers to 4.
struct DecodeAttentionArgs {
  DeviceInput q;               // [sequences][query_len][heads][head_dim] of the activation's dtype
  DeviceOutput out;            // the same
  std::int64_t sequences = 0;  // at most 1024; 0: nothing is launched
  // [sequences] int32, tokens in the cache, those of Q among them. Without tokens the output is
  // zero. Sequences times the tokens that each may have, rounded up to 32, are fewer than 2^31.
  DeviceInput lengths;
  KvCache cache;
  DeviceInput slopes;       // [heads] FP32; required exactly with alibi given
  DeviceInput sink_logits;  // [heads] FP32; required exactly with sink_logits
  // [sequences][query_len][heads] FP32; required exactly with log_sum_exp.
  DeviceOutput log_sum_exp;
  DeviceOutput workspace;  // max_workspace_bytes()
};

class HEDDLE_EXPORT DecodeAttentionKernel : public OperationKernel {
 public:
  static constexpr Op kOp = Op::kDecodeAttention;
  explicit DecodeAttentionKernel(const Kernel& kernel) : OperationKernel(kernel, kOp) {}

  void launch(const DecodeAttentionArgs& args, Stream stream) const;
};

}  // namespace heddle

#endif  // HEDDLE_DECODE_ATTENTION_H_
