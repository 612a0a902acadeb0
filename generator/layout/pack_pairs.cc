#include "generator/layout/pack_pairs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "generator/layout/fragment_order.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

constexpr int kHalfBits = 16;
constexpr std::size_t kTilePairs = 4;  // of a lane: elements 2p and 2p + 1, neighbouring columns
constexpr std::size_t kTilesOfHalf = 4;

// Eight codes of a row are one pair of each of the lanes 4g .. 4g + 3. Widened to 16 bits they lie
// as the halves of these lanes' words do.
using Bytes = std::uint8_t __attribute__((vector_size(8)));
using Halves = std::uint16_t __attribute__((vector_size(16)));
using Words = std::uint32_t __attribute__((vector_size(16)));

// A run of a code's bits, at the same place in both halves of a word.
struct Run {
  int word = 0;
  int bit = 0;    // its lowest one, in the half
  int from = 0;   // its lowest one, in the code
  int count = 0;  // 0: there is no such run
};

// Where a unit's pairs lie in fragment order, with constants for the compiler: whole codes first,
// as many as a half holds; the bits left in all the halves make the last pairs.
template <int kBitsOfCode>
struct Unit {
  static constexpr int kBits = kBitsOfCode;
  static constexpr int kElements = std::lcm(8, 32 / std::gcd(kBits, 32));
  static constexpr int kWords = kElements * kBits / 32;
  static constexpr std::size_t kPairs = kElements / 2;
  using Runs = std::array<Run, kBits>;

  static constexpr std::array<Runs, kPairs> runs() {
    std::array<Runs, kPairs> result{};
    std::array<int, kWords> used{};
    std::size_t pair = 0;
    for (int word = 0; word < kWords; ++word) {
      for (; used[word] + kBits <= kHalfBits; used[word] += kBits) {
        result[pair++][0] = {word, used[word], 0, kBits};
      }
    }
    for (; pair < kPairs; ++pair) {
      int have = 0;
      std::size_t run = 0;
      for (int word = 0; word < kWords; ++word) {
        const int count = std::min(kHalfBits - used[word], kBits - have);
        if (count == 0) continue;
        result[pair][run++] = {word, used[word], have, count};
        used[word] += count;
        have += count;
      }
    }
    return result;
  }
};

// Floats of four bits: signs above magnitudes (decode/bit_order.cc).
struct FourBitFloats : Unit<4> {
  static constexpr std::array<Runs, kPairs> runs() {
    constexpr int kSigns[kPairs] = {14, 12, 15, 13};
    std::array<Runs, kPairs> result{};
    for (int pair = 0; pair < static_cast<int>(kPairs); ++pair) {
      result[pair][0] = {0, 3 * pair, 0, 3};
      result[pair][1] = {0, kSigns[pair], 3, 1};
    }
    return result;
  }
};

template <std::size_t kMost>
constexpr std::size_t run_count(const std::array<Run, kMost>& runs) {
  std::size_t count = 0;
  while (count < kMost && runs[count].count != 0) ++count;
  return count;
}

template <class Order>
bool has_runs_of(const DecodePlan& plan) {
  constexpr auto kRuns = Order::runs();
  if (plan.bit_of.size() != 2 * kRuns.size()) return false;
  for (std::size_t element = 0; element < plan.bit_of.size(); ++element) {
    const int half = static_cast<int>(element % 2) * kHalfBits;
    for (const Run& run : kRuns[element / 2]) {
      for (int i = 0; i < run.count; ++i) {
        const BitPlace& place = plan.bit_of[element][run.from + i];
        if (place.word != run.word || place.bit != half + run.bit + i) return false;
      }
    }
  }
  return true;
}

template <Run kRun>
inline Halves place(Halves codes) {
  constexpr auto kMask = static_cast<std::uint16_t>(((1U << kRun.count) - 1) << kRun.from);
  return (codes & kMask) >> kRun.from << kRun.bit;
}

// Pair kPair of 64 columns. `lower` is row g, its first column, `upper` row g + 8.
template <class Order, std::size_t kPair>
inline void add_pair(const std::uint8_t* lower, const std::uint8_t* upper, Halves* words) {
  constexpr auto kRuns = Order::runs()[kPair % Order::kPairs];
  constexpr int kFirstWord = kPair / Order::kPairs * Order::kWords;
  constexpr FragmentElement kPlace = fragment_element(0, kPair % kTilePairs * 2);
  constexpr int kColumn = kPair / kTilePairs * 16 + kPlace.column;
  Bytes eight;
  static_assert(kPlace.row == 0 || kPlace.row == 8);
  std::memcpy(&eight, (kPlace.row == 0 ? lower : upper) + kColumn, sizeof eight);
  const Halves codes = __builtin_convertvector(eight, Halves);
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    ((words[kFirstWord + kRuns[i].word] |= place<kRuns[i]>(codes)), ...);
  }
  (std::make_index_sequence<run_count(kRuns)>());
}

