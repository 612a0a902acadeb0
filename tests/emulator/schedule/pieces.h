// The pieces that a schedule of templates/schedule/ gives to the blocks of a launch.
#ifndef HEDDLE_TESTS_EMULATOR_SCHEDULE_PIECES_H_
#define HEDDLE_TESTS_EMULATOR_SCHEDULE_PIECES_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "schedule/piece.cuh"
#include "tests/emulator/device.h"
#include "tests/emulator/machine.h"
#include "tests/emulator/thread_index.h"

namespace heddle {

inline bool operator==(const Piece& a, const Piece& b) {
  return a.row_tile == b.row_tile && a.first_token == b.first_token &&
         a.shared_tile == b.shared_tile && a.begin == b.begin && a.end == b.end;
}

// The pieces of each block, in the order of the grid: x, then y, then z.
template <class P>
using BlockPieces = std::vector<std::vector<P>>;

template <class P, class Schedule>
std::vector<P> all_pieces(Schedule& schedule) {
  std::vector<P> pieces;
  for (P piece{}; schedule.next(piece);) pieces.push_back(piece);
  return pieces;
}

// Runs the grid. Every thread makes its schedule once the kernel ahead has ended and calls `check`
// with it, which has given its pieces, and them. Fails if threads of a block have other pieces than
// each other, or a copy of a schedule others than the schedule, whether it was made first or
// between two pieces.
template <class P = Piece, class Make, class Check>
BlockPieces<P> pieces_of(const emulator::Launch& launch, const emulator::GlobalMemory& memory,
                         const Make& make, const Check& check) {
  std::vector<std::optional<std::vector<P>>> blocks(static_cast<std::size_t>(launch.blocks));
  emulator::run(launch, memory, [&] {
    emulator::predecessor_has_ended();
    auto schedule = make();
    auto first_copy = schedule;
    std::vector<P> pieces;
    P piece{};
    if (schedule.next(piece)) pieces.push_back(piece);
    auto late_copy = schedule;
    for (const P& one : all_pieces<P>(schedule)) pieces.push_back(one);
    std::vector<P> of_late_copy = all_pieces<P>(late_copy);
    if (!pieces.empty()) of_late_copy.insert(of_late_copy.begin(), pieces.front());
    if (all_pieces<P>(first_copy) != pieces || of_late_copy != pieces) {
      emulator::fail("a copy has other pieces");
    }
    check(schedule, pieces);
    auto& block = blocks[blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)];
    if (block && *block != pieces) emulator::fail("two threads of a block have other pieces");
    block = std::move(pieces);
  });
  BlockPieces<P> all;
  for (auto& block : blocks) all.push_back(std::move(block.value()));
  return all;
}
template <class P = Piece, class Make>
BlockPieces<P> pieces_of(const emulator::Launch& launch, const Make& make) {
  return pieces_of<P>(launch, emulator::GlobalMemory{}, make,
                      [](const auto&, const std::vector<P>&) {});
}

// Tiles by row tile and first token, each with the units of K that it has.
using Tiles = std::map<std::pair<int, int>, int>;

// Whether the pieces, block after block, are the tiles, each of whose units comes once and behind
// those before it.
inline void expect_in_order_of_k(const BlockPieces<Piece>& blocks, const Tiles& tiles) {
  Tiles covered;
  for (const auto& block : blocks) {
    for (const Piece& piece : block) {
      int& units = covered[{piece.row_tile, piece.first_token}];
      ASSERT_EQ(piece.begin, units) << piece.row_tile << ", " << piece.first_token;
      ASSERT_GT(piece.end, piece.begin);
      units = piece.end;
    }
  }
  ASSERT_EQ(covered, tiles);
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_SCHEDULE_PIECES_H_
