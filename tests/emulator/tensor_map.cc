#include "tests/emulator/tensor_map.h"

#include <cstring>
#include <vector>

#include "tests/emulator/device.h"
#include "tests/emulator/swizzle.h"

namespace emulator {
namespace {

constexpr int kBoxColumns = 64;
constexpr std::uint32_t kRowBytes = 2 * kBoxColumns;
constexpr std::uint32_t kPattern = 1024;      // after which the swizzle repeats
constexpr std::uint32_t kBoxAlignment = 128;  // where a box that is not permuted may begin
constexpr std::int64_t kWord = 4;

void copy_words(std::uint32_t shared, const TensorMap& map, int column, int row,
                std::uint32_t barrier, unsigned blocks) {
  if (shared % kBoxAlignment != 0) fail("a tensor copy to where no box may begin");
  if (kWord * map.stride % kSwizzleUnit != 0)
    fail("a tensor map whose lines are not 16 bytes apart");
  if (kWord * column % kSwizzleUnit != 0) fail("a box that does not begin with a whole 16 bytes");
  std::vector<std::uint8_t> box(static_cast<std::size_t>(kWord * map.box_words));
  for (int c = 0; c < map.box_words; ++c) {
    if (row < 0 || row >= map.rows || column + c < 0 || column + c >= map.columns) continue;
    const std::uint8_t* from = map.matrix + kWord * (row * map.stride + column + c);
    check_global(from, kWord, false);
    std::memcpy(box.data() + kWord * c, from, kWord);
  }
  box_copy(shared, box, barrier, blocks);
}

}  // namespace

void copy_box(std::uint32_t shared, const TensorMap& map, int column, int row,
              std::uint32_t barrier, unsigned blocks) {
  if (map.box_words != 0) return copy_words(shared, map, column, row, barrier, blocks);
  if (shared % kPattern != 0) fail("a tensor copy to where its swizzle does not begin");
  std::vector<std::uint8_t> box(static_cast<std::size_t>(map.box_rows) * kRowBytes);
  for (int r = 0; r < map.box_rows; ++r) {
    for (int c = 0; c < kBoxColumns; c += 8) {
      if (row < 0 || row + r >= map.rows || column < 0 || column + c >= map.columns) continue;
      const std::uint8_t* from =
          map.matrix + 2 * (static_cast<std::int64_t>(row + r) * map.columns + column + c);
      check_global(from, kSwizzleUnit, false);
      const std::uint32_t to =
          swizzled(static_cast<std::uint32_t>(r) * kRowBytes + 2 * static_cast<unsigned>(c));
      std::memcpy(box.data() + to, from, kSwizzleUnit);
    }
  }
  box_copy(shared, box, barrier, blocks);
}

}  // namespace emulator
