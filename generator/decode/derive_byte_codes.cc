// Integers of four bits to INT8 and to FP8, four at a time: the codes of a register lie in the
// bytes of a word, at the same bit p of each (ElementOrder::kByteFragment).
//
// INT8. Without zero points codes go to the tops of the bytes, which then are 16 times the weights:
// two's complement as they are, unsigned ones with the highest bit flipped, which takes off 8. With
// zero points codes stay at the bottom, under the byte's highest bit: 128 + code - zero has no
// borrow from the next byte, and without that bit it is code - zero.
//
// INT8 times an integer scale. Each byte shall become 128 + (code - zero) * scale, which is 0 to
// 255 where the product is an INT8, so that no byte borrows from or carries into another. As a
// 32-bit number these four bytes are the word of codes times the scale, plus 128 - zero * scale
// times 0x01010101: one multiplication and addition modulo 2^32. With the highest bits flipped they
// are INT8.
//
// FP8, e4m3. The bytes 0 to 16 count in equal steps of 2^-9, subnormals and the numbers behind
// them, so |weight| is its own code, under the sign. A negative weight of the low three bits l is l
// - 8, and 8 - l is (l XOR 7) + 1; so where `negative` is a byte's one or zero,
//
//   code = (l XOR 7 * negative) + 129 * negative
//
// and no byte carries, since 7 + 129 fits. With zero points l has seven bits and 7 is 127: the byte
// 128 + code - zero has its highest bit exactly where the weight is not negative. -0 never comes
// out.
#include <fmt/format.h>

#include "generator/decode/derivation.h"
#include "generator/decode/registers.h"

namespace heddle {
namespace {

constexpr int kIntegerBits = 4;
constexpr int kBytes = 4;  // of a register
constexpr std::uint8_t kAndXor = (kLutA & kLutB) ^ kLutC;

constexpr std::uint32_t each_byte(std::uint32_t byte) { return byte * 0x01010101u; }

// e4m3: the byte 1 is the smallest subnormal.
constexpr int kUnitOfE4m3 = -9;

class ByteCodeDerivation {
 public:
  explicit ByteCodeDerivation(DecodePlan& plan)
      : plan_(plan), weights_(plan.words), group_(1), shifted_(2 * plan.words, -1) {}

  void run() {
    if (with_scales()) {
      derive_scales();
    } else if (with_zeros()) {
      derive_zeros();
    }
    const bool to_int8 = plan_.request.dtype == DType::kInt8;
    for (int reg = 0; reg < plan_.elements() / kBytes; ++reg) {
      plan_.outputs.push_back(to_int8 ? int8(reg) : e4m3(reg));
    }
    plan_.ops = weights_.ops();
    plan_.group_ops = group_.ops();
    if (to_int8) {
      plan_.result_exponent = with_zeros() || with_scales() ? 0 : -kIntegerBits;
    } else {
      plan_.result_exponent = -kUnitOfE4m3;
    }
  }

 private:
  bool with_zeros() const { return plan_.request.zero_point == ZeroPoint::kInt; }
  bool with_scales() const { return plan_.request.fold_scale; }
  bool is_signed() const { return plan_.request.type == WeightType::kInt; }
  // The sign of two's complement flipped makes an unsigned code, of which 8 more is the zero.
  std::uint32_t sign_flip() const { return is_signed() ? 1u << (kIntegerBits - 1) : 0; }

  static int emit(Registers& to, DecodeOpcode opcode, int a, std::uint32_t imm, std::string why) {
    DecodeOp op;
    op.opcode = opcode;
    op.a = a;
    op.imm = imm;
    op.why = std::move(why);
    return to.emit(op);
  }
  // (a & mask) ^ flips, each of both the same in all bytes.
  static int and_xor(Registers& to, int a, std::uint32_t mask, std::uint32_t flips,
                     std::string why) {
    DecodeOp op;
    op.opcode = DecodeOpcode::kLop3;
    op.a = a;
    op.imm = each_byte(mask);
    op.imm2 = each_byte(flips);
    op.lut = kAndXor;
    op.why = std::move(why);
    return to.emit(op);
  }

  int word_of(int reg) const { return plan_.bit_of[kBytes * reg].front().word; }
  bool is_high(int reg) const { return plan_.bit_of[kBytes * reg].front().bit != 0; }

  // The register's codes at the bottoms of the bytes, or at their tops, beside what else is there.
  int at_bottom(int reg) {
    const int word = word_of(reg);
    if (!is_high(reg)) return word;
    int& known = shifted_[2 * word];
    if (known < 0) {
      known = emit(weights_, DecodeOpcode::kShr, word, kIntegerBits, "the high codes to bit 0");
    }
    return known;
  }
  int at_top(int reg) {
    const int word = word_of(reg);
    if (is_high(reg)) return word;
    int& known = shifted_[2 * word + 1];
    if (known < 0) {
      known = emit(weights_, DecodeOpcode::kShl, word, kIntegerBits, "the low codes to bit 4");
    }
    return known;
  }

  int int8(int reg) {
    constexpr std::uint32_t kTop = 0xf0, kSign = 0x80;
    if (with_scales()) {
      return and_xor(weights_, scaled(reg), 0xff, kSign, "minus 128: INT8, times its scale");
    }
    if (with_zeros()) {
      return and_xor(weights_, less_zero(reg), 0xff, kSign, "minus 128: the code less its zero");
    }
    return and_xor(weights_, at_top(reg), kTop, is_signed() ? 0 : kSign,
                   is_signed() ? "16 times the code" : "16 times the code less 8");
  }

