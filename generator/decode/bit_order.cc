// The fragment order of a width that divides 16 puts the two elements of a register at the same bit
// of both halves: one LOP3 isolates both.
//
// Other widths fill each half of each word with as many whole fields as it holds; the bits left
// over in all the words together make the last elements, a few bits from each word. Against planes
// of a power of two (3 = 2 + 1) this saves the operations that put an element together from its
// planes, for all elements but the last ones.
#include "generator/decode/bit_order.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <numeric>

#include "heddle/error.h"

namespace heddle {
namespace {

constexpr int kWordBits = 32;
constexpr int kHalfBits = 16;
constexpr std::array<int, 8> kAwqOrder{0, 2, 4, 6, 1, 3, 5, 7};

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCategory::kUnsupported, "decode.unsupported", why);
}

bool whole_fields(int bits) { return kWordBits % bits == 0; }

// field_of -> bit_of, the words taken as one little-endian number.
void spell_fields(DecodePlan& plan) {
  const int bits = plan.request.bits;
  for (const int field : plan.field_of) {
    std::vector<BitPlace> places;
    for (int j = 0; j < bits; ++j) {
      const int at = field * bits + j;
      places.push_back({at / kWordBits, at % kWordBits});
    }
    plan.bit_of.push_back(std::move(places));
  }
}

// element_at[i]: the element in field i of a word; repeated for each word of the unit.
void set_fields(DecodePlan& plan, const std::vector<int>& element_at) {
  const int fields = static_cast<int>(element_at.size());
  plan.field_of.assign(static_cast<std::size_t>(plan.words) * fields, -1);
  for (int word = 0; word < plan.words; ++word) {
    for (int i = 0; i < fields; ++i) {
      const int element = element_at[i];
      if (element < 0 || element >= fields || plan.field_of[word * fields + element] >= 0) {
        refuse(fmt::format("the permutation must name each of 0 .. {} once", fields - 1));
      }
      plan.field_of[word * fields + element] = word * fields + i;
    }
  }
}

std::vector<int> even_odd(int fields) {
  std::vector<int> element_at(fields);
  for (int i = 0; i < fields; ++i) {
    element_at[i] = i < fields / 2 ? 2 * i : 2 * (i - fields / 2) + 1;
  }
  return element_at;
}

// Elements 4i, 4i+1 (of 16 bits each register) belong to row g where i is even, else to row g + 8.
// A word of each row, in which even elements lie low and odd ones high.
void set_rows_apart(DecodePlan& plan) {
  const int bits = plan.request.bits;
  const int fields = kWordBits / bits;
  plan.words = 2;
  plan.field_of.resize(2 * static_cast<std::size_t>(fields));
  for (int row = 0; row < 2; ++row) {
    for (int i = 0; i < fields; ++i) {
      const int pair = i / 2 * 2 + row;  // the row's pairs are every other one
      const int place = i % 2 * fields / 2 + i / 2;
      plan.field_of[2 * pair + i % 2] = row * fields + place;
    }
  }
}

// Codes that become bytes: those of a register lie in the bytes of a word, the next register's,
// which is of row g + 8, above them.
void set_byte_fields(DecodePlan& plan) {
  constexpr int kRegisters = 4, kBytes = 4;
  plan.words = 2;
  for (int reg = 0; reg < kRegisters; ++reg) {
    for (int byte = 0; byte < kBytes; ++byte) {
      plan.field_of.push_back(reg / 2 * 2 * kBytes + 2 * byte + reg % 2);
    }
  }
}

// A pair of elements at bits [first, first + bits) of both halves of a word, from bit `from` of the
// code on.
void append_pair(DecodePlan& plan, int pair, int word, int first, int count) {
  for (int half = 0; half < 2; ++half) {
    auto& places = plan.bit_of[2 * pair + half];
    for (int j = 0; j < count; ++j) places.push_back({word, half * kHalfBits + first + j});
  }
}

void scatter_fragment(DecodePlan& plan) {
  const int bits = plan.request.bits;
  const int fields = kHalfBits / bits;
  const int spare = kHalfBits - fields * bits;
  plan.bit_of.resize(unit_elements(bits));
  int pair = 0;
  for (int word = 0; word < plan.words; ++word) {
    for (int i = 0; i < fields; ++i) append_pair(plan, pair++, word, i * bits, bits);
  }
  std::vector<int> left(plan.words, spare);
  for (; 2 * pair < plan.elements(); ++pair) {
    const int element = 2 * pair;
    for (int word = 0; word < plan.words; ++word) {
      const int have = static_cast<int>(plan.bit_of[element].size());
      const int count = std::min(left[word], bits - have);
      append_pair(plan, pair, word, kHalfBits - left[word], count);
      left[word] -= count;
    }
  }
}

// Six-bit floats. Sign and magnitude go different ways, so they need not lie together: magnitudes
// of five bits fill 16 bits better, and signs fill the rest. kMagnitudes is where magnitudes begin
// in the halves of each word; of all places for them, these take the fewest operations over e2m3,
// e3m2, FP16 and BF16.
constexpr int kSixBits = 6;
constexpr int kMagnitudes[3][3] = {{0, 5, 10}, {0, 5, 10}, {0, 5, -1}};

