// Derivation of decode plans.
//
// A field of b bits at bit p of a 16-bit half, under the bits of the float 2^(M - p) with M
// mantissa bits, makes the float 2^(M - p) + field: there bit p of the mantissa has the weight one.
// It fits if p + b <= M. A field at a higher bit is shifted down first. Subtracting 2^(M - p) +
// zero leaves field - zero exactly, since both are whole numbers that the format holds. A two's
// complement field has its sign bit flipped in the same LOP3 that masks it, which adds 2^(b - 1).
#include <fmt/format.h>

#include <bit>
#include <map>

#include "generator/decode/float16.h"
#include "heddle/decode_plan.h"
#include "heddle/error.h"

namespace heddle {
namespace {

// immLut of a function of three inputs is its value on these columns of the truth table.
constexpr std::uint8_t kLutA = 0xF0, kLutB = 0xCC, kLutC = 0xAA;

std::uint32_t both_halves(std::uint32_t half) { return half << 16 | half; }

class Derivation {
 public:
  explicit Derivation(const DecodeRequest& request)
      : request_(request), format_(float16_format(request.dtype)) {}

  DecodePlan run() {
    plan_.request = request_;
    const int elements = 32 / request_.bits;
    const int fields_per_half = elements / 2;
    plan_.field_of.resize(elements);
    for (int i = 0; i < fields_per_half; ++i) {
      plan_.field_of[2 * i] = i;
      plan_.field_of[2 * i + 1] = i + fields_per_half;
      // Registers a0, a2 ... hold row g, the others row g + 8.
      decode_pair(i, i % 2);
    }
    plan_.instructions_per_weight = static_cast<double>(plan_.ops.size()) / elements;
    return std::move(plan_);
  }

 private:
  int bias() const { return (1 << request_.bits) >> 1; }
  bool fits(int bit) const { return bit >= 0 && bit + request_.bits <= format_.mantissa_bits; }
  std::uint32_t magic(int bit) const { return format_.power_of_two(format_.mantissa_bits - bit); }

  // The word, or the word shifted down, in which the field lies low enough. The last shift serves
  // again if it can.
  int shifted_for(int field, std::vector<DecodeOp>& ops, int* bit) {
    const int natural = field * request_.bits;
    for (auto& [shift, reg] : shifted_) {
      if (fits(natural - shift)) {
        *bit = natural - shift;
        return reg;
      }
    }
    DecodeOp op;
    op.opcode = DecodeOpcode::kShr;
    op.dst = ++last_register_;
    op.imm = static_cast<std::uint32_t>(natural);
    op.why = fmt::format("bits {}..{} of each half to bit 0", natural, natural + request_.bits - 1);
    ops.push_back(op);
    shifted_[natural] = op.dst;
    *bit = 0;
    return op.dst;
  }

  // Masks the field at `bit` of each half and puts the magic number around it.
  DecodeOp isolate(int source, int bit) {
    const std::uint32_t mask = ((1u << request_.bits) - 1) << bit;
    const bool flip = request_.type == WeightType::kInt;
    const std::uint32_t sign = flip ? (mask + (1u << bit)) >> 1 : 0;
    DecodeOp op;
    op.opcode = DecodeOpcode::kLop3;
    op.dst = ++last_register_;
    op.a = source;
    op.imm = both_halves(mask);
    op.imm2 = both_halves(magic(bit) | sign);
    op.lut = flip ? static_cast<std::uint8_t>((kLutA & kLutB) ^ kLutC)
                  : static_cast<std::uint8_t>((kLutA & kLutB) | kLutC);
    op.why = fmt::format("{} + field: 0x{:04x} is {}, and bit {} of its mantissa weighs 1",
                         1 << (format_.mantissa_bits - bit), magic(bit),
                         1 << (format_.mantissa_bits - bit), bit);
    if (flip) op.why += fmt::format("; the XOR also flips the sign bit, which adds {}", bias());
    return op;
  }

  void decode_pair(int field, int row) {
    int bit = 0;
    const int source = shifted_for(field, plan_.ops, &bit);
    const DecodeOp isolated = isolate(source, bit);
    plan_.ops.push_back(isolated);
    DecodeOp op;
    op.opcode = DecodeOpcode::kSub;
    op.dst = ++last_register_;
    op.a = isolated.dst;
    if (request_.zero_point == ZeroPoint::kInt) {
      op.subtrahend = Subtrahend::kZeroPoint;
      op.zero = zero_register(row, bit);
      op.why = fmt::format("minus {} + zero point of row g{}", 1 << (format_.mantissa_bits - bit),
                           row == 0 ? "" : " + 8");
    } else {
      op.subtrahend = Subtrahend::kImmediate;
      op.imm2 = both_halves(magic(bit) | static_cast<std::uint32_t>(bias()) << bit);
      op.why = fmt::format("minus {} + {}", 1 << (format_.mantissa_bits - bit), bias());
    }
    plan_.ops.push_back(op);
    plan_.outputs.push_back(op.dst);
  }

  // The zero point of a row, decoded like a field, but kept under its magic number: what a field at
  // the same bit must lose. One register for each (row, bit).
  int zero_register(int row, int bit) {
    const auto found = zeros_.find({row, bit});
    if (found != zeros_.end()) return found->second;
    const int natural = row * request_.bits;
    const int saved = last_register_;
    last_register_ = last_zero_register_;
    int source = 0;
    if (natural != bit) {
      if (natural < bit) {
        throw Error(ErrorCategory::kUnsupported, "decode.unsupported",
                    fmt::format("no plan for the zero points of {}-bit weights", request_.bits));
      }
      DecodeOp shift;
      shift.opcode = DecodeOpcode::kShr;
      shift.dst = ++last_register_;
      shift.imm = static_cast<std::uint32_t>(natural - bit);
      shift.why = fmt::format("the zero point of row g{} to bit {}", row == 0 ? "" : " + 8", bit);
      plan_.zero_ops.push_back(shift);
      source = shift.dst;
    }
    plan_.zero_ops.push_back(isolate(source, bit));
    last_zero_register_ = last_register_;
    last_register_ = saved;
    plan_.zero_outputs.push_back(last_zero_register_);
    const int index = static_cast<int>(plan_.zero_outputs.size()) - 1;
    zeros_[{row, bit}] = index;
    return index;
  }

  DecodeRequest request_;
  Float16Format format_;
  DecodePlan plan_;
  std::map<int, int, std::greater<>> shifted_{{0, 0}};  // shift -> register
  std::map<std::pair<int, int>, int> zeros_;            // (row, bit) -> index of zero_outputs
  int last_register_ = 0;
  int last_zero_register_ = 0;
};

std::string why_unsupported(const DecodeRequest& request) {
  if (request.dtype == DType::kFp32) return "weights decode to fp16 or bf16 only";
  if (request.zero_point == ZeroPoint::kFloat) return "there is no plan for float zero points";
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(request.bits));
  if (request.bits < 2 || request.bits > 8 || !power_of_two) {
    return fmt::format("there is no plan for {}-bit weights", request.bits);
  }
  if (request.bits > float16_format(request.dtype).mantissa_bits) {
    return fmt::format("{} bits do not fit the {} mantissa bits of {}", request.bits,
                       float16_format(request.dtype).mantissa_bits, to_string(request.dtype));
  }
  return {};
}

}  // namespace

DecodePlan derive_decode_plan(const DecodeRequest& request) {
  if (const std::string why = why_unsupported(request); !why.empty()) {
    throw Error(ErrorCategory::kUnsupported, "decode.unsupported", why);
  }
  return Derivation(request).run();
}

}  // namespace heddle
