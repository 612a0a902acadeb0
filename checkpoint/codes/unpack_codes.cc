// Four words of 32 bits are handled as one vector: those of four neighbouring rows, which GPTQ and
// AWQ store side by side.
#include "checkpoint/codes/unpack_codes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <utility>

#include "packing/config.h"

namespace heddle {
namespace {

constexpr std::int64_t kLanes = 4;
constexpr std::int64_t kLine = 64;  // codes of a row that fill a cache line
using Words = std::uint32_t __attribute__((vector_size(16)));
using Bytes = std::uint8_t __attribute__((vector_size(16)));

void unpack_slowly(const PackedCodes& packed, std::int64_t first, std::int64_t rows,
                   std::int64_t begin, std::int64_t end, std::uint8_t* out) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t k = begin; k < end; ++k) {
      out[r * packed.k + k] = code_at(packed, first + r, k);
    }
  }
}

std::int64_t words_to_a_row(const PackedCodes& packed) {
  return (packed.k * packed.bits + 31) / 32;
}

// Codes 4 * kQuad .. 4 * kQuad + 3 of each lane's stream, one to a byte.
template <int kBits, std::size_t kQuad>
inline Words quad(const Words* stream) {
  if constexpr (kBits == 8) return stream[kQuad];
  constexpr std::uint32_t kPair = (1U << 2 * kBits) - 1;
  constexpr std::uint32_t kCode = (1U << kBits) - 1;
  constexpr int kBit = 4 * kBits * static_cast<int>(kQuad);
  constexpr int kShift = kBit % 32;
  Words x = stream[kBit / 32] >> kShift;
  if constexpr (kShift + 4 * kBits > 32) x |= stream[kBit / 32 + 1] << (32 - kShift);
  x = ((x & kPair) | (x & kPair << 2 * kBits) << (16 - 2 * kBits));
  return (x & kCode * 0x00010001) | (x & (kCode << kBits) * 0x00010001) << (8 - kBits);
}

// 16 codes of each of four rows: word i of quads[j] is four codes of row i.
inline void store_quads(const std::array<Words, 4>& quads, std::uint8_t* out, std::int64_t stride) {
  const Words low01 = __builtin_shufflevector(quads[0], quads[1], 0, 4, 1, 5);
  const Words low23 = __builtin_shufflevector(quads[2], quads[3], 0, 4, 1, 5);
  const Words high01 = __builtin_shufflevector(quads[0], quads[1], 2, 6, 3, 7);
  const Words high23 = __builtin_shufflevector(quads[2], quads[3], 2, 6, 3, 7);
  const Words rows[4] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                         __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                         __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                         __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (std::int64_t i = 0; i < kLanes; ++i) std::memcpy(out + i * stride, &rows[i], 16);
}

// A step is the fewest codes that fill whole words and whole vectors.
template <int kBits>
struct Step {
  static constexpr int kCodes = std::lcm(16, 32 / std::gcd(kBits, 32));
  static constexpr int kWords = kCodes * kBits / 32;
};

// Word j of row i is from[i * row_step + j * word_step].
template <int kBits>
inline void unpack_step(const std::uint32_t* from, std::int64_t row_step, std::int64_t word_step,
                        std::uint8_t* out, std::int64_t stride) {
  std::array<Words, Step<kBits>::kWords> stream;
  for (Words& words : stream) {
    if (row_step == 1) {
      std::memcpy(&words, from, sizeof words);
    } else {
      words = Words{from[0], from[row_step], from[2 * row_step], from[3 * row_step]};
    }
    from += word_step;
  }
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (store_quads({quad<kBits, 4 * i>(stream.data()), quad<kBits, 4 * i + 1>(stream.data()),
                  quad<kBits, 4 * i + 2>(stream.data()), quad<kBits, 4 * i + 3>(stream.data())},
                 out + 16 * i, stride),
     ...);
  }
  (std::make_index_sequence<Step<kBits>::kCodes / 16>());
}

// A cache line of codes is completed before the next one is touched: rows may lie a power of two
// apart.
template <int kBits>
void unpack_streams(const PackedCodes& packed, std::int64_t first, std::int64_t rows,
                    std::uint8_t* out) {
  using S = Step<kBits>;
  const bool along_k = packed.order == CodeOrder::kAlongK;
  const std::int64_t row_step = along_k ? 1 : words_to_a_row(packed);
  const std::int64_t word_step = along_k ? packed.n : 1;
  const std::uint32_t* words = packed.words + first * row_step;
  const std::int64_t whole_rows = rows / kLanes * kLanes;
  const std::int64_t whole_k = packed.k / S::kCodes * S::kCodes;
  for (std::int64_t line = 0; line < whole_k; line += kLine) {
    const std::int64_t end = std::min(whole_k, line + kLine);
    for (std::int64_t r = 0; r < whole_rows; r += kLanes) {
      for (std::int64_t k = line; k < end; k += S::kCodes) {
        unpack_step<kBits>(words + r * row_step + k / S::kCodes * S::kWords * word_step, row_step,
                           word_step, out + r * packed.k + k, packed.k);
      }
    }
  }
  unpack_slowly(packed, first, whole_rows, whole_k, packed.k, out);
  unpack_slowly(packed, first + whole_rows, rows - whole_rows, 0, packed.k,
                out + whole_rows * packed.k);
}

