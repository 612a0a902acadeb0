// Executing a decode plan on the host.
#include "generator/decode/float16.h"
#include "heddle/decode_plan.h"

namespace heddle {
namespace {

std::uint32_t lop3(std::uint8_t lut, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t result = 0;
  for (int bit = 0; bit < 32; ++bit) {
    const unsigned row = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1);
    result |= static_cast<std::uint32_t>(lut >> row & 1) << bit;
  }
  return result;
}

template <class F>
std::uint32_t each_half(const F& f) {
  return static_cast<std::uint32_t>(f(16)) << 16 | f(0);
}

std::uint16_t half(std::uint32_t pair, int shift) {
  return static_cast<std::uint16_t>(pair >> shift);
}

std::uint32_t execute(const DecodeOp& op, Float16Format format, std::uint32_t a,
                      std::uint32_t subtrahend) {
  switch (op.opcode) {
    case DecodeOpcode::kShr:
      return a >> op.imm;
    case DecodeOpcode::kLop3:
      return lop3(op.lut, a, op.imm, op.imm2);
    case DecodeOpcode::kSub:
      return each_half([&](int s) { return float16_sub(format, half(a, s), half(subtrahend, s)); });
    case DecodeOpcode::kFma:
      return each_half([&](int s) {
        return float16_fma(format, half(a, s), half(op.imm, s),
                           static_cast<std::uint16_t>(half(subtrahend, s) ^ 0x8000));
      });
  }
  return 0;
}

// Registers 0, 1 ... after all operations.
std::vector<std::uint32_t> run(const std::vector<DecodeOp>& ops, Float16Format format,
                               std::uint32_t word, const std::vector<std::uint32_t>& zeros) {
  std::vector<std::uint32_t> registers{word};
  for (const DecodeOp& op : ops) {
    const std::uint32_t subtrahend =
        op.subtrahend == Subtrahend::kZeroPoint ? zeros.at(op.zero) : op.imm2;
    registers.resize(op.dst + 1);
    registers[op.dst] = execute(op, format, registers[op.a], subtrahend);
  }
  return registers;
}

}  // namespace

std::vector<std::uint16_t> evaluate_decode_plan(const DecodePlan& plan, std::uint32_t word,
                                                std::uint16_t zero_fields) {
  const Float16Format format = float16_format(plan.request.dtype);
  const std::uint32_t zero_word = static_cast<std::uint32_t>(zero_fields) << 16 | zero_fields;
  const std::vector<std::uint32_t> zero_registers = run(plan.zero_ops, format, zero_word, {});
  std::vector<std::uint32_t> zeros;
  for (const int reg : plan.zero_outputs) zeros.push_back(zero_registers.at(reg));
  const std::vector<std::uint32_t> registers = run(plan.ops, format, word, zeros);
  std::vector<std::uint16_t> elements;
  for (const int reg : plan.outputs) {
    elements.push_back(half(registers.at(reg), 0));
    elements.push_back(half(registers.at(reg), 16));
  }
  return elements;
}

}  // namespace heddle
