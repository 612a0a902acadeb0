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
  kLop3,  // dst = lut(a, imm, imm2)                  bitwise, any function of three inputs
  kSub,   // dst = a - b       (or a - imm)           two 16-bit floats at once
  kFma,   // dst = a * imm + b (or a * imm - imm2)    two 16-bit floats at once, one rounding
};

// What a kSub or kFma subtracts.
enum class DecodeOperand {
  kNone,
  kImmediate,  // the constant in DecodeOp::imm
  kZeroPoint,  // the register made by DecodePlan::zero_ops for the row of this output
};

struct DecodeOp {
  DecodeOpcode opcode = DecodeOpcode::kShr;
  int dst = 0;
  int a = 0;               // source register
  std::uint32_t imm = 0;   // shift count, mask or constant
  std::uint32_t imm2 = 0;  // kLop3: the magic number
  std::uint8_t lut = 0;    // kLop3: immLut
  DecodeOperand subtrahend = DecodeOperand::kNone;
  int row = 0;      // which of the fragment's two rows (0: g, 1: g + 8) the register belongs to
  std::string why;  // for the comment in the rendered code
};

// Asks for the conversion of one word; the fragment has eight 4-bit weights to the word, in the
// element order a0.lo, a0.hi, a1.lo, a1.hi, a2.lo ... of the A operand of mma.m16n8k16.
struct DecodeRequest {
  int bits = 4;
  WeightType type = WeightType::kUint;
  ZeroPoint zero_point = ZeroPoint::kNone;
  DType dtype = DType::kFp16;
  bool native_bf16_sub = true;  // false below sm_90: a subtraction is an fma by one there
};

struct DecodePlan {
  DecodeRequest request;
  std::vector<DecodeOp> ops;
  std::vector<int> outputs;           // registers that hold a0, a1, a2, a3
  std::vector<int> field_of;          // element e of the fragment is bits [bits * field_of[e], ...)
  std::vector<DecodeOp> zero_ops;     // from a replicated zero point byte to the two subtrahends
  std::array<int, 2> zero_outputs{};  // registers of zero_ops for row g and row g + 8
  double instructions_per_weight = 0;
};

// Throws Error(kUnsupported, "decode.unsupported") where there is no exact plan.
HEDDLE_EXPORT DecodePlan derive_decode_plan(const DecodeRequest& request);

// Executes the plan on the host with bit-exact binary16 or bfloat16 arithmetic. `zero_byte` holds
// the zero point of row g in bits [0, 4) and of row g + 8 in bits [4, 8). Element e of the result
// has the bits of the 16-bit float.
HEDDLE_EXPORT std::vector<std::uint16_t> evaluate_decode_plan(const DecodePlan& plan,
                                                              std::uint32_t word,
                                                              std::uint8_t zero_byte);

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