// Byte j of vector i becomes byte i of vector j.
inline void transpose(std::array<Bytes, 16>& x) {
  for (int stage = 0; stage < 4; ++stage) {
    std::array<Bytes, 16> y;
    for (std::size_t i = 0; i < 8; ++i) {
      y[2 * i] = __builtin_shufflevector(x[i], x[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21,
                                         6, 22, 7, 23);
      y[2 * i + 1] = __builtin_shufflevector(x[i], x[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28,
                                             13, 29, 14, 30, 15, 31);
    }
    x = y;
  }
}

// 32 rows by 16 columns: every other nibble, from nibble `odd` on, of four words.
inline void unpack_awq_nibbles(const std::uint32_t* words, std::int64_t stride, int odd,
                               std::uint8_t* out, std::int64_t k) {
  std::array<Bytes, 16> block;
  for (std::int64_t i = 0; i < 16; ++i) {
    Words four;
    std::memcpy(&four, words + i * stride, sizeof four);
    four = four >> 4 * odd & 0x0F0F0F0F;
    std::memcpy(&block[static_cast<std::size_t>(i)], &four, sizeof four);
  }
  transpose(block);
  for (std::size_t i = 0; i < 16; ++i) {
    const std::size_t nibble = i % 4 * 2 + static_cast<std::size_t>(odd);
    const auto row = static_cast<std::int64_t>(i / 4 * 8) + kAwqOrder[nibble];
    std::memcpy(out + row * k, &block[i], 16);
  }
}

void unpack_awq(const PackedCodes& packed, std::int64_t first, std::int64_t rows,
                std::uint8_t* out) {
  constexpr std::int64_t kRows = 8 * kLanes;
  const std::int64_t whole_rows = first % 8 == 0 ? rows / kRows * kRows : 0;
  const std::int64_t whole_k = packed.k / 16 * 16;
  const std::int64_t stride = packed.n / 8;
  for (std::int64_t r = 0; r < whole_rows; r += kRows) {
    for (std::int64_t k = 0; k < whole_k; k += 16) {
      const std::uint32_t* words = packed.words + k * stride + (first + r) / 8;
      for (const int odd : {0, 1}) {
        unpack_awq_nibbles(words, stride, odd, out + r * packed.k + k, packed.k);
      }
    }
  }
  unpack_slowly(packed, first, whole_rows, whole_k, packed.k, out);
  unpack_slowly(packed, first + whole_rows, rows - whole_rows, 0, packed.k,
                out + whole_rows * packed.k);
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
    case CodeOrder::kRowWords: {
      const std::int64_t per_word = 32 / packed.bits;
      const std::uint32_t* words = packed.words + row * ((packed.k + per_word - 1) / per_word);
      const std::uint32_t word = words[column / per_word] >> (column % per_word * packed.bits);
      return static_cast<std::uint8_t>(word & ((1U << packed.bits) - 1));
    }
    case CodeOrder::kColumns:
      return static_cast<std::uint8_t>(
          packed.words[column * (packed.n / 8) + row / 8] >> (4 * (row % 8)) & 0xF);
    case CodeOrder::kAwq:
      break;
  }
  const auto* const nibble = std::find(std::begin(kAwqOrder), std::end(kAwqOrder), row % 8);
  const std::uint32_t word = packed.words[column * (packed.n / 8) + row / 8];
  return static_cast<std::uint8_t>(word >> (4 * (nibble - std::begin(kAwqOrder))) & 0xF);
}

void unpack_codes(const PackedCodes& packed, std::int64_t first, std::int64_t rows,
                  std::uint8_t* out) {
  if (packed.order == CodeOrder::kAwq) return unpack_awq(packed, first, rows, out);
  if (packed.order == CodeOrder::kRowWords || packed.order == CodeOrder::kColumns) {
    return unpack_slowly(packed, first, rows, 0, packed.k, out);
  }
  switch (packed.bits) {
    case 2:
      return unpack_streams<2>(packed, first, rows, out);
    case 3:
      return unpack_streams<3>(packed, first, rows, out);
    case 4:
      return unpack_streams<4>(packed, first, rows, out);
    case 8:
      return unpack_streams<8>(packed, first, rows, out);
    default:
      return unpack_slowly(packed, first, rows, 0, packed.k, out);
  }
}

// The kernels' rule, which is of words of 32 bits: fields do not lie across these, so that longer
// and shorter words have the same bits over and over.
std::uint64_t gptq_word_bias(int bits, int word_bits) {
  const std::uint64_t word = device::GptqZeroBias{bits, 1}.of_word();
  return (word << 32 | word) & (~std::uint64_t{0} >> (64 - word_bits));
}

}  // namespace heddle
