#include "generator/render/decode_text.h"

#include <fmt/format.h>

namespace heddle {
namespace {

std::string expression(const DecodeOp& op) {
  const std::string a = fmt::format("r{}", op.a);
  const std::string second =
      op.b >= 0 ? fmt::format("r{}", op.b) : fmt::format("0x{:08x}u", op.imm2);
  const std::string subtrahend =
      op.subtrahend == Subtrahend::kZeroPoint ? fmt::format("z[{}]", op.zero) : second;
  switch (op.opcode) {
    case DecodeOpcode::kShr:
      return fmt::format("shr<{}>({})", op.imm, a);
    case DecodeOpcode::kLop3:
      return fmt::format("lop3<0x{:02x}>({}, 0x{:08x}u, {})", op.lut, a, op.imm, second);
    case DecodeOpcode::kShl:
      return fmt::format("shl<{}>({})", op.imm, a);
    case DecodeOpcode::kPrmt:
      return fmt::format("prmt<0x{:04x}>({}, {})", op.imm, a, second);
    case DecodeOpcode::kLookup:
      return fmt::format("prmt_by(0x{:08x}u, 0x{:08x}u, {})", op.imm, op.imm2, a);
    case DecodeOpcode::kSelect:
      return fmt::format("prmt_by({}, {}, r{})", a, second, op.c);
    case DecodeOpcode::kMul:
      return fmt::format("Value::mul2({}, 0x{:08x}u)", a, op.imm);
    case DecodeOpcode::kSub:
      return fmt::format("Value::sub2({}, {})", a, subtrahend);
    case DecodeOpcode::kFma:
      return fmt::format("Value::fma2({}, 0x{:08x}u, {} ^ 0x80008000u)", a, op.imm, subtrahend);
  }
  return {};
}

std::string body(const std::vector<DecodeOp>& ops) {
  std::string text;
  for (const DecodeOp& op : ops) {
    text += fmt::format("    const u32 r{} = {};  // {}\n", op.dst, expression(op), op.why);
  }
  return text;
}

// "u32 r0, u32 r1 ...".
std::string inputs(int words) {
  std::string text = "u32 r0";
  for (int i = 1; i < words; ++i) text += fmt::format(", u32 r{}", i);
  return text;
}

std::string fields_comment(const DecodePlan& plan) {
  std::string text = "  // Element e of the fragment is field f of the word, e -> f:";
  for (std::size_t e = 0; e < plan.field_of.size(); ++e) {
    text += fmt::format(" {}->{}", e, plan.field_of[e]);
  }
  return text + ".\n";
}

}  // namespace

std::string decode_text(const DecodePlan& plan) {
  const std::size_t zeros = plan.zero_outputs.empty() ? 1 : plan.zero_outputs.size();
  const bool has_zeros = !plan.zero_outputs.empty();
  std::string text = "struct Decode {\n";
  text += fmt::format("  static constexpr int kZeroRegisters = {};\n\n", zeros);
  text += fields_comment(plan);
  text += fmt::format(
      "  static __device__ __forceinline__ void word({}, const u32 (&{})[{}], u32 (&a)[{}]) "
      "{{\n",
      inputs(plan.words), has_zeros ? "z" : "", zeros, plan.outputs.size());
  text += "    using Value = Config::Value;\n";
  text += body(plan.ops);
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    text += fmt::format("    a[{}] = r{};\n", i, plan.outputs[i]);
  }
  text += "  }\n\n";
  text += "  // r0 holds, in both halves, the zero points of row g and of row g + 8 above it.\n";
  text += fmt::format("  static __device__ __forceinline__ void zeros(u32{}, u32 (&{})[{}]) {{\n",
                      has_zeros ? " r0" : "", has_zeros ? "z" : "", zeros);
  text += body(plan.zero_ops);
  for (std::size_t i = 0; i < plan.zero_outputs.size(); ++i) {
    text += fmt::format("    z[{}] = r{};\n", i, plan.zero_outputs[i]);
  }
  return text + "  }\n};\n";
}

}  // namespace heddle