  // 128 + code - zero point in each byte.
  int less_zero(int reg) {
    constexpr std::uint32_t kCode = 0xf, kOver = 0x80;
    DecodeOp op;
    op.opcode = DecodeOpcode::kIntSub;
    op.a = and_xor(weights_, at_bottom(reg), kCode, kOver | sign_flip(), "128 + the code");
    op.last = LastOperand::kGroup;
    op.group = row_of(reg);
    op.why = fmt::format("minus the zero point of row g{}", row_of(reg) == 0 ? "" : " + 8");
    return weights_.emit(op);
  }
  static int row_of(int reg) { return reg % 2; }

  // 128 + (code - zero point) * scale in each byte.
  int scaled(int reg) {
    constexpr std::uint32_t kCode = 0xf;
    DecodeOp op;
    op.opcode = DecodeOpcode::kIntScale;
    op.a = and_xor(weights_, at_bottom(reg), kCode, sign_flip(), "the code, unsigned");
    op.last = LastOperand::kGroup;
    op.factor = 2 * row_of(reg);
    op.group = 2 * row_of(reg) + 1;
    op.why = fmt::format("128 + (code - zero) * scale of row g{}", row_of(reg) == 0 ? "" : " + 8");
    return weights_.emit(op);
  }

  int e4m3(int reg) {
    if (with_zeros()) {
      const int byte = less_zero(reg);
      const int top = emit(weights_, DecodeOpcode::kShr, byte, 7, "the highest bits to bit 0");
      return signed_magnitude(byte, 0x7f, and_xor(weights_, top, 1, 1, "1 where it is negative"));
    }
    const int sign = kIntegerBits - 1 + (is_high(reg) ? kIntegerBits : 0);
    const int moved =
        emit(weights_, DecodeOpcode::kShr, word_of(reg), sign, "the codes' highest bits to bit 0");
    const int negative = and_xor(weights_, moved, 1, is_signed() ? 0 : 1, "1 where it is negative");
    return signed_magnitude(at_bottom(reg), 0x7, negative);
  }

  // For the low bits `mask` of register a.
  int signed_magnitude(int a, std::uint32_t mask, int negative) {
    constexpr std::uint32_t kSignAndOne = 0x81;
    const int flips =
        emit(weights_, DecodeOpcode::kIntMulAdd, negative, mask, "ones where it is negative");
    DecodeOp low;
    low.opcode = DecodeOpcode::kLop3;
    low.a = a;
    low.imm = each_byte(mask);
    low.b = flips;
    low.lut = kAndXor;
    low.why = "the magnitude, less one where it is negative";
    DecodeOp code;
    code.opcode = DecodeOpcode::kIntMulAdd;
    code.a = negative;
    code.imm = kSignAndOne;
    code.b = weights_.emit(low);
    code.why = "plus that one, and the sign: in units of 2^-9";
    return weights_.emit(code);
  }

  // In all bytes of a register for each row.
  void derive_zeros() {
    plan_.group_words = 1;
    constexpr std::uint32_t kCode = 0xf;
    const int bytes = emit(group_, DecodeOpcode::kPrmt, 0, 0, "both zero points to all bytes");
    const int upper = emit(group_, DecodeOpcode::kShr, bytes, kIntegerBits, "that of row g + 8");
    plan_.group_outputs = {and_xor(group_, bytes, kCode, sign_flip(), "the zero point of row g"),
                           and_xor(group_, upper, kCode, sign_flip(), "that of row g + 8 alone")};
  }

  // The scale of each row and what is added to the products with it.
  void derive_scales() {
    plan_.group_words = 1;
    for (const int row : {0, 1}) {
      const char* of_row = row == 0 ? "row g" : "row g + 8";
      // Byte 2 or 3 of the word above three bytes of zero.
      const int scale = emit(group_, DecodeOpcode::kPrmt, 0, 0x4442u + static_cast<unsigned>(row),
                             fmt::format("the scale of {}", of_row));
      plan_.group_outputs.push_back(scale);
      plan_.group_outputs.push_back(addend(row, scale));
    }
  }
  // The sum of 128 - zero * scale in all bytes.
  int addend(int row, int scale) {
    constexpr std::uint32_t kCode = 0xf, kFixedZero = 8, kOver = 0x80;
    const std::uint32_t minus_each = 0u - each_byte(1);
    DecodeOp op;
    op.opcode = DecodeOpcode::kIntMulAdd;
    op.imm2 = each_byte(kOver);
    op.why = "128 - zero * scale, in each byte";
    op.a = scale;
    op.imm = kFixedZero * minus_each;
    if (!with_zeros()) return group_.emit(op);
    DecodeOp product;
    product.opcode = DecodeOpcode::kIntMulAdd;
    product.a = zero_of(row, kCode);
    product.c = scale;
    product.why = "times its scale";
    op.a = group_.emit(product);
    op.imm = minus_each;
    return group_.emit(op);
  }
  int zero_of(int row, std::uint32_t code) {
    const int from = row == 0 ? 0
                              : emit(group_, DecodeOpcode::kShr, 0, kIntegerBits,
                                     "the zero point of row g + 8 to bit 0");
    DecodeOp op;
    op.opcode = DecodeOpcode::kLop3;
    op.a = from;
    op.imm = code;
    op.imm2 = sign_flip();
    op.lut = kAndXor;
    op.why = "the zero point, unsigned";
    return group_.emit(op);
  }

  DecodePlan& plan_;
  Registers weights_;
  Registers group_;
  std::vector<int> shifted_;  // of each word: down, up; -1: not made yet
};

}  // namespace

void derive_byte_codes(DecodePlan& plan) { ByteCodeDerivation(plan).run(); }

}  // namespace heddle
