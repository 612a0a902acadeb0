// Where a new token goes: its sequence, its position, its page.
#pragma once

#include "primitives/memory.cuh"
#include "primitives/sync.cuh"

namespace heddle {

struct KvTensorPointers {
  u8* codes;
  u8* scales;
  const float* given;  // the scale of all of the tensor, and its zero point where there is one
};

struct KvAppendParameters {
  const u8* k;  // [tokens][heads][head_dim]
  const u8* v;
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
};
static_assert(sizeof(KvAppendParameters) == 136, "the host's struct is the same");

struct Place {
  int position;  // in the sequence
  int page;
  int token;    // in the page
  bool inside;  // of the cache; else nothing is written
};

// The sequence of new token `token`, found by all lanes of the warp together, 32 runs of sequences
// at a time; `sequences` where the offsets end before it.
__device__ __forceinline__ int sequence_of(const int* offsets, int sequences, int token) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  int first = 0;
  int count = sequences;
  while (count > 1) {
    const int run = (count + 31) / 32;
    const int end = (lane + 1) * run < count ? (lane + 1) * run : count;
    const bool before = static_cast<int>(load_global_4(offsets + first + end)) <= token;
    const int passed = __popc(ballot(before)) * run;
    first += passed;
    count = run < count - passed ? run : count - passed;
  }
  return first;
}

// Of the thread's own token, where `first_token` is the smallest one of the warp. All lanes call
// it.
template <class Config>
__device__ __forceinline__ Place find_place(const KvAppendParameters& p, int first_token,
                                            int token) {
  int sequence = token;
  int end = token + 1;
  if (p.offsets != nullptr) {
    sequence = sequence_of(p.offsets, p.sequences, first_token);
    for (; sequence < p.sequences; ++sequence) {
      end = static_cast<int>(load_global_4(p.offsets + sequence + 1));
      if (end > token) break;
    }
  }
  Place place{0, 0, 0, false};
  if (sequence >= p.sequences || token >= p.tokens) return place;
  place.position = static_cast<int>(load_global_4(p.lengths + sequence)) - (end - token);
  if (place.position < 0) return place;
  if constexpr (Config::kPaged) {
    const int index = place.position / Config::kPageSize;
    if (index >= p.table_stride) return place;
    const int* entry = p.block_table + static_cast<i64>(sequence) * p.table_stride + index;
    place.page = static_cast<int>(load_global_4(entry));
    place.token = place.position % Config::kPageSize;
    place.inside = static_cast<u32>(place.page) < static_cast<u32>(p.pages);
  } else {
    place.page = sequence;
    place.token = place.position;
    place.inside = sequence < p.pages && place.position < p.page_tokens;
  }
  return place;
}

}  // namespace heddle
