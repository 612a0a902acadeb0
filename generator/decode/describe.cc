#include <fmt/format.h>

#include "heddle/decode_plan.h"

namespace heddle {
namespace {

std::string subtrahend(const DecodeOp& op) {
  return op.subtrahend == Subtrahend::kZeroPoint ? fmt::format("z{}", op.zero)
                                                 : fmt::format("0x{:08x}", op.imm2);
}

std::string operation(const DecodeOp& op, const char* input) {
  const std::string a = op.a == 0 ? input : fmt::format("r{}", op.a);
  switch (op.opcode) {
    case DecodeOpcode::kShr:
      return fmt::format("shr   {}, {}", a, op.imm);
    case DecodeOpcode::kLop3:
      return fmt::format("lop3  {}, mask 0x{:08x}, magic 0x{:08x}, immLut 0x{:02x}", a, op.imm,
                         op.imm2, op.lut);
    case DecodeOpcode::kSub:
      return fmt::format("sub   {}, {}", a, subtrahend(op));
    case DecodeOpcode::kFma:
      return fmt::format("fma   {} * 0x{:08x} - {}", a, op.imm, subtrahend(op));
  }
  return {};
}

std::string lines(const std::vector<DecodeOp>& ops, const char* input) {
  std::string text;
  for (const DecodeOp& op : ops) {
    text += fmt::format("  r{:<2} = {:<62} {}\n", op.dst, operation(op, input), op.why);
  }
  return text;
}

}  // namespace

std::string describe(const DecodePlan& plan) {
  std::string text =
      fmt::format("{}-bit {} to {}, zero point {}: {} operations for {} weights, {} per weight\n",
                  plan.request.bits, to_string(plan.request.type), to_string(plan.request.dtype),
                  to_string(plan.request.zero_point), plan.ops.size(), plan.field_of.size(),
                  plan.instructions_per_weight);
  text += "fields of the word, in element order:";
  for (const int field : plan.field_of) text += fmt::format(" {}", field);
  text += '\n';
  if (!plan.zero_ops.empty()) {
    text += "zero points (once per group; z holds both rows' fields in each half):\n";
    text += lines(plan.zero_ops, "z");
    for (std::size_t i = 0; i < plan.zero_outputs.size(); ++i) {
      text += fmt::format("  z{:<2} = r{}\n", i, plan.zero_outputs[i]);
    }
    text += "weights:\n";
  }
  text += lines(plan.ops, "word");
  text += "fragment:";
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    text += fmt::format(" a{} = r{}", i, plan.outputs[i]);
  }
  return text + '\n';
}

}  // namespace heddle
