// What a launch of an attention kernel gives it: one struct for the runtime and the kernels.
#pragma once

namespace heddle::device {

struct AttentionParameters {
  const unsigned char* q;  // [sequences][query_len][heads][head_dim]
  const unsigned char* k;
  const unsigned char* v;
  const unsigned char* k_scales;
  const unsigned char* v_scales;
  const float* k_given;  // scale of the tensor and, behind it, its zero point
  const float* v_given;
  const int* block_table;  // [sequences][table_width]
  const int* lengths;      // [sequences]
  const float* slopes;     // [heads]
  const float* sinks;      // [heads]
  unsigned char* out;      // as q
  float* log_sums;         // [sequences][query_len][heads]
  unsigned char* workspace;
  const unsigned char* k_residual;  // [slots][kv_heads][tokens of a block][head_dim] as q
  const int* residual_slots;        // [sequences]; null: each sequence's number
  int sequences;
  int table_width;  // pages of a sequence; without pages: 1
  int pages;        // of the cache; without pages: sequences
  int capacity;     // tokens of a sequence; without pages: of a page
  int residual_slot_count;
};

}  // namespace heddle::device
