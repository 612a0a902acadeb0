// Which number the bits of a field make at a place of a 16-bit float, and what takes the number
// back to the field's value.
#ifndef HEDDLE_GENERATOR_DECODE_FIELD_NUMBER_H_
#define HEDDLE_GENERATOR_DECODE_FIELD_NUMBER_H_

#include <cstdint>
#include <string>

#include "generator/decode/decode_plan.h"
#include "generator/decode/float16.h"

namespace heddle {

// The bit of each half at which a field comes to lie.
struct Position {
  int low = 0;
  int high = 0;
};

// A field of `bits` bits at bit p of a half, where M is the number of mantissa bits and values are
// counted in units of 2^-exponent:
// - under the bits of the float 2^(M - p - exponent), if p + bits <= M, it makes that number + the
//   value: bit p of the mantissa has the weight 2^-exponent there.
// - with nothing above it, if p + bits <= M + 1, its top bit is at most the lowest one of the
//   exponent. A float whose exponent field is one continues the subnormals, whose exponent field is
//   zero: so the half is the value, but for a power of two.
class FieldNumber {
 public:
  enum class Bare {
    kNone,
    kTop,  // those with p + bits == M + 1. Units are as small as the largest factor needs to make
           // them of such fields; of one and two bits they are one.
    kAll,  // Units halve the power of two between factors, which meet scales, and sums.
  };
  FieldNumber(const DecodeRequest& request, Bare bare);

  int exponent() const { return exponent_; }
  // The last bit that a field may begin at. Negative: it fits nowhere.
  int last_bit() const { return top_bit() - (bare_ == Bare::kNone ? 1 : 0); }
  bool is_bare(Position p) const { return lies_bare(p.low) || lies_bare(p.high); }
  bool is_at_top(Position p) const { return p.low == top_bit(); }

  // What lies above the field in each half.
  std::uint32_t magic(Position p) const;
  // What the halves have to be multiplied by; one for those with a magic number.
  std::uint32_t factor(Position p) const;
  // Magic number and fixed bias, which are to be subtracted of the product.
  std::uint32_t bias(Position p) const;
  // Where a low bit of the field comes to lie.
  std::uint32_t at(Position p, std::uint32_t low_bits) const {
    return low_bits << p.high << 16 | low_bits << p.low;
  }

  // The magic number in words, for explanations.
  std::string magic_text(Position p) const;
  // "1" or "2^-e".
  std::string unit_text() const;

 private:
  int top_bit() const { return format_.mantissa_bits + 1 - bits_; }
  bool lies_bare(int bit) const { return bare_ == Bare::kAll || bit == top_bit(); }
  int magic_exponent(int bit) const { return format_.mantissa_bits - bit - exponent_; }

  Float16Format format_;
  int bits_;
  int exponent_;
  Bare bare_;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_DECODE_FIELD_NUMBER_H_
