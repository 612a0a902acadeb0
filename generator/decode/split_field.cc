#include "generator/decode/split_field.h"

#include <fmt/format.h>

#include "generator/decode/derivation.h"
#include "generator/decode/float16.h"

namespace heddle {

int split_field(const DecodeRequest& request, const PairBits& bits, Registers& registers,
                const std::string& shift_why) {
  const bool is_signed = request.type == WeightType::kInt;
  const Float16Format format = float16_format(request.dtype);
  const int m = format.mantissa_bits;
  const Position bottom{0, 0};
  const std::uint32_t magic = both_halves(format.power_of_two(m));
  Placement low = moved(bits, bottom, 0, m);
  low.constant = magic;
  Placement top = moved(bits, bottom, m, 1);
  top.flip = !is_signed;
  top.constant = magic | (is_signed ? 0 : both_halves(1u << m));
  const int low_register =
      registers.place(low, fmt::format("{} + the low {} bits of the field", 1 << m, m), shift_why);
  const int top_register = registers.place(
      top,
      is_signed ? fmt::format("{0}, or {1} with the sign bit, which is the exponent's lowest",
                              1 << m, 2 << m)
                : fmt::format("{1}, or {0} with the top bit, which flips the exponent's lowest",
                              1 << m, 2 << m),
      shift_why);
  DecodeOp op;
  op.opcode = DecodeOpcode::kSub;
  op.a = low_register;
  op.b = top_register;
  op.last = LastOperand::kRegister;
  op.why = is_signed ? "low bits - 2^7 * sign" : "low bits + 2^7 * top bit - 2^7";
  return registers.emit(op);
}

}  // namespace heddle
