#include "generator/decode/decode_text.h"

#include <fmt/format.h>

namespace heddle {
namespace {

std::string expression(const DecodeOp& op) {
  const std::string a = fmt::format("r{}", op.a);
  const std::string last = op.last == LastOperand::kGroup ? fmt::format("g[{}]", op.group)
                           : op.b >= 0                    ? fmt::format("r{}", op.b)
                                                          : fmt::format("0x{:08x}u", op.imm2);
  switch (op.opcode) {
    case DecodeOpcode::kShr:
      return fmt::format("shr<{}>({})", op.imm, a);
    case DecodeOpcode::kLop3:
      return fmt::format("lop3<0x{:02x}>({}, 0x{:08x}u, {})", op.lut, a, op.imm, last);
    case DecodeOpcode::kShl:
      return fmt::format("shl<{}>({})", op.imm, a);
    case DecodeOpcode::kPrmt:
      return fmt::format("prmt<0x{:04x}>({}, {})", op.imm, a, last);
    case DecodeOpcode::kLookup:
      return fmt::format("prmt_by(0x{:08x}u, 0x{:08x}u, {})", op.imm, op.imm2, a);
    case DecodeOpcode::kSelect:
      return fmt::format("prmt_by({}, {}, r{})", a, last, op.c);
    case DecodeOpcode::kMul:
      return fmt::format("Value::mul2({}, 0x{:08x}u)", a, op.imm);
    case DecodeOpcode::kSub:
      return fmt::format("Value::sub2({}, {})", a, last);
    case DecodeOpcode::kFma:
      return fmt::format("Value::fms2({}, 0x{:08x}u, {})", a, op.imm, last);
    case DecodeOpcode::kMulAdd:
      return fmt::format("Value::fma2({}, 0x{:08x}u, {})", a, op.imm, last);
    case DecodeOpcode::kIntSub:
      return fmt::format("{} - {}", a, last);
    case DecodeOpcode::kIntMulAdd:
      return fmt::format("{} * {} + {}", a,
                         op.c >= 0 ? fmt::format("r{}", op.c) : fmt::format("0x{:02x}u", op.imm),
                         last);
    case DecodeOpcode::kIntScale:
      return fmt::format("{} * g[{}] + {}", a, op.factor, last);
    case DecodeOpcode::kScale: {
      const char* of_row = op.row == 0 ? "low_twice" : "high_twice";
      return fmt::format("Value::fms2({}, {}(g[{}]), {}({}))", a, of_row, op.factor, of_row, last);
    }
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

std::string fields_comment(const DecodePlan& plan) {
  if (plan.field_of.empty()) {
    return "  // Codes are scattered over the unit's words; heddle plan --json tells where each "
           "bit lies.\n";
  }
  std::string text = "  // Element e of the unit is field f of its words, e -> f:";
  for (std::size_t e = 0; e < plan.field_of.size(); ++e) {
    text += fmt::format(" {}->{}", e, plan.field_of[e]);
  }
  return text + ".\n";
}

constexpr std::size_t kRegistersPerTile = 4;
std::size_t tiles_of(const DecodePlan& plan) { return plan.outputs.size() / kRegistersPerTile; }

// Words of a unit in, A operands of its tiles out.
std::string unit_text(const DecodePlan& plan, std::size_t registers) {
  const bool has_group = !plan.group_outputs.empty();
  std::string text = fmt::format(
      "  static __device__ __forceinline__ void unit(const u32 (&words)[{}], int unit,\n"
      "                                              const u32 (&{})[{}], u32 (&a)[{}][{}]) {{\n",
      plan.request.bits, has_group ? "g" : "", registers, tiles_of(plan), kRegistersPerTile);
  for (int i = 0; i < plan.words; ++i) {
    text += fmt::format("    const u32 r{} = words[{} * unit + {}];\n", i, plan.words, i);
  }
  text += body(plan.ops);
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    text += fmt::format("    a[{}][{}] = r{};\n", i / kRegistersPerTile, i % kRegistersPerTile,
                        plan.outputs[i]);
  }
  return text + "  }\n";
}

const char* group_comment(const DecodeRequest& request) {
  if (request.fold_scale && request.dtype == DType::kInt8) {
    return "  // r0 holds the zero points of rows g and g + 8, as a pair, in its lowest byte, "
           "their "
           "scales in\n  // bytes 2 and 3.\n";
  }
  if (request.fold_scale) return "  // r0 holds the scales of row g, low, and of row g + 8.\n";
  return request.zero_order == ZeroOrder::kElements
             ? "  // The zero points of a unit's elements, in words of the same layout as the "
               "weights.\n"
             : "  // r0 holds, in both halves, the zero points of row g and of row g + 8 above "
               "it.\n";
}

// What unit() takes of a group, from its words. Kernels hold one word in a register; more come as
// an array.
std::string group_text(const DecodePlan& plan, std::size_t registers) {
  const bool has_group = !plan.group_outputs.empty();
  const bool is_array = plan.group_words > 1;
  std::string text = group_comment(plan.request);
  text += fmt::format("  static __device__ __forceinline__ void group({}, u32 (&{})[{}]) {{\n",
                      is_array    ? fmt::format("const u32 (&words)[{}]", plan.group_words)
                      : has_group ? "u32 r0"
                                  : "u32",
                      has_group ? "g" : "", registers);
  for (int i = 0; is_array && i < plan.group_words; ++i) {
    text += fmt::format("    const u32 r{0} = words[{0}];\n", i);
  }
  text += body(plan.group_ops);
  for (std::size_t i = 0; i < plan.group_outputs.size(); ++i) {
    text += fmt::format("    g[{}] = r{};\n", i, plan.group_outputs[i]);
  }
  return text + "  }\n";
}

}  // namespace

std::string decode_text(const DecodePlan& plan, std::string_view value) {
  const std::size_t registers = plan.group_outputs.empty() ? 1 : plan.group_outputs.size();
  std::string text = fmt::format("struct Decode {{\n  using Value = {};\n", value);
  text +=
      fmt::format("  static constexpr int kTiles = {};  // of a matrix instruction, in a unit\n",
                  tiles_of(plan));
  text += fmt::format("  static constexpr int kGroupRegisters = {};\n", registers);
  text += fmt::format("  static constexpr bool kScales = {};  // the weights, too\n\n",
                      plan.request.fold_scale);
  return text + fields_comment(plan) + unit_text(plan, registers) + '\n' +
         group_text(plan, registers) + "};\n";
}

}  // namespace heddle
