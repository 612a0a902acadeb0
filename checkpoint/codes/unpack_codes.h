// From the packed words of the formats of checkpoints to one code per byte.
#ifndef HEDDLE_CHECKPOINT_CODES_UNPACK_CODES_H_
#define HEDDLE_CHECKPOINT_CODES_UNPACK_CODES_H_

#include <cstdint>

namespace heddle {

enum class CodeOrder {
  kAlongK,    // GPTQ: [K * bits / 32, N], a stream of bits down each column
  kAwq,       // AWQ: [K, N / 8], eight columns to a word in AWQ's order; 4 bits
  kRows,      // compressed-tensors: [N, ceil(K * bits / 32)], a stream of bits along each row
  kRowWords,  // the same of older versions: [N, ceil(K / (32 / bits))], no code lies across two
              // words
  kColumns,   // Quark: [K, N / 8], eight columns to a word in their order; 4 bits
};

// AWQ: nibble i of word c is column 8 * c + kAwqOrder[i].
inline constexpr int kAwqOrder[8] = {0, 2, 4, 6, 1, 3, 5, 7};

struct PackedCodes {
  CodeOrder order = CodeOrder::kAlongK;
  int bits = 4;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const std::uint32_t* words = nullptr;  // little-endian
};

// Code [row, column], the slow way.
std::uint8_t code_at(const PackedCodes& packed, std::int64_t row, std::int64_t column);
// Rows first .. first + rows - 1 as [rows, K].
void unpack_codes(const PackedCodes& packed, std::int64_t first, std::int64_t rows,
                  std::uint8_t* out);

// GPTQ's first version takes one from every zero point, with one subtraction from each word: a
// field of 0 borrows from the next. This number, added to the word, gives all of them back. It is 0
// where fields lie across words: those lose one each, modulo 2^bits. Words have 8 to 64 bits.
std::uint64_t gptq_word_bias(int bits, int word_bits);

// Value i of a stream of `bits`-wide values whose words lie `stride` apart.
inline std::uint32_t stream_value(const std::uint32_t* words, std::int64_t stride, int bits,
                                  std::int64_t i) {
  const std::int64_t bit = i * bits;
  const auto shift = static_cast<unsigned>(bit % 32);
  const std::uint32_t* word = words + bit / 32 * stride;
  std::uint64_t value = *word;
  if (shift + static_cast<unsigned>(bits) > 32) value |= std::uint64_t{word[stride]} << 32;
  return static_cast<std::uint32_t>(value >> shift) & ((1U << bits) - 1);
}

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_CODES_UNPACK_CODES_H_
