#include "tests/emulator/multiplications.h"

#include <fmt/core.h>

#include <cstring>
#include <iterator>
#include <utility>

#include "tests/emulator/clock.h"
#include "tests/emulator/device.h"
#include "tests/emulator/warp_lanes.h"

namespace emulator {
namespace {

constexpr unsigned kLanesOfWarp = 32;
constexpr unsigned kDepth = 16;
constexpr int kRows = 16;       // of a warp
constexpr unsigned kUnit = 16;  // bytes that the swizzle moves

// What the descriptor says besides where: see wgmma_columns().
constexpr std::uint64_t kAddressMask = 0x3fff;
constexpr std::uint64_t kSwizzledColumns =
    std::uint64_t{1} << 62 | std::uint64_t{64} << 32 | std::uint64_t{1} << 16;

// 16 values of a column of B. Address bits 7 to 9 permute the units, whatever the start.
void load_column(std::uint32_t start, unsigned column, std::uint16_t (&values)[kDepth]) {
  for (unsigned unit = 0; unit < 2; ++unit) {
    std::uint32_t address = start + 128 * column + kUnit * unit;
    address ^= (address >> 7 & 7) << 4;
    load_shared(address, values + 8 * unit, kUnit, 0);
  }
}

using Lanes = Multiplication[kLanesOfWarp];

void multiply(const Lanes& lanes) {
  const Multiplication& first = lanes[0];
  for (const Multiplication& lane : lanes) {
    if (lane.columns != first.columns || lane.add != first.add || lane.sums != first.sums) {
      fail("lanes of a warp multiply by different columns");
    }
  }
  if ((first.columns & ~kAddressMask) != kSwizzledColumns) fail("a descriptor of another layout");
  // Values by column of A, so that the sums of all rows grow together: of each row in order.
  double a[kDepth][kRows];
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i) {
      const int row = g + i % 2 * 8, column = 2 * t + i / 2 * 8;
      const std::uint32_t pair = lanes[lane].a[i];
      a[column][row] = widen(first.half, static_cast<std::uint16_t>(pair));
      a[column + 1][row] = widen(first.half, static_cast<std::uint16_t>(pair >> 16));
    }
  }
  const auto start = static_cast<std::uint32_t>((first.columns & kAddressMask) << 4);
  for (int j = 0; j < 2 * first.sums; ++j) {
    std::uint16_t bits[kDepth];
    load_column(start, static_cast<unsigned>(j), bits);
    const auto sum_of = [&](int row) -> float& {
      return lanes[row % 8 * 4 + j % 8 / 2].d[j / 8 * 4 + row / 8 * 2 + j % 2];
    };
    double sums[kRows];
    for (int row = 0; row < kRows; ++row) sums[row] = first.add ? sum_of(row) : 0.0F;
    for (unsigned k = 0; k < kDepth; ++k) {
      const double b = widen(first.half, bits[k]);
      for (int row = 0; row < kRows; ++row) sums[row] += a[k][row] * b;
    }
    for (int row = 0; row < kRows; ++row) sum_of(row) = static_cast<float>(sums[row]);
  }
}

void finish(const WarpArguments& arguments) {
  const unsigned pending = *static_cast<const unsigned*>(arguments[0]);
  std::vector<Multiplications::Group> groups[kLanesOfWarp];
  for (unsigned lane = 0; lane < kLanesOfWarp; ++lane) {
    if (*static_cast<const unsigned*>(arguments[lane]) != pending) fail("lanes wait for others");
    groups[lane] = multiplications_of(lane).take(pending);
    if (groups[lane].size() != groups[0].size()) fail("lanes of a warp have other groups");
  }
  for (std::size_t i = 0; i < groups[0].size(); ++i) {
    for (std::size_t j = 0; j < groups[0][i].members.size(); ++j) {
      Lanes lanes;
      for (unsigned lane = 0; lane < kLanesOfWarp; ++lane) {
        if (groups[lane][i].members.size() != groups[0][i].members.size()) {
          fail("lanes of a warp have other multiplications");
        }
        lanes[lane] = groups[lane][i].members[j];
      }
      multiply(lanes);
    }
  }
  if (groups[0].empty()) return;
  // Who has waited knows that B has been read, and that all lanes had what they multiply.
  const Stamp read = actor_of(0).now();
  for (unsigned lane = 0; lane < kLanesOfWarp; ++lane) {
    Actor& actor = actor_of(lane);
    for (unsigned other = 0; other < kLanesOfWarp; ++other) {
      const std::uint32_t agent = actor_of(other).agent;
      const std::uint32_t time = groups[other].back().time;
      if (actor.clock.of(agent) < time) actor.clock.set(agent, time);
    }
    if (actor.clock.of(read.agent) < read.time) actor.clock.set(read.agent, read.time);
  }
  actor_of(0).advance();
}

}  // namespace

void Multiplications::commit(std::uint32_t time) {
  closed_.push_back(std::exchange(open_, {}));
  closed_.back().time = time;
}

std::vector<Multiplications::Group> Multiplications::take(unsigned pending) {
  if (closed_.size() <= pending) return {};
  const auto end = closed_.end() - static_cast<std::ptrdiff_t>(pending);
  std::vector<Group> taken(std::make_move_iterator(closed_.begin()), std::make_move_iterator(end));
  closed_.erase(closed_.begin(), end);
  return taken;
}

void multiply_later(const Multiplication& multiplication) {
  multiplications_of(lane()).add(multiplication);
}
void commit_multiplications() {
  Actor& actor = actor_of(lane());
  multiplications_of(lane()).commit(actor.now().time);
  actor.advance();
}
void wait_for_multiplications(unsigned pending) {
  warp_together("wgmma.wait_group", &pending, finish);
}

}  // namespace emulator
