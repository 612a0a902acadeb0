#include "runtime/launch/tensor_maps.h"

#include <array>
#include <cstddef>

namespace heddle {
namespace {

// A layer's activations are a handful of buffers, used with one M at a time.
constexpr std::size_t kPlaces = 8;

// Buffers start at multiples of 256 bytes; Fibonacci hashing spreads what is left.
std::size_t place_of(const void* buffer, std::int64_t m, std::int64_t other) {
  const std::uint64_t mixed = (reinterpret_cast<std::uintptr_t>(buffer) >> 8) +
                              static_cast<std::uint64_t>(m) +
                              (static_cast<std::uint64_t>(other) << 20);
  return static_cast<std::size_t>((mixed * 0x9e3779b97f4a7c15ULL) >> 61);
}
static_assert(kPlaces == std::size_t{1} << (64 - 61));

std::size_t place_of(const TokenBoxes& boxes) { return place_of(boxes.x, boxes.m, boxes.k); }
std::size_t place_of(const ScaleBoxes& boxes) {
  return place_of(boxes.scales, boxes.m, boxes.lines);
}

// A matrix of two sides, the inner one first, and boxes of it.
struct Matrix {
  const void* at;
  cuda::CUtensorMapDataType type;
  std::uint64_t columns, rows, row_bytes;
  unsigned int box_columns, box_rows;
  cuda::CUtensorMapSwizzle swizzle;
};

// The units of a token's 128 bytes permuted as templates/primitives/wgmma.cuh wants them.
Matrix matrix_of(const TokenBoxes& boxes) {
  const auto columns = static_cast<std::uint64_t>(boxes.k);
  return {
      boxes.x,
      boxes.bf16 ? cuda::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : cuda::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
      columns,
      static_cast<std::uint64_t>(boxes.m),
      2 * columns,
      TokenBoxes::kColumns,
      static_cast<unsigned int>(boxes.box_tokens),
      cuda::CU_TENSOR_MAP_SWIZZLE_128B};
}

Matrix matrix_of(const ScaleBoxes& boxes) {
  return {boxes.scales,
          cuda::CU_TENSOR_MAP_DATA_TYPE_UINT32,
          static_cast<std::uint64_t>(boxes.m),
          static_cast<std::uint64_t>(boxes.lines),
          4 * static_cast<std::uint64_t>(boxes.stride),
          static_cast<unsigned int>(boxes.box_tokens),
          1,
          cuda::CU_TENSOR_MAP_SWIZZLE_NONE};
}

void encode(const cuda::Driver& driver, const Matrix& matrix, cuda::CUtensorMap* map) {
  const std::uint64_t sizes[] = {matrix.columns, matrix.rows};
  const unsigned int box[] = {matrix.box_columns, matrix.box_rows};
  const unsigned int steps[] = {1, 1};
  const cuda::CUresult result = driver.cuTensorMapEncodeTiled(
      map, matrix.type, 2, const_cast<void*>(matrix.at), sizes, &matrix.row_bytes, box, steps,
      cuda::CU_TENSOR_MAP_INTERLEAVE_NONE, matrix.swizzle, cuda::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      cuda::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != cuda::CUDA_SUCCESS) cuda::check(result, "cuTensorMapEncodeTiled");
}

// Boxes that are all zero: nothing is encoded yet.
template <class Boxes>
struct Encoded {
  cuda::CUtensorMap map;
  Boxes boxes;
};

template <class Boxes>
cuda::CUtensorMap* map_of(const cuda::Driver& driver, const Boxes& boxes,
                          std::array<Encoded<Boxes>, kPlaces>& places) {
  Encoded<Boxes>& place = places[place_of(boxes)];
  if (place.boxes == boxes) return &place.map;
  cuda::refuse_forked();
  place.boxes = {};  // of no map, should encoding fail
  encode(driver, matrix_of(boxes), &place.map);
  place.boxes = boxes;
  return &place.map;
}

}  // namespace

cuda::CUtensorMap* token_map(const cuda::Driver& driver, const TokenBoxes& boxes) {
  static thread_local std::array<Encoded<TokenBoxes>, kPlaces> places{};
  return map_of(driver, boxes, places);
}

cuda::CUtensorMap* scale_map(const cuda::Driver& driver, const ScaleBoxes& boxes) {
  static thread_local std::array<Encoded<ScaleBoxes>, kPlaces> places{};
  return map_of(driver, boxes, places);
}

}  // namespace heddle
