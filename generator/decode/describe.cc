#include <fmt/format.h>

#include "generator/decode/decode_plan.h"

namespace heddle {
namespace {

class OperationText {
 public:
  OperationText(const DecodeOp& op, int words, const char* input)
      : op_(op), words_(words), input_(input) {}

  std::string text() const {
    const std::string a = name(op_.a);
    switch (op_.opcode) {
      case DecodeOpcode::kShr:
        return fmt::format("shr   {}, {}", a, op_.imm);
      case DecodeOpcode::kShl:
        return fmt::format("shl   {}, {}", a, op_.imm);
      case DecodeOpcode::kLop3:
        return fmt::format("lop3  {}, mask 0x{:08x}, {}, immLut 0x{:02x}", a, op_.imm,
                           is_immediate() ? fmt::format("magic 0x{:08x}", op_.imm2) : last(),
                           op_.lut);
      case DecodeOpcode::kPrmt:
        return fmt::format("prmt  {}, {}, 0x{:04x}", a, last(), op_.imm);
      case DecodeOpcode::kLookup:
        return fmt::format("prmt  0x{:08x}, 0x{:08x}, {}", op_.imm, op_.imm2, a);
      case DecodeOpcode::kSelect:
        return fmt::format("prmt  {}, {}, {}", a, name(op_.b), name(op_.c));
      case DecodeOpcode::kSub:
        return fmt::format("sub   {}, {}", a, last());
      case DecodeOpcode::kFma:
        return fmt::format("fma   {} * 0x{:08x} - {}", a, op_.imm, last());
      case DecodeOpcode::kMulAdd:
        return fmt::format("fma   {} * 0x{:08x} + {}", a, op_.imm, last());
      case DecodeOpcode::kMul:
        return fmt::format("mul   {}, 0x{:08x}", a, op_.imm);
      case DecodeOpcode::kScale:
        return fmt::format("fma   {} * {}.{} - {}.{}", a, of_group(op_.factor), half(),
                           of_group(op_.group), half());
      case DecodeOpcode::kIntSub:
        return fmt::format("isub  {}, {}", a, last());
      case DecodeOpcode::kIntMulAdd:
        return fmt::format("imad  {} * {} + {}", a,
                           op_.c >= 0 ? name(op_.c) : fmt::format("0x{:02x}", op_.imm), last());
      case DecodeOpcode::kIntScale:
        return fmt::format("imad  {} * {} + {}", a, of_group(op_.factor), last());
    }
    return {};
  }

 private:
  std::string name(int reg) const {
    if (reg >= words_) return fmt::format("r{}", reg);
    return words_ == 1 ? input_ : fmt::format("{}{}", input_, reg);
  }
  bool is_immediate() const { return op_.last != LastOperand::kGroup && op_.b < 0; }
  std::string last() const {
    if (op_.last == LastOperand::kGroup) return of_group(op_.group);
    return is_immediate() ? fmt::format("0x{:08x}", op_.imm2) : name(op_.b);
  }
  static std::string of_group(int output) { return fmt::format("g{}", output); }
  const char* half() const { return op_.row == 0 ? "low" : "high"; }

  const DecodeOp& op_;
  const int words_;
  const char* input_;
};

std::string source_text(const DecodeRequest& request) {
  switch (request.kind) {
    case CodeKind::kInteger:
      break;
    case CodeKind::kFloat:
      if (request.bits == 16) return std::string(to_string(request.dtype));
      return fmt::format("e{}m{}", request.exponent_bits, request.mantissa_bits);
    case CodeKind::kTable:
      return "4-bit code of a table";
  }
  return fmt::format("{}-bit {}", request.bits, to_string(request.type));
}

// Where each bit of a scattered element lies, as runs word:first..last.
std::string scattered_text(const std::vector<BitPlace>& places) {
  std::string text;
  for (std::size_t j = 0; j < places.size();) {
    std::size_t end = j + 1;
    while (end < places.size() && places[end].word == places[j].word &&
           places[end].bit == places[end - 1].bit + 1) {
      ++end;
    }
    text += fmt::format("{}{}:{}..{}", j == 0 ? " " : "+", places[j].word, places[j].bit,
                        places[end - 1].bit);
    j = end;
  }
  return text;
}

std::string lines(const std::vector<DecodeOp>& ops, int words, const char* input) {
  std::string text;
  for (const DecodeOp& op : ops) {
    text += fmt::format("  r{:<2} = {:<62} {}\n", op.dst, OperationText(op, words, input).text(),
                        op.why);
  }
  return text;
}

const char* group_title(const DecodeRequest& request) {
  if (request.fold_scale && request.dtype == DType::kInt8) {
    return "scales (once per group; in bytes 2 and 3, zero points of both rows in byte 0):\n";
  }
  if (request.fold_scale) return "scales (once per group; of row g low, of row g + 8 high):\n";
  return request.zero_order == ZeroOrder::kRows
             ? "zero points (once per group; both rows' fields in each half):\n"
             : "zero points (once per group; they lie in words as the weights do):\n";
}

}  // namespace

std::string describe(const DecodePlan& plan) {
  std::string text = fmt::format(
      "{} to {}, zero point {}: {} operations for {} weights, {} per weight\n",
      source_text(plan.request), to_string(plan.request.dtype), to_string(plan.request.zero_point),
      plan.ops.size(), plan.elements(), plan.instructions_per_weight);
  if (plan.request.fold_scale && plan.result_exponent == 0) {
    text += "the result is a weight times its scale\n";
  } else if (plan.request.fold_scale) {
    text +=
        fmt::format("a weight times its scale is the result times 2^{}\n", plan.result_exponent);
  } else if (plan.result_exponent != 0) {
    text += fmt::format("a weight is the result times 2^{}, which the scale must carry\n",
                        plan.result_exponent);
  }
  if (plan.field_of.empty()) {
    text += fmt::format("bits of the {} words (word:first..last), in element order:", plan.words);
    for (const auto& places : plan.bit_of) text += scattered_text(places);
  } else {
    text += fmt::format("fields of the {}, in element order:",
                        plan.words == 1 ? "word" : std::to_string(plan.words) + " words");
    for (const int field : plan.field_of) text += fmt::format(" {}", field);
  }
  text += '\n';
  if (!plan.group_ops.empty()) {
    text += group_title(plan.request);
    text += lines(plan.group_ops, plan.group_words, "group");
    for (std::size_t i = 0; i < plan.group_outputs.size(); ++i) {
      text += fmt::format("  g{:<2} = r{}\n", i, plan.group_outputs[i]);
    }
    text += "weights:\n";
  }
  text += lines(plan.ops, plan.words, "word");
  text += "fragment:";
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    text += fmt::format(" a{} = r{}", i, plan.outputs[i]);
  }
  return text + '\n';
}

}  // namespace heddle