// The words of lanes 4g .. 4g + 3 to where lane_word_offset has them; `at` is for lane 4g's.
template <int kBits>
inline void store_words(const Halves* halves, std::uint8_t* chunk, int lane) {
  const auto words = [&](int i) { return std::bit_cast<Words>(halves[i]); };
  const auto store = [&](int i, int quarter, Words value) {
    std::memcpy(chunk + lane_word_offset(kBits, lane, i) + 16 * quarter, &value, sizeof value);
  };
  int i = 0;
  for (; i + 4 <= kBits; i += 4) {
    const Words low01 = __builtin_shufflevector(words(i), words(i + 1), 0, 4, 1, 5);
    const Words low23 = __builtin_shufflevector(words(i + 2), words(i + 3), 0, 4, 1, 5);
    const Words high01 = __builtin_shufflevector(words(i), words(i + 1), 2, 6, 3, 7);
    const Words high23 = __builtin_shufflevector(words(i + 2), words(i + 3), 2, 6, 3, 7);
    store(i, 0, __builtin_shufflevector(low01, low23, 0, 1, 4, 5));
    store(i, 1, __builtin_shufflevector(low01, low23, 2, 3, 6, 7));
    store(i, 2, __builtin_shufflevector(high01, high23, 0, 1, 4, 5));
    store(i, 3, __builtin_shufflevector(high01, high23, 2, 3, 6, 7));
  }
  if constexpr ((kBits & 2) != 0) {
    store(i, 0, __builtin_shufflevector(words(i), words(i + 1), 0, 4, 1, 5));
    store(i, 1, __builtin_shufflevector(words(i), words(i + 1), 2, 6, 3, 7));
    i += 2;
  }
  if constexpr ((kBits & 1) != 0) store(i, 0, words(i));
}

template <class Order>
void pack_chunk(const ChunkRows& codes, std::uint8_t* chunk) {
  constexpr int kBits = Order::kBits;
  constexpr int kHalfBytes = WeightLayout::kRowBlock * kHalfK * kBits / 8;
  for (int half = 0; half < WeightLayout::kChunkK / kHalfK; ++half) {
    for (int g = 0; g < 8; ++g) {
      const std::int64_t at = g * codes.stride + half * kHalfK;
      Halves words[kBits] = {};
      [&]<std::size_t... kPair>(std::index_sequence<kPair...>) {
        (add_pair<Order, kPair>(codes.lower + at, codes.upper + at, words), ...);
      }
      (std::make_index_sequence<kTilesOfHalf * kTilePairs>());
      store_words<kBits>(words, chunk + half * kHalfBytes, 4 * g);
    }
  }
}

// Weights of 16 bits: each register of the A operand is two neighbouring ones of a row.
void pack_halves(const ChunkRows& codes, std::uint8_t* chunk) {
  constexpr int kBits = 16, kBytes = 2, kTileK = 16;
  constexpr int kHalfBytes = WeightLayout::kRowBlock * kHalfK * kBytes;
  for (int tile = 0; tile < WeightLayout::kChunkK / kTileK; ++tile) {
    constexpr int kTiles = static_cast<int>(kTilesOfHalf), kPairs = static_cast<int>(kTilePairs);
    std::uint8_t* const half = chunk + tile / kTiles * kHalfBytes;
    for (int lane = 0; lane < 32; ++lane) {
      for (int pair = 0; pair < kPairs; ++pair) {
        const FragmentElement place = fragment_element(lane, 2 * pair);
        const std::uint8_t* const row =
            (place.row < 8 ? codes.lower : codes.upper) + place.row % 8 * codes.stride;
        std::memcpy(half + lane_word_offset(kBits, lane, tile % kTiles * kPairs + pair),
                    row + kBytes * (kTileK * tile + place.column), 2 * kBytes);
      }
    }
  }
}

// Codes of four bits that become bytes: a word is four neighbouring ones of row g, and four of row
// g + 8 above them.
void pack_byte_fragments(const ChunkRows& codes, std::uint8_t* chunk) {
  constexpr int kBits = 4, kCodesOfWord = 4, kWords = 4;
  constexpr std::uint32_t kCodes = 0x0f0f0f0f;
  const auto four = [](const std::uint8_t* at) {
    std::uint32_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value & kCodes;
  };
  for (int half = 0; half < WeightLayout::kChunkK / kHalfK; ++half) {
    std::uint8_t* const to = chunk + half * WeightLayout::kRowBlock * kHalfK * kBits / 8;
    for (int lane = 0; lane < 32; ++lane) {
      const std::int64_t row = lane / 4 * codes.stride;
      for (int i = 0; i < kWords; ++i) {
        const std::int64_t at = row + half * kHalfK + 16 * i + kCodesOfWord * (lane % 4);
        const std::uint32_t word = four(codes.lower + at) | four(codes.upper + at) << kBits;
        std::memcpy(to + lane_word_offset(kBits, lane, i), &word, sizeof word);
      }
    }
  }
}

template <class Order>
PackChunk packer_of(const DecodePlan& plan) {
  return has_runs_of<Order>(plan) ? pack_chunk<Order> : nullptr;
}

}  // namespace

PackChunk chunk_packer(const DecodePlan& plan) {
  if constexpr (std::endian::native != std::endian::little) return nullptr;
  if (plan.request.order == ElementOrder::kByteFragment) return pack_byte_fragments;
  switch (plan.request.bits) {
    case 1:
      return packer_of<Unit<1>>(plan);
    case 2:
      return packer_of<Unit<2>>(plan);
    case 3:
      return packer_of<Unit<3>>(plan);
    case 4:
      if (const PackChunk packer = packer_of<FourBitFloats>(plan); packer != nullptr) return packer;
      return packer_of<Unit<4>>(plan);
    case 5:
      return packer_of<Unit<5>>(plan);
    case 6:
      return packer_of<Unit<6>>(plan);
    case 7:
      return packer_of<Unit<7>>(plan);
    case 8:
      return packer_of<Unit<8>>(plan);
    case 16:
      return pack_halves;
    default:
      return nullptr;
  }
}

}  // namespace heddle
