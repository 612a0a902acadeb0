// DecodePlan: how the words of packed weights become pairs of 16-bit floats, or fours of INT8 or
// FP8 codes.
//
// A plan is a short list of typed operations on 32-bit registers. It is derived, never written by
// hand, and it is the one source of the CUDA text, of the packer's order inside a word, and of the
// host evaluator. Registers 0 .. words - 1 hold the packed words of a unit, the smallest run of
// whole tiles that fills whole words; every operation defines a new register. A tile is 16 rows by
// 16 columns, to eight bits by 32.
#ifndef HEDDLE_INSPECT_DECODE_PLAN_H_
#define HEDDLE_INSPECT_DECODE_PLAN_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "heddle/export.h"
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

// What a kSub, kFma, kScale or kIntSub subtracts, and what a kIntScale adds. Of a kLop3 the third
// input, if it is of the group.
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

// The order of a unit's elements in its words. Element e of a unit is element e % 8 of k tile
// e / 8: half e % 2 of register a_(e / 2 % 4) of that tile's A operand. To eight bits it is element
// e % 16 of k tile e / 16: byte e % 4 of register a_(e / 4 % 4).
enum class ElementOrder {
  kFragment,  // Heddle's own: the order that takes the fewest operations
  kLinear,    // element 0 in the lowest bits; fields of any width cross from word to word
  kAwq,       // field i of a word is element [0,2,4,6,1,3,5,7][i]
  kEvenOdd,   // even elements of a word low, odd ones high
  // A word holds elements of one row, even ones low, odd ones high: of a unit's two words the first
  // has row g's, the second row g + 8's. 4 and 8 bits.
  kTrtllm,
  kPermutation,  // field i of a word is element DecodeRequest::permutation[i]
  // To eight bits, the only order: the codes of two registers lie in the bytes of a word, those of
  // row g low, those of row g + 8 high. 4 bits.
  kByteFragment,
};

// What a word of integer zero points holds.
enum class ZeroOrder {
  kRows,      // in each half, the zero points of row g and of row g + 8 as two neighbouring fields
  kElements,  // one zero point for each element, in words of the same layout as the weights
};

// Asks for the conversion of one unit of packed weights. The first four members are all that an
// integer code in fragment order needs. `dtype`: kFp16, kBf16, or kInt8 and kFp8E4m3, to which
// integers of 4 bits are decoded, in the order kByteFragment.
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
  // Leave a multiplication by 2^DecodePlan::result_exponent to the scale: the last one of kFloat;
  // of kInteger only where that saves operations.
  bool fold_power = false;
  // Multiply by the scale in the operation that takes off the bias: the result is the weight times
  // its scale, rounded once, divided by 2^DecodePlan::result_exponent. Integers without zero points
  // to BF16, whose scales have room for the powers of two: they are infinite from 2^61 on. To INT8
  // by an integer, exactly, where the product with every code less its zero point is an INT8.
  bool fold_scale = false;
};

// What kernels ask for, without scales but the integers of two levels; throws Error(kUnsupported)
// for the order swizzle_128b, which none decodes. `dtype`: of the activations; by those in FP8
// codes are multiplied as e4m3.
HEDDLE_EXPORT DecodeRequest decode_request(const WeightSpec& weight, DType dtype);
// FP8, FP6 and FP4, or `dtype` itself: 1 + exponent_bits + mantissa_bits bits.
HEDDLE_EXPORT DecodeRequest float_request(int exponent_bits, int mantissa_bits, DType dtype);
// The sixteen values of NF4.
HEDDLE_EXPORT const std::vector<float>& nf4_values();
HEDDLE_EXPORT DecodeRequest table_request(const std::vector<float>& table, DType dtype);

struct BitPlace {
  int word = 0;
  int bit = 0;
};

