// Rows of K and V: as they come, and where they lie in the cache.
#pragma once

#include "kv_append/place.cuh"

namespace heddle {

// Rows before that of a token and head where `heads` of them share a page; of a row that `block`
// tokens share, `place` and `capacity` count these.
template <class Config>
__device__ __forceinline__ i64 rows_before(int heads, const Place& place, int head, int capacity,
                                           int block = 1) {
  const int page_tokens = Config::value.paged ? Config::value.page_size / block : capacity;
  const i64 page_rows = static_cast<i64>(page_tokens) * heads;
  const i64 in_page = Config::value.hnd ? static_cast<i64>(head) * page_tokens + place.token
                                        : static_cast<i64>(place.token) * heads + head;
  return place.page * page_rows + in_page;
}

// 16 elements of a lane, two runs of eight, as they come from memory.
struct Sixteen {
  u32 pairs[8];

  // Eight of them.
  __device__ __forceinline__ void set_8(int run, u32x4 v) {
    pairs[4 * run] = v.x, pairs[4 * run + 1] = v.y;
    pairs[4 * run + 2] = v.z, pairs[4 * run + 3] = v.w;
  }
  __device__ __forceinline__ u32x4 get_8(int run) const {
    return {pairs[4 * run], pairs[4 * run + 1], pairs[4 * run + 2], pairs[4 * run + 3]};
  }
  template <class Value>
  __device__ __forceinline__ void widen(float (&x)[16]) const {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      x[2 * i] = Value::low_to_float(pairs[i]);
      x[2 * i + 1] = Value::high_to_float(pairs[i]);
    }
  }
};

}  // namespace heddle
