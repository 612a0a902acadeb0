// Tensor copies, sm_90 and up: boxes of a matrix in global memory that a map describes.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

// What the host has encoded: the matrix, the box, the swizzle. A kernel takes it as a
// `const __grid_constant__` parameter, whose address it passes on.
struct alignas(128) TensorMap {
  u8 opaque[128];
};

// prefetch.tensormap: the map is used soon.
__device__ __forceinline__ void prefetch_tensor_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
// cp.async.bulk.tensor.2d: the box whose first element is in that column and row, to shared memory.
// What lies outside of the matrix arrives as zeros; the mbarrier counts the whole box's bytes.
__device__ __forceinline__ void tensor_copy(u32 shared, const TensorMap& map, int column, int row,
                                            u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared),
      "l"(&map), "r"(column), "r"(row), "r"(barrier)
      : "memory");
}
// tensor_copy() with .multicast: to the same place in the shared memory of every block of the
// cluster in the mask, each of whose own mbarriers counts the bytes in.
__device__ __forceinline__ void tensor_copy_to_all(u32 shared, const TensorMap& map, int column,
                                                   int row, u32 barrier, u32 mask) {
  asm volatile(
      "{ .reg .b16 m; cvt.u16.u32 m, %5; "
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], m; }" ::"r"(shared),
      "l"(&map), "r"(column), "r"(row), "r"(barrier), "r"(mask)
      : "memory");
}

}  // namespace heddle
