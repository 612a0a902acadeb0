// Which rows and which vectors of them a thread has.
#pragma once

#include "primitives/bits.cuh"
#include "primitives/dependent_launch.cuh"
#include "primitives/memory.cuh"
#include "row_transform/config.h"
#include "row_transform/parameters.h"

namespace heddle {

// Vectors lane, lane + kLanes, lane + 2 * kLanes ... of the block's part of a row.
template <class Config>
struct RowPlace {
  static constexpr int kLanes = Config::value.lanes;
  static constexpr int kVectors = Config::value.row_vectors();
  // One row at a time: no block begins one that is not there.
  static constexpr bool kRowIsThere = Config::value.rows == 1;

  int lane;       // of the row
  int first;      // the thread's first vector
  bool is_there;  // whether the row exists

  // Which of the block's rows the thread is in.
  static __device__ __forceinline__ int row_of_block() {
    return static_cast<int>(threadIdx.x) / kLanes;
  }
  __device__ __forceinline__ RowPlace() {
    lane = static_cast<int>(threadIdx.x) % kLanes;
    first = static_cast<int>(blockIdx.y) * Config::value.vectors * kLanes + lane;
    is_there = true;
  }
  __device__ __forceinline__ int vector(int i) const { return first + i * kLanes; }
  // Where the thread's vectors of kBytes begin in a row, and its vector i behind that: a constant,
  // so that one address serves all of them.
  template <class Byte, int kBytes = 16>
  __device__ __forceinline__ Byte* begin(Byte* row) const {
    return row + static_cast<i64>(kBytes) * first;
  }
  template <int kBytes = 16>
  static __device__ __forceinline__ i64 behind(int i) {
    return static_cast<i64>(kBytes) * kLanes * i;
  }
  // Whether the thread's vector i is in the row, which may be longer than it or not be there.
  __device__ __forceinline__ bool has(int i) const {
    const bool row = kRowIsThere || is_there;
    if (Config::value.parts == 1 && (i + 1) * kLanes <= kVectors) return row;
    return row && vector(i) < kVectors;
  }
};

// What the kernel before may have written is read, and what it may read is written, behind this.
// The next kernel starts before that: a GEMM then fills its ring of weights while this one waits.
template <class Config>
__device__ __forceinline__ void begin_rows() {
  if constexpr (Config::value.dependent) {
    launch_dependents();
    wait_for_predecessor();
  }
}

// Calls take(row, place) for each row of the thread, and for some that are not there, so that all
// lanes of a warp and all warps of a block call it together.
template <class Config, class Take>
__device__ __forceinline__ void for_each_row(int m, const Take& take) {
  const i64 step = static_cast<i64>(gridDim.x) * Config::value.rows;
  RowPlace<Config> place;
  for (i64 block = static_cast<i64>(blockIdx.x) * Config::value.rows; block < m; block += step) {
    const i64 row = block + RowPlace<Config>::row_of_block();
    place.is_there = row < m;
    take(row, place);
  }
}

// Makes the compiler forget how it came by a vector: while it waits it is held as 16-bit values
// only, in half the registers of FP32.
__device__ __forceinline__ u32x4 stay_packed(u32x4 v) {
  return {forget(v.x), forget(v.y), forget(v.z), forget(v.w)};
}

// Eight elements as FP32.
template <class Value>
__device__ __forceinline__ void widen_vector(u32x4 v, float (&x)[kVectorElements]) {
  const u32 pairs[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    x[2 * i] = Value::low_to_float(pairs[i]);
    x[2 * i + 1] = Value::high_to_float(pairs[i]);
  }
}
// Each rounded once.
template <class Value>
__device__ __forceinline__ u32x4 round_vector(const float (&x)[kVectorElements]) {
  return {Value::from_floats(x[0], x[1]), Value::from_floats(x[2], x[3]),
          Value::from_floats(x[4], x[5]), Value::from_floats(x[6], x[7])};
}

}  // namespace heddle
