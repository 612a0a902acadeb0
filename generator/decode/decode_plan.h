// DecodePlan: how the words of packed weights become pairs of 16-bit floats, or fours of INT8 or
// FP8 codes (docs/decode-plans.md).
//
// A plan is a list of operations on 32-bit registers, derived from a request. The CUDA text, the
// packer's order and the host evaluator are made from it. Registers 0 .. words - 1 hold the words
// of a unit, the smallest run of whole tiles that fills whole words; every operation defines a new
// register. A tile is 16 rows by 16 columns, to eight bits by 32.
#ifndef HEDDLE_GENERATOR_DECODE_DECODE_PLAN_H_
#define HEDDLE_GENERATOR_DECODE_DECODE_PLAN_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "heddle/inspect/decode_plan.h"
#include "heddle/spec.h"

namespace heddle {

enum class DecodeOpcode {
  kShr,     // dst = a >> imm
  kShl,     // dst = a << imm
  kLop3,    // dst = lut(a, imm, b, imm2 or group)   bitwise, any function of three inputs
  kPrmt,    // dst = four of the bytes of {b or imm2, a}: nibble i of imm names byte i; a is 0..3
  kLookup,  // dst = four of the bytes of {imm2, imm}: nibble i of register a names byte i
  kSelect,  // dst = four of the bytes of {b, a}: nibble i of register c names byte i
  kSub,     // dst = a - last                         two 16-bit floats at once
  kFma,     // dst = a * imm - last                   two 16-bit floats at once, one rounding
  kMulAdd,  // dst = a * imm + b                      two 16-bit floats at once, one rounding
  kMul,     // dst = a * imm                          two 16-bit floats at once
  kScale,   // dst = a * factor - last                two 16-bit floats at once, one rounding: those
            // that group outputs DecodeOp::factor and DecodeOp::group hold for DecodeOp::row
  kIntSub,  // dst = a - last                      32-bit integers, none of whose bytes borrows
  kIntMulAdd,  // dst = a * imm or c + b or imm2      32-bit integers, modulo 2^32
  kIntScale,   // dst = a * factor + last             32-bit integers, modulo 2^32: those that group
               // outputs DecodeOp::factor and DecodeOp::group hold
};

// What a kSub, kFma, kScale or kIntSub subtracts and a kIntScale adds; of a kLop3 the third input.
enum class LastOperand {
  kNone,
  kImmediate,  // DecodeOp::imm2
  kGroup,      // element DecodeOp::group of DecodePlan::group_outputs
  kRegister,   // register DecodeOp::b
};

struct DecodeOp {
  DecodeOpcode opcode = DecodeOpcode::kShr;
  int dst = 0;
  int a = 0;               // source register
  int b = -1;              // kLop3, kPrmt, kSub, kMulAdd, kIntMulAdd: a second source register; -1:
                           // imm2 in its place
  int c = -1;              // kSelect; kIntMulAdd: the factor, -1: imm in its place
  std::uint32_t imm = 0;   // kShr, kShl: bits; kLop3: mask; kPrmt: selector; kFma, kMulAdd, kMul,
                           // kIntMulAdd: factor; kLookup: bytes 0..3
  std::uint32_t imm2 = 0;  // kLop3: magic number; kPrmt, kLookup: bytes 4..7; kSub, kFma: what is
                           // subtracted, if immediate; kIntMulAdd: what is added
  std::uint8_t lut = 0;    // kLop3: immLut
  LastOperand last = LastOperand::kNone;
  int group = 0;    // of DecodePlan::group_outputs: the last operand
  int factor = 0;   // kScale, kIntScale: of DecodePlan::group_outputs
  int row = 0;      // kScale: 0 for row g, the low halves of both; 1 for row g + 8
  std::string why;  // for the comment in the rendered code
};

// What a code means.
enum class CodeKind {
  kInteger,  // DecodeRequest::bits and type, less the zero point
  kFloat,    // a sign, exponent_bits and mantissa_bits, IEEE-style with subnormals; of 16 bits
             // those of the destination, which takes no operation
  kTable,    // 16 values, DecodeRequest::table
};

// The order of a unit's elements in its words. Element e is element e % 8 of k tile e / 8: half e %
// 2 of register a_(e / 2 % 4) of that tile's A operand. To eight bits it is element e % 16 of k
// tile e / 16: byte e % 4 of register a_(e / 4 % 4).
enum class ElementOrder {
  kFragment,  // Heddle's own: the order that takes the fewest operations
  kLinear,    // element 0 in the lowest bits; fields of any width cross from word to word
  kAwq,       // field i of a word is element [0,2,4,6,1,3,5,7][i]
  kEvenOdd,   // even elements of a word low, odd ones high
  // A word has one row, even elements low, odd ones high: g's, then g + 8's. 4 and 8 bits.
  kTrtllm,
  kPermutation,  // field i of a word is element DecodeRequest::permutation[i]
  // To eight bits: two registers in the bytes of a word, row g's low, row g + 8's high. 4 bits.
  kByteFragment,
};

// What a word of integer zero points holds.
enum class ZeroOrder {
  kRows,      // in each half, the zero points of row g and of row g + 8 as two neighbouring fields
  kElements,  // one zero point for each element, in words of the same layout as the weights
};

// Asks for the conversion of one unit of packed weights. `dtype`: kFp16, kBf16, or kInt8 and
// kFp8E4m3, to which integers of 4 bits are decoded, in the order kByteFragment.
struct DecodeRequest {
  int bits = 4;
  WeightType type = WeightType::kUint;
  ZeroPoint zero_point = ZeroPoint::kNone;
  DType dtype = DType::kFp16;
  CodeKind kind = CodeKind::kInteger;
  int exponent_bits = 0;  // kFloat: 1 + exponent_bits + mantissa_bits == bits
  int mantissa_bits = 0;
  std::vector<float> table{};  // kTable: 16 values, rounded to dtype
  ElementOrder order = ElementOrder::kFragment;
  std::vector<int> permutation{};
  ZeroOrder zero_order = ZeroOrder::kRows;
  // Leave a multiplication by 2^DecodePlan::result_exponent to the scale: kFloat, and kInteger
  // where that saves operations.
  bool fold_power = false;
  // Multiply by the scale while decoding: the result is the weight times its scale, rounded once,
  // divided by 2^DecodePlan::result_exponent. Integers without zero points to BF16, whose scales
  // are below 2^61; to INT8 by an integer, exactly.
  bool fold_scale = false;
};

struct BitPlace {
  int word = 0;
  int bit = 0;
};

struct DecodePlan {
  DecodeRequest request;
  std::vector<DecodeOp> ops;
  std::vector<int> outputs;  // registers that hold a0, a1 ... ; element 2i is the low half of a_i,
                             // of eight bits element 4i its lowest byte
  // Element e has the bits [bits * field_of[e], bits * (field_of[e] + 1)) of a unit, as one
  // little-endian number. Empty where an element is scattered: then only bit_of tells.
  std::vector<int> field_of;
  int words = 1;                              // of a unit
  std::vector<std::vector<BitPlace>> bit_of;  // [element][bit of the code]
  // What `ops` take of a group of weights: of integer zero points magic numbers and subtrahends;
  // with fold_scale factors and subtrahends, from a word with the scale of row g low and that of
  // row g + 8 high (to INT8 both zero points in the lowest byte, the scales in bytes 2 and 3).
  std::vector<DecodeOp> group_ops;
  std::vector<int> group_outputs;
  int group_words = 0;
  double instructions_per_weight = 0;
  int result_exponent = 0;  // a weight is the result times 2^this; 0 unless something is folded
  int elements() const { return static_cast<int>(bit_of.size()); }
  // Whether codes become INT8 or FP8.
  bool makes_bytes() const {
    return request.dtype == DType::kInt8 || request.dtype == DType::kFp8E4m3;
  }
};

// Throws Error(kUnsupported, "decode.unsupported") where there is no exact plan.
DecodePlan derive_decode_plan(const DecodeRequest& request);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_DECODE_DECODE_PLAN_H_
