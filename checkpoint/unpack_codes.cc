#include "checkpoint/unpack_codes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace heddle {
namespace {

// Nibble i of the word to byte i.
inline std::uint64_t spread_nibbles(std::uint32_t word) {
  std::uint64_t x = word;
  x = (x | x << 16) & 0x0000FFFF0000FFFF;
  x = (x | x << 8) & 0x00FF00FF00FF00FF;
  return (x | x << 4) & 0x0F0F0F0F0F0F0F0F;
}

// Pair i of 16 bits to nibble i.
inline std::uint32_t spread_pairs(std::uint32_t half) {
  std::uint32_t x = half & 0xFFFF;
  x = (x | x << 8) & 0x00FF00FF;
  x = (x | x << 4) & 0x0F0F0F0F;
  return (x | x << 2) & 0x33333333;
}

// The codes of one word to consecutive bytes.
template <int kBits>
inline void store_word(std::uint32_t word, std::uint8_t* out) {
  if constexpr (kBits == 8) {
    std::memcpy(out, &word, 4);
  } else if constexpr (kBits == 4) {
    const std::uint64_t codes = spread_nibbles(word);
    std::memcpy(out, &codes, 8);
  } else {
    const std::uint64_t codes[2] = {spread_nibbles(spread_pairs(word)),
                                    spread_nibbles(spread_pairs(word >> 16))};
    std::memcpy(out, codes, 16);
  }
}

// Words of row r lie at words + r * row_step + i * word_step. A cache line of codes is completed
// before the next one is touched: rows may lie a power of two apart.
template <int kBits>
void unpack_words(const PackedCodes& packed, const std::uint32_t* words, std::int64_t row_step,
                  std::int64_t word_step, std::int64_t rows, std::uint8_t* out) {
  constexpr int kCodes = 32 / kBits;
  constexpr std::int64_t kRun = std::max(64 / kCodes, 1);
  const std::int64_t count = packed.k / kCodes;
  for (std::int64_t begin = 0; begin < count; begin += kRun) {
    const std::int64_t end = std::min(count, begin + kRun);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::uint32_t* from = words + r * row_step;
      std::uint8_t* to = out + r * packed.k;
      for (std::int64_t i = begin; i < end; ++i) {
        store_word<kBits>(from[i * word_step], to + i * kCodes);
      }
    }
  }
}

// Bytes of eight rows of eight, transposed.
void transpose_8x8(std::array<std::uint64_t, 8>& x) {
  for (int distance = 4; distance >= 1; distance /= 2) {
    const int shift = 8 * distance;
    const std::uint64_t low = distance == 4   ? 0x00000000FFFFFFFF
                              : distance == 2 ? 0x0000FFFF0000FFFF
                                              : 0x00FF00FF00FF00FF;
    for (std::size_t i = 0; i < 8; ++i) {
      const auto step = static_cast<std::size_t>(distance);
      if ((i & step) != 0) continue;
      const std::uint64_t a = x[i];
      const std::uint64_t b = x[i + step];
      x[i] = (a & low) | (b & low) << shift;
      x[i + step] = (a >> shift & low) | (b & ~low);
    }
  }
}

// Precondition: first and rows are multiples of 8, and so is K.
void unpack_awq(const PackedCodes& packed, std::int64_t first, std::int64_t rows,
                std::uint8_t* out) {
  const std::int64_t stride = packed.n / 8;
  for (std::int64_t k = 0; k < packed.k; k += 8) {
    for (std::int64_t r = 0; r < rows; r += 8) {
      const std::uint32_t* word = packed.words + k * stride + (first + r) / 8;
      std::array<std::uint64_t, 8> block{};
      for (std::int64_t i = 0; i < 8; ++i) {
        block[static_cast<std::size_t>(i)] = spread_nibbles(word[i * stride]);
      }
      transpose_8x8(block);
      for (std::size_t i = 0; i < 8; ++i) {
        std::memcpy(out + (r + kAwqOrder[i]) * packed.k + k, &block[i], 8);
      }
    }
  }
}

void unpack_slowly(const PackedCodes& packed, std::int64_t first, std::int64_t rows,
                   std::uint8_t* out) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t k = 0; k < packed.k; ++k) {
      out[r * packed.k + k] = code_at(packed, first + r, k);
    }
  }
}

std::int64_t words_to_a_row(const PackedCodes& packed) {
  return (packed.k * packed.bits + 31) / 32;
}

}  // namespace

std::uint8_t code_at(const PackedCodes& packed, std::int64_t row, std::int64_t column) {
  switch (packed.order) {
    case CodeOrder::kAlongK:
      return static_cast<std::uint8_t>(
          stream_value(packed.words + row, packed.n, packed.bits, column));
    case CodeOrder::kRows:
      return static_cast<std::uint8_t>(
          stream_value(packed.words + row * words_to_a_row(packed), 1, packed.bits, column));
    case CodeOrder::kAwq:
      break;
  }
  const auto* const nibble = std::find(std::begin(kAwqOrder), std::end(kAwqOrder), row % 8);
  const std::uint32_t word = packed.words[column * (packed.n / 8) + row / 8];
  return static_cast<std::uint8_t>(word >> (4 * (nibble - std::begin(kAwqOrder))) & 0xF);
}

void unpack_codes(const PackedCodes& packed, std::int64_t first, std::int64_t rows,
                  std::uint8_t* out) {
  if (packed.order == CodeOrder::kAwq) {
    const bool whole = first % 8 == 0 && rows % 8 == 0 && packed.k % 8 == 0;
    return whole ? unpack_awq(packed, first, rows, out) : unpack_slowly(packed, first, rows, out);
  }
  const bool along_k = packed.order == CodeOrder::kAlongK;
  const std::int64_t row_step = along_k ? 1 : words_to_a_row(packed);
  const std::int64_t word_step = along_k ? packed.n : 1;
  const std::uint32_t* words = packed.words + first * row_step;
  const bool whole = packed.k * packed.bits % 32 == 0;
  if (whole && packed.bits == 4)
    return unpack_words<4>(packed, words, row_step, word_step, rows, out);
  if (whole && packed.bits == 8)
    return unpack_words<8>(packed, words, row_step, word_step, rows, out);
  if (whole && packed.bits == 2)
    return unpack_words<2>(packed, words, row_step, word_step, rows, out);
  unpack_slowly(packed, first, rows, out);
}

}  // namespace heddle
