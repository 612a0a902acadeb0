// A key-value cache in device memory, and the kernel that appends K and V of new tokens to it and
// prepares their Q.
#ifndef HEDDLE_KV_APPEND_H_
#define HEDDLE_KV_APPEND_H_

#include <cstdint>

#include "heddle/device_memory.h"
#include "heddle/export.h"
#include "heddle/kernel.h"

namespace heddle {

// One of the two tensors; docs/kv-caches-and-attention.md has the bytes, KvCacheLayout how many
// they are.
struct KvCacheTensor {
  DeviceOutput codes;   // aligned to 16 bytes
  DeviceOutput scales;  // aligned to 16 bytes; required exactly where scales are stored
  // FP32: with the granularity tensor the scale and, where codes are not symmetric, the zero point;
  // with NVFP4 the factor of all scales. Required exactly there.
  DeviceInput given;
  // With scales per channel, required exactly there: the window of tokens whose block is not full,
  // [slots][kv_heads][group_size][head_dim] of the activation's dtype, aligned to 16.
  DeviceOutput residual;
};

struct KvCache {
  KvCacheTensor k;
  KvCacheTensor v;
  // Pages that the tensors have; of a contiguous cache the sequences.
  std::int64_t pages = 0;
  // Contiguous: tokens that a sequence may have. Paged: 0, or the spec's page_size.
  std::int64_t page_tokens = 0;
  // [sequences][table_stride] int32, required exactly for a paged cache: the pages of each
  // sequence. Pages outside of the cache are neither written nor read.
  DeviceInput block_table;
  std::int64_t table_stride = 0;
  // With scales per channel: slots of the window, and int32 [sequences], each sequence's own; null:
  // its number. A sequence whose slot is none of these has no window.
  std::int64_t residual_slot_count = 0;
  DeviceInput residual_slots;
};

// K and V of new tokens, and Q where the spec has it. Memory may change between replays of a graph.
struct KvAppendArgs {
  DeviceInput k;  // [tokens][kv_heads][head_dim] of the activation's dtype
  DeviceInput v;
  // Elements from a token to the next, multiples of 8 below 2^31; 0: dense.
  std::int64_t k_stride = 0;
  std::int64_t v_stride = 0;
  std::int64_t tokens = 0;     // 0: nothing is launched
  std::int64_t sequences = 0;  // without offsets as many as tokens
  // [sequences + 1] int32: sequence s has the tokens offsets[s] to offsets[s + 1]. Null: one each.
  DeviceInput offsets;
  // [sequences] int32, tokens in the cache, the new ones among them, as attention takes them.
  DeviceInput lengths;
  // With rope.source table, required exactly there: FP32 [rotation_rows][rope.dim], of each
  // position the cosines of all pairs, then their sines. Tokens beyond it are not written.
  DeviceInput rotations;
  std::int64_t rotation_rows = 0;
  KvCache cache;
  // With query.heads, both required exactly there: Q, [tokens][query.heads][head_dim] of the
  // activation's dtype, and where it goes, dense, normalised and rotated as K. It may be Q itself
  // if that is dense, else it overlaps with no other memory. Tokens whose position is negative or
  // beyond the rotations are not written.
  DeviceInput q;
  std::int64_t q_stride = 0;
  DeviceOutput q_out;
  // With a norm, required exactly there: [head_dim] of the activation's dtype, of K's heads and
  // Q's.
  DeviceInput k_norm;
  DeviceInput q_norm;
};

class HEDDLE_EXPORT KvAppendKernel : public OperationKernel {
 public:
  static constexpr Op kOp = Op::kKvAppend;
  explicit KvAppendKernel(const Kernel& kernel) : OperationKernel(kernel, kOp) {}

  void launch(const KvAppendArgs& args, Stream stream) const;
};

}  // namespace heddle

#endif  // HEDDLE_KV_APPEND_H_
