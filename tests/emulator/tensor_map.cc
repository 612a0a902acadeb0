#include "tests/emulator/tensor_map.h"

#include <cstring>
#include <vector>

#include "tests/emulator/device.h"

namespace emulator {
namespace {

constexpr int kBoxColumns = 64;
constexpr std::uint32_t kRowBytes = 2 * kBoxColumns;
constexpr std::uint32_t kUnit = 16;       // bytes that the swizzle moves
constexpr std::uint32_t kPattern = 1024;  // after which it repeats

}  // namespace

void copy_box(std::uint32_t shared, const TensorMap& map, int column, int row,
              std::uint32_t barrier, unsigned blocks) {
  if (shared % kPattern != 0) fail("a tensor copy to where its swizzle does not begin");
  std::vector<std::uint8_t> box(static_cast<std::size_t>(map.box_rows) * kRowBytes);
  for (int r = 0; r < map.box_rows; ++r) {
    for (int c = 0; c < kBoxColumns; c += 8) {
      if (row < 0 || row + r >= map.rows || column < 0 || column + c >= map.columns) continue;
      const std::uint8_t* from =
          map.matrix + 2 * (static_cast<std::int64_t>(row + r) * map.columns + column + c);
      check_global(from, kUnit, false);
      std::uint32_t to = static_cast<std::uint32_t>(r) * kRowBytes + 2 * static_cast<unsigned>(c);
      to ^= (to >> 7 & 7) << 4;
      std::memcpy(box.data() + to, from, kUnit);
    }
  }
  box_copy(shared, box, barrier, blocks);
}

}  // namespace emulator
