// Where a new token goes: its sequence, its position, its page.
#pragma once

#include "kv_append/parameters.h"
#include "primitives/memory.cuh"
#include "primitives/sync.cuh"

namespace heddle {

struct Place {
  int position;  // in the sequence
  int page;
  int token;    // in the page
  bool inside;  // of the cache; else nothing is written
};

// The last sequence that begins at or before a place, found by all lanes of the block together, 32
// runs of sequences at a time; `begins`: whether a sequence does, and so do all before it. Not less
// than `sequences` where the one behind the last does.
template <class Begins>
__device__ __forceinline__ int last_sequence(int sequences, const Begins& begins) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  int first = 0;
  int count = sequences;
  while (count > 1) {
    const int run = (count + 31) / 32;
    const int end = (lane + 1) * run < count ? (lane + 1) * run : count;
    const int passed = __popc(ballot(begins(first + end))) * run;
    first += passed;
    count = run < count - passed ? run : count - passed;
  }
  return first;
}

// The sequence of new token `token`.
__device__ __forceinline__ int sequence_of(const int* offsets, int sequences, int token) {
  return last_sequence(sequences, [=](int sequence) {
    return static_cast<int>(load_global_4_l2(offsets + sequence)) <= token;
  });
}

// Where position `position` of a sequence lies.
template <class Config>
__device__ __forceinline__ Place place_at(const KvAppendParameters& p, int sequence, int position) {
  Place place{position, 0, 0, false};
  if (position < 0) return place;
  if constexpr (Config::value.paged) {
    const int index = position / Config::value.page_size;
    if (index >= p.table_stride) return place;
    const int* entry = p.block_table + static_cast<i64>(sequence) * p.table_stride + index;
    place.page = static_cast<int>(load_global_4_l2(entry));
    place.token = position % Config::value.page_size;
    place.inside = static_cast<u32>(place.page) < static_cast<u32>(p.pages);
  } else {
    place.page = sequence;
    place.token = position;
    place.inside = sequence < p.pages && position < p.page_tokens;
  }
  return place;
}

// The place in the cache of the thread's own token, or that of Q in its output, which is a page of
// all new tokens; `first_token` is not behind any token of the warp. All lanes call it.
template <class Config, bool kQuery>
__device__ __forceinline__ Place find_place(const KvAppendParameters& p, int first_token,
                                            int token) {
  int sequence = token;
  int end = token + 1;
  int length = 0;
  const auto read_length = [&] {
    if (sequence < p.sequences) length = static_cast<int>(load_global_4_l2(p.lengths + sequence));
  };
  if (p.offsets != nullptr) {
    sequence = sequence_of(p.offsets, p.sequences, first_token);
    read_length();  // on its way together with the end
    for (; sequence < p.sequences; ++sequence, read_length()) {
      end = static_cast<int>(load_global_4_l2(p.offsets + sequence + 1));
      if (end > token) break;
    }
  } else {
    read_length();
  }
  if (sequence >= p.sequences || token >= p.tokens) return {0, 0, 0, false};
  const int position = length - (end - token);
  if constexpr (kQuery) {
    return {position, 0, token, position >= 0};
  } else {
    return place_at<Config>(p, sequence, position);
  }
}

}  // namespace heddle
