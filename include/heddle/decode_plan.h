// DecodePlan: how one 32-bit word of packed weights becomes pairs of 16-bit floats.
//
// A plan is a short list of typed operations on 32-bit registers. It is derived, never written by
// hand, and it is the one source of the CUDA text, of the packer's order inside a word, and of the
// host evaluator. Register 0 holds the packed word; every operation defines a new register.
#ifndef HEDDLE_DECODE_PLAN_H_
#define HEDDLE_DECODE_PLAN_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "heddle/export.h"
#include "heddle/spec.h"

namespace heddle {

enum class DecodeOpcode {
  kShr,   // dst = a >> imm
  kLop3,  // dst = lut(a, imm, imm2)              bitwise, any function of three inputs
  kSub,   // dst = a - subtrahend                 two 16-bit floats at once
  kFma,   // dst = a * imm - subtrahend           two 16-bit floats at once, one rounding
};

// What a kSub or kFma subtracts.
enum class Subtrahend {
  kNone,
  kImmediate,  // DecodeOp::imm2
  kZeroPoint,  // element DecodeOp::zero of DecodePlan::zero_outputs
};

struct DecodeOp {
  DecodeOpcode opcode = DecodeOpcode::kShr;
  int dst = 0;
  int a = 0;               // source register
  std::uint32_t imm = 0;   // kShr: bits; kLop3: mask; kFma: factor
  std::uint32_t imm2 = 0;  // kLop3: magic number; kSub, kFma: the subtrahend, if immediate
  std::uint8_t lut = 0;    // kLop3: immLut
  Subtrahend subtrahend = Subtrahend::kNone;
  int zero = 0;
  std::string why;  // for the comment in the rendered code
};

// Asks for the conversion of one word of the weight layout: the A operand of mma.m16n8k16 in the
// element order a0.low, a0.high, a1.low ... ; 32 / bits elements to the word.
struct DecodeRequest {
  int bits = 4;
  WeightType type = WeightType::kUint;
  ZeroPoint zero_point = ZeroPoint::kNone;
  DType dtype = DType::kFp16;
};

struct DecodePlan {
  DecodeRequest request;
  std::vector<DecodeOp> ops;
  std::vector<int> outputs;   // registers that hold a0, a1 ... ; element 2i is the low half of a_i
  std::vector<int> field_of;  // element e is the bits [bits * field_of[e], ...) of the word
  // With integer zero points: from a word that holds, in both halves, the zero points of row g and
  // of row g + 8 as two neighbouring fields, to the subtrahends of `ops`.
  std::vector<DecodeOp> zero_ops;
  std::vector<int> zero_outputs;
  double instructions_per_weight = 0;
};

// Throws Error(kUnsupported, "decode.unsupported") where there is no exact plan.
HEDDLE_EXPORT DecodePlan derive_decode_plan(const DecodeRequest& request);

// Executes the plan on the host with bit-exact binary16 or bfloat16 arithmetic. `zero_fields` holds
// the zero point of row g in its lowest `bits` bits and that of row g + 8 in the next ones. Element
// e of the result has the bits of the 16-bit float.
HEDDLE_EXPORT std::vector<std::uint16_t> evaluate_decode_plan(const DecodePlan& plan,
                                                              std::uint32_t word,
                                                              std::uint16_t zero_fields);

// The outcome of checking a plan against exact arithmetic: every code in every position, with
// neighbours all zero, all one and random, and every zero point.
struct DecodeProof {
  std::uint64_t codes_checked = 0;
  std::uint64_t mismatches = 0;
  std::string first_mismatch;
};
HEDDLE_EXPORT DecodeProof prove_decode_plan(const DecodePlan& plan);

// One line per operation: what it does, to which bits, and why that immLut and that magic number.
HEDDLE_EXPORT std::string describe(const DecodePlan& plan);

}  // namespace heddle

#endif  // HEDDLE_DECODE_PLAN_H_
