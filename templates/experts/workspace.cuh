// What the launches of a layer of experts give each other, in their workspace; config.h says where.
#pragma once

#include "experts/config.h"
#include "experts/parameters.h"
#include "primitives/memory.cuh"

namespace heddle {

template <class Config>
struct MoeWorkspace {
  int* first_rows;   // [local_experts + 1]
  int* assignments;  // of each row
  int* rows;         // of each assignment to an expert of this device
  u8* middle;        // [rows][intermediate]
  u8* outputs;       // [rows][hidden] in FP32

  __device__ __forceinline__ explicit MoeWorkspace(const MoeParameters& layer)
      : first_rows(at<int>(layer, Config::value.first_rows_offset())),
        assignments(at<int>(layer, Config::value.assignments_offset())),
        rows(at<int>(layer, Config::value.rows_offset(layer.tokens))),
        middle(at<u8>(layer, Config::value.middle_offset(layer.tokens))),
        outputs(at<u8>(layer, Config::value.outputs_offset(layer.tokens))) {}

 private:
  template <class T>
  static __device__ __forceinline__ T* at(const MoeParameters& layer, i64 offset) {
    return reinterpret_cast<T*>(layer.workspace + offset);
  }
};

// Whether an id is that of an expert of this device.
template <class Config>
__device__ __forceinline__ bool is_local(int id) {
  const int local = id - Config::value.first_expert;
  return local >= 0 && local < Config::value.local_experts;
}

}  // namespace heddle
