// Executing a decode plan on the host.
#include "generator/decode/decode_plan.h"
#include "generator/decode/float16.h"
#include "generator/decode/requests.h"
#include "heddle/error.h"

namespace heddle {
namespace {

// The sum of the minterms that the table names, for all bits at once.
std::uint32_t lop3(std::uint8_t lut, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t result = 0;
  for (int row = 0; row < 8; ++row) {
    const std::uint32_t minterm =
        ((row & 4) != 0 ? a : ~a) & ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
    if ((lut >> row & 1) != 0) result |= minterm;
  }
  return result;
}

// Nibbles of 8 and more would copy a sign; no plan has them.
std::uint32_t prmt(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(b) << 32 | a;
  std::uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned nibble = selector >> 4 * i & 0xf;
    auto byte = static_cast<std::uint32_t>(bytes >> 8 * (nibble & 7) & 0xff);
    if (nibble >= 8) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << 8 * i;
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

std::uint16_t negated(std::uint32_t pair, int shift) { return half(pair, shift) ^ 0x8000; }

struct Operands {
  std::uint32_t a = 0;
  std::uint32_t c = 0;
  std::uint32_t factor = 0;
  std::uint32_t last = 0;  // register b, the immediate in its place, or the group's
};

std::uint32_t execute(const DecodeOp& op, Float16Format format, const Operands& in) {
  switch (op.opcode) {
    case DecodeOpcode::kShr:
      return in.a >> op.imm;
    case DecodeOpcode::kShl:
      return in.a << op.imm;
    case DecodeOpcode::kLop3:
      return lop3(op.lut, in.a, op.imm, in.last);
    case DecodeOpcode::kPrmt:
      return prmt(in.a, in.last, op.imm);
    case DecodeOpcode::kLookup:
      return prmt(op.imm, op.imm2, in.a);
    case DecodeOpcode::kSelect:
      return prmt(in.a, in.last, in.c);
    case DecodeOpcode::kSub:
      return each_half([&](int s) { return float16_sub(format, half(in.a, s), half(in.last, s)); });
    case DecodeOpcode::kFma:
      return each_half([&](int s) {
        return float16_fma(format, half(in.a, s), half(op.imm, s), negated(in.last, s));
      });
    case DecodeOpcode::kMulAdd:
      return each_half([&](int s) {
        return float16_fma(format, half(in.a, s), half(op.imm, s), half(in.last, s));
      });
    case DecodeOpcode::kScale:
      return each_half([&](int s) {
        return float16_fma(format, half(in.a, s), half(in.factor, 16 * op.row),
                           negated(in.last, 16 * op.row));
      });
    case DecodeOpcode::kMul:
      return each_half([&](int s) {
        const auto minus_zero =
            static_cast<std::uint16_t>((half(in.a, s) ^ half(op.imm, s)) & 0x8000);
        return float16_fma(format, half(in.a, s), half(op.imm, s), minus_zero);
      });
    case DecodeOpcode::kIntSub:
      return in.a - in.last;
    case DecodeOpcode::kIntMulAdd:
      return in.a * (op.c >= 0 ? in.c : op.imm) + in.last;
    case DecodeOpcode::kIntScale:
      return in.a * in.factor + in.last;
  }
  return 0;
}

// Registers 0, 1 ... after all operations.
std::vector<std::uint32_t> run(const std::vector<DecodeOp>& ops, Float16Format format,
                               const std::vector<std::uint32_t>& words,
                               const std::vector<std::uint32_t>& group) {
  std::vector<std::uint32_t> registers = words;
  registers.reserve(words.size() + ops.size());
  for (const DecodeOp& op : ops) {
    Operands in;
    in.a = registers[op.a];
    if (op.c >= 0) in.c = registers[op.c];
    in.last = op.last == LastOperand::kGroup ? group.at(op.group)
              : op.b >= 0                    ? registers[op.b]
                                             : op.imm2;
    if (op.opcode == DecodeOpcode::kScale || op.opcode == DecodeOpcode::kIntScale) {
      in.factor = group.at(op.factor);
    }
    if (static_cast<std::size_t>(op.dst) >= registers.size()) registers.resize(op.dst + 1);
    registers[op.dst] = execute(op, format, in);
  }
  return registers;
}

}  // namespace

std::vector<std::uint16_t> evaluate_decode_plan(const DecodePlan& plan,
                                                const std::vector<std::uint32_t>& words,
                                                const std::vector<std::uint32_t>& group_words) {
  if (words.size() != static_cast<std::size_t>(plan.words) ||
      group_words.size() != static_cast<std::size_t>(plan.group_words)) {
    throw Error(ErrorCategory::kUsage, "decode.words", "not the number of words that the plan has");
  }
  // For operations on 16-bit floats, which plans to eight bits do not have.
  const Float16Format format =
      plan.makes_bytes() ? Float16Format{} : float16_format(plan.request.dtype);
  std::vector<std::uint32_t> group;
  if (plan.group_words != 0) {
    const std::vector<std::uint32_t> registers = run(plan.group_ops, format, group_words, {});
    for (const int reg : plan.group_outputs) group.push_back(registers.at(reg));
  }
  const std::vector<std::uint32_t> registers = run(plan.ops, format, words, group);
  std::vector<std::uint16_t> elements;
  const int bits = plan.makes_bytes() ? 8 : 16;
  elements.reserve(32 / bits * plan.outputs.size());
  for (const int reg : plan.outputs) {
    for (int bit = 0; bit < 32; bit += bits) {
      elements.push_back(static_cast<std::uint16_t>(registers.at(reg) >> bit & ((1u << bits) - 1)));
    }
  }
  return elements;
}

std::vector<std::uint16_t> evaluate_decode_plan(const DecodePlan& plan, std::uint32_t word,
                                                std::uint16_t zero_fields) {
  std::vector<std::uint32_t> zeros;
  if (plan.group_words != 0) {
    zeros.push_back(static_cast<std::uint32_t>(zero_fields) << 16 | zero_fields);
  }
  return evaluate_decode_plan(plan, std::vector<std::uint32_t>{word}, zeros);
}

unsigned read_code(const DecodePlan& plan, const std::vector<std::uint32_t>& words, int element) {
  unsigned code = 0;
  const auto& places = plan.bit_of[element];
  for (std::size_t j = 0; j < places.size(); ++j) {
    code |= (words[places[j].word] >> places[j].bit & 1) << j;
  }
  return code;
}

void write_code(const DecodePlan& plan, int element, unsigned code,
                std::vector<std::uint32_t>& words) {
  const auto& places = plan.bit_of[element];
  for (std::size_t j = 0; j < places.size(); ++j) {
    std::uint32_t& word = words[places[j].word];
    word = (word & ~(1u << places[j].bit)) | (code >> j & 1) << places[j].bit;
  }
}

}  // namespace heddle
