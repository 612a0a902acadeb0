#include "tests/emulator/multiplications.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "tests/emulator/clock.h"
#include "tests/emulator/device.h"
#include "tests/emulator/swizzle.h"
#include "tests/emulator/thread_index.h"
#include "tests/emulator/warp_lanes.h"

namespace emulator {
namespace {

constexpr unsigned kLanesOfWarp = 32;
constexpr unsigned kWarpsOfGroup = 4;
constexpr unsigned kRows = 16;       // of a warp
constexpr unsigned kMostDepth = 32;  // of codes; 16-bit values are half as many

// What the descriptor says besides where: see wgmma_columns().
constexpr std::uint64_t kAddressMask = 0x3fff;
constexpr std::uint64_t kSwizzled =
    std::uint64_t{1} << 62 | std::uint64_t{64} << 32 | std::uint64_t{1} << 16;

// The bytes of `units` units of 16 bytes of a column of B, or of a row of A. They are permuted
// whatever the start.
void load_units(std::uint64_t descriptor, unsigned number, unsigned units, void* bytes) {
  if ((descriptor & ~kAddressMask) != kSwizzled) fail("a descriptor of another layout");
  const auto start = static_cast<std::uint32_t>((descriptor & kAddressMask) << 4);
  for (unsigned unit = 0; unit < units; ++unit) {
    const std::uint32_t address = swizzled(start + 128 * number + kSwizzleUnit * unit);
    load_shared(address, static_cast<std::uint8_t*>(bytes) + kSwizzleUnit * unit, kSwizzleUnit, 0);
  }
}

using Lanes = Multiplication[kLanesOfWarp];

// The values of A's rows of the warp, by column, so that the sums of all rows grow together.
struct Operands {
  alignas(16) double a[kMostDepth][kRows];
  unsigned depth;
};

// Two rows, which the host multiplies at once.
using RowPair = double __attribute__((vector_size(16), may_alias));

void sum_products(const Operands& operands, const double (&b)[kMostDepth],
                  double (&products)[kRows]) {
  RowPair sums[kRows / 2] = {};
  for (unsigned k = 0; k < operands.depth; ++k) {
    const auto* const rows = reinterpret_cast<const RowPair*>(operands.a[k]);
    const RowPair factor = {b[k], b[k]};
    for (unsigned pair = 0; pair < kRows / 2; ++pair) sums[pair] += rows[pair] * factor;
  }
  std::memcpy(products, sums, sizeof sums);
}

void load_rows(const Lanes& lanes, Operands* operands) {
  const Multiplication& first = lanes[0];
  const double* const values = values_of(first.row_codes);
  if (first.a == nullptr) {
    operands->depth = kMostDepth;
    const unsigned warp = threadIdx.x / kLanesOfWarp % kWarpsOfGroup;
    for (unsigned row = 0; row < kRows; ++row) {
      std::uint8_t codes[kMostDepth];
      load_units(first.rows, kRows * warp + row, kMostDepth / kSwizzleUnit, codes);
      for (unsigned k = 0; k < kMostDepth; ++k) operands->a[k][row] = values[codes[k]];
    }
    return;
  }
  if (first.bytes) {
    operands->depth = kMostDepth;
    for (int lane = 0; lane < 32; ++lane) {
      const int g = lane / 4, t = lane % 4;
      for (int i = 0; i < 4; ++i) {
        for (int byte = 0; byte < 4; ++byte) {
          const auto code = static_cast<std::uint8_t>(lanes[lane].a[i] >> 8 * byte);
          operands->a[4 * t + byte + i / 2 * 16][g + i % 2 * 8] = values[code];
        }
      }
    }
    return;
  }
  operands->depth = kMostDepth / 2;
  const float* const halves = widened_halves(first.half);
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i) {
      const int row = g + i % 2 * 8, column = 2 * t + i / 2 * 8;
      const std::uint32_t pair = lanes[lane].a[i];
      operands->a[column][row] = halves[pair & 0xffff];
      operands->a[column + 1][row] = halves[pair >> 16];
    }
  }
}

void load_column(const Multiplication& first, unsigned column, double (&b)[kMostDepth]) {
  std::uint8_t bytes[kMostDepth];
  load_units(first.columns, column, kMostDepth / kSwizzleUnit, bytes);
  if (first.bytes) {
    const double* const values = values_of(first.column_codes);
    for (unsigned k = 0; k < kMostDepth; ++k) b[k] = values[bytes[k]];
    return;
  }
  const float* const halves = widened_halves(first.half);
  for (unsigned k = 0; k < kMostDepth / 2; ++k) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes + 2 * k, sizeof bits);
    b[k] = halves[bits];
  }
}

// To sum `number` of a lane.
void add_product(const Multiplication& lane, double product, int number) {
  if (lane.bytes && lane.row_codes == Codes::kInt8) {
    std::uint32_t& sum = static_cast<std::uint32_t*>(lane.d)[number];
    sum = (lane.add ? sum : 0) + static_cast<std::uint32_t>(static_cast<std::int32_t>(product));
    return;
  }
  float& sum = static_cast<float*>(lane.d)[number];
  sum = static_cast<float>((lane.add ? static_cast<double>(sum) : 0.0) + product);
}

void multiply_group(const Lanes& lanes) {
  const Multiplication& first = lanes[0];
  for (const Multiplication& lane : lanes) {
    if (lane.columns != first.columns || lane.rows != first.rows || lane.add != first.add ||
        lane.sums != first.sums) {
      fail("lanes of a warp multiply by different columns");
    }
  }
  Operands operands{};
  load_rows(lanes, &operands);
  for (int j = 0; j < 2 * first.sums; ++j) {
    double b[kMostDepth];
    load_column(first, static_cast<unsigned>(j), b);
    double products[kRows];
    sum_products(operands, b, products);
    for (int row = 0; row < static_cast<int>(kRows); ++row) {
      const Multiplication& lane = lanes[row % 8 * 4 + j % 8 / 2];
      add_product(lane, products[row], j / 8 * 4 + row / 8 * 2 + j % 2);
    }
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
      multiply_group(lanes);
    }
  }
  if (groups[0].empty()) return;
  // Who has waited knows that B has been read, and that all lanes had what they multiply.
  const Stamp read = actor_of(0).now();
  Clock waited;
  for (unsigned lane = 0; lane < kLanesOfWarp; ++lane) {
    waited.set(actor_of(lane).agent, groups[lane].back().time);
  }
  waited.set(read.agent, std::max(waited.of(read.agent), read.time));
  std::size_t first = read.agent;
  for (unsigned lane = 0; lane < kLanesOfWarp; ++lane) {
    first = std::min<std::size_t>(first, actor_of(lane).agent);
  }
  for (unsigned lane = 0; lane < kLanesOfWarp; ++lane) actor_of(lane).clock.join(waited, first);
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
// All lanes of the warp execute it together, so none is past it while another has yet to
// multiply.
void commit_multiplications() {
  warp_together("wgmma.commit_group");
  Actor& actor = actor_of(lane());
  multiplications_of(lane()).commit(actor.now().time);
  actor.advance();
}
void wait_for_multiplications(unsigned pending) {
  warp_together("wgmma.wait_group", &pending, finish);
}

}  // namespace emulator
