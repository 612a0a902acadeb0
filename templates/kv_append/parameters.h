// What a launch of kv_append gives its kernel: one struct for the runtime and the kernel.
#pragma once

#include "config/config.h"

namespace heddle::device {

struct KvTensorPointers {
  unsigned char* codes;
  unsigned char* scales;
  const float* given;  // the scale of all of the tensor, and its zero point where there is one
};

struct KvAppendParameters {
  const unsigned char* k;  // [tokens][heads][head_dim]
  const unsigned char* v;
  i64 k_stride;  // bytes from token to token
  i64 v_stride;
  const int* offsets;      // [sequences + 1]; null: one new token for each sequence
  const int* lengths;      // [sequences], the new tokens included
  const float* rotations;  // [rotation_rows][cosines of all pairs, then sines]
  KvTensorPointers k_cache;
  KvTensorPointers v_cache;
  const int* block_table;  // [sequences][table_stride]
  int table_stride;
  int pages;
  int page_tokens;
  int tokens;
  int sequences;
  int rotation_rows;
  // The window of K with scales per channel: [slots][heads][tokens of a block][head_dim].
  unsigned char* residual;
  const int* residual_slots;  // [sequences]; null: each sequence's number
  int residual_slot_count;
  int head_parts;  // thread blocks that share the heads of a tile of tokens
  // [tokens][query_heads][head_dim], rows of q `q_stride` bytes apart, those of q_out dense.
  const unsigned char* q;
  i64 q_stride;
  unsigned char* q_out;
  // [head_dim], of the norm.
  const unsigned char* q_norm;
  const unsigned char* k_norm;
};

}  // namespace heddle::device