void scatter_six_bit_floats(DecodePlan& plan) {
  constexpr int kMagnitudeBits = kSixBits - 1;
  plan.bit_of.resize(unit_elements(kSixBits));
  std::vector<BitPlace> signs;
  int pair = 0;
  for (int word = 0; word < plan.words; ++word) {
    std::uint32_t used = 0;
    for (const int first : kMagnitudes[word]) {
      if (first < 0) continue;
      append_pair(plan, pair++, word, first, kMagnitudeBits);
      used |= ((1u << kMagnitudeBits) - 1) << first;
    }
    for (int bit = kHalfBits - 1; bit >= 0; --bit) {
      if ((used >> bit & 1) == 0) signs.push_back({word, bit});
    }
  }
  for (int i = 0; i < pair; ++i) append_pair(plan, i, signs[i].word, signs[i].bit, 1);
}

// Four-bit floats, the same way: signs above magnitudes. Operations for a word to BF16 and to FP16,
// and in brackets those that are no shifts up, which may be multiplications beside the others. Of
// all orders in which the three bits of each magnitude lie together, none is better than these:
//   magnitudes at    signs at
//   0  3  6  9       14 12 15 13       9 (6)   12 (7)
//   0  4  8 12        3  7 11 15      11 (7)   11 (7)   codes that lie whole
//   0  3  6  9       13 14 12 15      12 (8)   11 (6)
//   0  3  8 11        6  7 14 15      14 (10)   9 (6)
// At decode the first gains 2 to 10 % over whole codes to BF16; to FP16 it takes up to 1.5 % more
// at the same clock (H200).
constexpr int kFourBits = 4;
constexpr int kFourBitMagnitudes[4] = {0, 3, 6, 9};
constexpr int kFourBitSigns[4] = {14, 12, 15, 13};

void scatter_four_bit_floats(DecodePlan& plan) {
  plan.bit_of.resize(unit_elements(kFourBits));
  for (int pair = 0; pair < 4; ++pair) {
    append_pair(plan, pair, 0, kFourBitMagnitudes[pair], kFourBits - 1);
    append_pair(plan, pair, 0, kFourBitSigns[pair], 1);
  }
}

}  // namespace

int unit_elements(int bits) { return std::lcm(8, kWordBits / std::gcd(bits, kWordBits)); }

void set_bit_order(DecodePlan& plan) {
  const DecodeRequest& request = plan.request;
  const int bits = request.bits;
  const int elements = unit_elements(bits);
  plan.words = elements * bits / kWordBits;
  const bool by_word = whole_fields(bits);
  const int fields = kWordBits / bits;
  switch (request.order) {
    case ElementOrder::kFragment:
      if (bits == kSixBits && request.kind == CodeKind::kFloat) return scatter_six_bit_floats(plan);
      if (bits == kFourBits && request.kind == CodeKind::kFloat) {
        return scatter_four_bit_floats(plan);
      }
      if (!by_word) return scatter_fragment(plan);
      // A table lookup makes the elements of 16 bits together.
      if (request.kind == CodeKind::kTable) {
        plan.field_of.resize(elements);
        std::iota(plan.field_of.begin(), plan.field_of.end(), 0);
      } else {
        set_fields(plan, even_odd(fields));
      }
      break;
    case ElementOrder::kLinear:
      plan.field_of.resize(elements);
      std::iota(plan.field_of.begin(), plan.field_of.end(), 0);
      break;
    case ElementOrder::kAwq:
      if (bits != 4) refuse(fmt::format("the order awq is one of 4-bit codes, not {}", bits));
      set_fields(plan, {kAwqOrder.begin(), kAwqOrder.end()});
      break;
    case ElementOrder::kEvenOdd:
      if (!by_word) refuse(fmt::format("the order even_odd needs whole codes, not {} bits", bits));
      set_fields(plan, even_odd(fields));
      break;
    case ElementOrder::kTrtllm:
      if (request.kind == CodeKind::kTable) refuse("a code table has no order trtllm");
      if (bits != 4 && bits != 8) {
        refuse(fmt::format("the order trtllm is one of 4- and 8-bit codes, not {}", bits));
      }
      set_rows_apart(plan);
      break;
    case ElementOrder::kPermutation:
      if (!by_word || static_cast<int>(request.permutation.size()) != fields) {
        refuse(fmt::format("a permutation of {} elements does not fit words of {}-bit codes",
                           request.permutation.size(), bits));
      }
      set_fields(plan, request.permutation);
      break;
    case ElementOrder::kByteFragment:
      if (bits != 4 || request.kind != CodeKind::kInteger) {
        refuse("the order byte_fragment is one of integers of 4 bits");
      }
      set_byte_fields(plan);
      break;
  }
  spell_fields(plan);
}

}  // namespace heddle
