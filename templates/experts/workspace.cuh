// What the launches of a layer of experts give each other, in their workspace; config.h says where.
#pragma once

#include "experts/config.h"
#include "experts/parameters.h"
#include "primitives/memory.cuh"
#include "schedule/listed_tiles.cuh"

namespace heddle {

// Config::value.layer is the layer.
template <class Config>
struct MoeWorkspace {
  static constexpr ExpertLayer kLayer = Config::value.layer;

  u8* base;
  int tokens;

  __device__ __forceinline__ explicit MoeWorkspace(const MoeParameters& layer)
      : base(layer.workspace), tokens(layer.tokens) {}

  __device__ __forceinline__ int* tile_count() const {
    return at<int>(kLayer.tiles_offset(tokens));
  }
  __device__ __forceinline__ ListedTile* tiles() const {
    return at<ListedTile>(kLayer.tiles_offset(tokens) + kLayer.kListOffset);
  }
  __device__ __forceinline__ int* assignments() const {  // of each row
    return at<int>(kLayer.assignments_offset(tokens));
  }
  __device__ __forceinline__ int* rows() const {  // of each assignment; -1: none
    return at<int>(kLayer.rows_offset(tokens));
  }
  __device__ __forceinline__ u8* gathered() const {  // [rows][hidden]
    return at<u8>(kLayer.gathered_offset(tokens));
  }
  __device__ __forceinline__ u8* middle() const {  // [rows][intermediate]
    return at<u8>(kLayer.middle_offset(tokens));
  }
  __device__ __forceinline__ u8* outputs() const {  // [rows][hidden] in FP32
    return at<u8>(kLayer.outputs_offset(tokens));
  }

  __device__ __forceinline__ int row_of(i64 assignment) const {
    return static_cast<int>(load_global_4_l2(rows() + assignment));
  }
  __device__ __forceinline__ int assignment_of(int row) const {
    return static_cast<int>(load_global_4_l2(assignments() + row));
  }

 private:
  template <class T>
  __device__ __forceinline__ T* at(i64 offset) const {
    return reinterpret_cast<T*>(base + offset);
  }
};

}  // namespace heddle