struct DecodePlan {
  DecodeRequest request;
  std::vector<DecodeOp> ops;
  std::vector<int> outputs;  // registers that hold a0, a1 ... ; element 2i is the low half of a_i,
                             // of eight bits element 4i its lowest byte
  // Element e is the bits [bits * field_of[e], ...) of the words of a unit, the words taken as one
  // little-endian number. Empty where an element is scattered: then only bit_of tells.
  std::vector<int> field_of;
  int words = 1;                              // of a unit
  std::vector<std::vector<BitPlace>> bit_of;  // [element][bit of the code]
  // What `ops` take of a group of weights. With integer zero points: from their words to magic
  // numbers and subtrahends. With fold_scale: from a word with the scale of row g low and that of
  // row g + 8 high to factors and subtrahends; to INT8 from a word with both zero points in its
  // lowest byte, as in kRows, and the two scales in the bytes 2 and 3.
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
HEDDLE_EXPORT DecodePlan derive_decode_plan(const DecodeRequest& request);

// Executes the plan on the host with bit-exact binary16 or bfloat16 arithmetic. `zero_fields` holds
// the zero point of row g in its lowest `bits` bits and that of row g + 8 in the next ones. Element
// e of the result has the bits of the 16-bit float, or of the code of eight bits. Precondition: the
// plan has one word.
HEDDLE_EXPORT std::vector<std::uint16_t> evaluate_decode_plan(const DecodePlan& plan,
                                                              std::uint32_t word,
                                                              std::uint16_t zero_fields);
// The same for `plan.words` words and `plan.group_words` words of the group.
HEDDLE_EXPORT std::vector<std::uint16_t> evaluate_decode_plan(
    const DecodePlan& plan, const std::vector<std::uint32_t>& words,
    const std::vector<std::uint32_t>& group_words);

// The code of an element in the packed words, and its place filled with a code.
HEDDLE_EXPORT unsigned read_code(const DecodePlan& plan, const std::vector<std::uint32_t>& words,
                                 int element);
HEDDLE_EXPORT void write_code(const DecodePlan& plan, int element, unsigned code,
                              std::vector<std::uint32_t>& words);

// What a code has to become, by exact arithmetic and one rounding; no plan is asked. Infinities and
// NaN of a float code stay what they are where the destination has as many exponent bits (e5m2 to
// FP16); elsewhere such a code counts as the ordinary number that its bits would spell (e4m3 0x7f:
// 480). `zero` is the code of the zero point; it means nothing without integer zero points. The
// value is multiplied by `scale` and divided by 2^exponent before it is rounded. To eight bits it
// has to be exact: precondition.
HEDDLE_EXPORT std::uint16_t reference_decode(const DecodeRequest& request, unsigned code,
                                             unsigned zero, int exponent = 0, double scale = 1);

// The outcome of checking a plan against exact arithmetic: every code in every position, with
// neighbours all zero, all one and random; every code against every zero point in every position.
struct DecodeProof {
  std::uint64_t codes_checked = 0;
  std::uint64_t mismatches = 0;
  std::string first_mismatch;
};
HEDDLE_EXPORT DecodeProof prove_decode_plan(const DecodePlan& plan);

// One line per operation: what it does, to which bits, and why that immLut and that magic number.
HEDDLE_EXPORT std::string describe(const DecodePlan& plan);
// The request, every operation and the place of each bit as one JSON object; a stable format.
HEDDLE_EXPORT std::string decode_plan_to_json(const DecodePlan& plan);

// Every kind of request that has a plan, with its name: each width and type of integer with and
// without zero points, each float format, the table, each order of elements, 16 bits as they are,
// to FP16 and BF16; integers of 4 bits to INT8, also times integer scales, and FP8.
struct NamedDecodeRequest {
  std::string name;
  DecodeRequest request;
};
HEDDLE_EXPORT std::vector<NamedDecodeRequest> every_decode_request();

// The table of docs/decode-plans.md: operations per weight for every source, in Markdown.
HEDDLE_EXPORT std::string decode_cost_table();

}  // namespace heddle

#endif  // HEDDLE_INSPECT_DECODE_PLAN_H_
