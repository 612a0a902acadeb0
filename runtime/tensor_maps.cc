#include "runtime/tensor_maps.h"

#include <array>
#include <cstddef>

namespace heddle {
namespace {

// A layer's activations are a handful of buffers, used with one M at a time.
constexpr std::size_t kPlaces = 8;

struct Encoded {
  cuda::CUtensorMap map;
  TokenBoxes boxes;  // x is null where nothing is encoded yet
};

std::size_t place_of(const TokenBoxes& boxes) {
  // Buffers start at multiples of 256 bytes; Fibonacci hashing spreads what is left.
  const std::uint64_t mixed = (reinterpret_cast<std::uintptr_t>(boxes.x) >> 8) +
                              static_cast<std::uint64_t>(boxes.m) +
                              (static_cast<std::uint64_t>(boxes.k) << 20);
  return static_cast<std::size_t>((mixed * 0x9e3779b97f4a7c15ULL) >> 61);
}
static_assert(kPlaces == std::size_t{1} << (64 - 61));

// The units of a token's 128 bytes permuted as templates/primitives/wgmma.cuh wants them.
void encode(const cuda::Driver& driver, const TokenBoxes& boxes, cuda::CUtensorMap* map) {
  const std::uint64_t sizes[] = {static_cast<std::uint64_t>(boxes.k),
                                 static_cast<std::uint64_t>(boxes.m)};
  const std::uint64_t row_bytes[] = {2 * sizes[0]};
  const unsigned int box[] = {TokenBoxes::kColumns, static_cast<unsigned int>(boxes.box_tokens)};
  const unsigned int steps[] = {1, 1};
  const cuda::CUresult result = driver.cuTensorMapEncodeTiled(
      map,
      boxes.bf16 ? cuda::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : cuda::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
      2, const_cast<void*>(boxes.x), sizes, row_bytes, box, steps,
      cuda::CU_TENSOR_MAP_INTERLEAVE_NONE, cuda::CU_TENSOR_MAP_SWIZZLE_128B,
      cuda::CU_TENSOR_MAP_L2_PROMOTION_L2_256B, cuda::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != cuda::CUDA_SUCCESS) cuda::check(result, "cuTensorMapEncodeTiled");
}

}  // namespace

cuda::CUtensorMap* token_map(const cuda::Driver& driver, const TokenBoxes& boxes) {
  static thread_local std::array<Encoded, kPlaces> places{};
  Encoded& place = places[place_of(boxes)];
  if (place.boxes == boxes) return &place.map;
  cuda::refuse_forked();
  place.boxes = {};  // of no map, should encoding fail
  encode(driver, boxes, &place.map);
  place.boxes = boxes;
  return &place.map;
}

}  // namespace heddle
