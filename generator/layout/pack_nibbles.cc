#include "generator/layout/pack_nibbles.h"

#include <bit>
#include <cstddef>
#include <cstring>

#include "heddle/weights.h"

namespace heddle {
namespace {

constexpr std::ptrdiff_t kTileK = 16;
constexpr std::ptrdiff_t kTilesToALoad = 4;
constexpr std::ptrdiff_t kLoadBytes = 512;
constexpr std::ptrdiff_t kLaneBytes = 16;

// Byte i of the half to byte 2 * i.
std::uint64_t spread_bytes(std::uint32_t half) {
  std::uint64_t x = half;
  x = (x | x << 16) & 0x0000FFFF0000FFFF;
  return (x | x << 8) & 0x00FF00FF00FF00FF;
}

// Of eight columns: the codes of row g in the low nibbles, those of row g + 8 in the high ones.
std::uint64_t row_pair(const std::uint8_t* row, std::int64_t stride) {
  constexpr std::uint64_t kNibbles = 0x0F0F0F0F0F0F0F0F;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::memcpy(&low, row, 8);
  std::memcpy(&high, row + 8 * stride, 8);
  return (low & kNibbles) | (high & kNibbles) << 4;
}

// The words of lanes 4 * g .. 4 * g + 3 for one tile. The word of lane t has, byte by byte, the
// columns 2t, 2t + 8, 2t + 1, 2t + 9: the two runs of eight columns, interleaved.
void pack_row_pair(const std::uint8_t* row, std::int64_t stride, std::uint8_t* lanes) {
  const std::uint64_t near = row_pair(row, stride);
  const std::uint64_t far = row_pair(row + 8, stride);
  for (std::ptrdiff_t half = 0; half < 2; ++half) {
    const std::uint64_t two = spread_bytes(static_cast<std::uint32_t>(near >> (32 * half))) |
                              spread_bytes(static_cast<std::uint32_t>(far >> (32 * half))) << 8;
    const auto first = static_cast<std::uint32_t>(two);
    const auto second = static_cast<std::uint32_t>(two >> 32);
    std::memcpy(lanes + (2 * half) * kLaneBytes, &first, 4);
    std::memcpy(lanes + (2 * half + 1) * kLaneBytes, &second, 4);
  }
}

}  // namespace

bool is_nibble_order(const std::vector<int>& field_of) {
  return std::endian::native == std::endian::little &&
         field_of == std::vector<int>{0, 4, 1, 5, 2, 6, 3, 7};
}

void pack_nibbles(const std::uint8_t* codes, std::int64_t stride, std::uint8_t* chunk) {
  for (std::ptrdiff_t g = 0; g < 8; ++g) {
    for (std::ptrdiff_t tile = 0; tile < WeightLayout::kChunkK / kTileK; ++tile) {
      pack_row_pair(codes + g * stride + tile * kTileK, stride,
                    chunk + tile / kTilesToALoad * kLoadBytes + 4 * g * kLaneBytes +
                        tile % kTilesToALoad * 4);
    }
  }
}

}  // namespace heddle
