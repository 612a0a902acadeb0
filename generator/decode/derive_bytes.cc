// Unsigned integers of four bits that share bytes, to a format with eight bits of mantissa or more.
//
// A byte under the bits of 2^M is 2^M + low + 16 high, with M mantissa bits: one PRMT brings two
// bytes under magic numbers, from wherever they lie. Masked once more, the high code at bit 4 under
// 2^(M - 4) weighs one, and the four bits below it, which are free for a number c, 1/16:
//
//   byte = 2^M + low + 16 high        part = 2^(M - 4) + c / 16 + high
//   byte - 16 part = low - c          part - (2^(M - 4) + c / 16 + z) = high - z
//
// Both are exact, since all of these are whole multiples of 1/16 below 2^(M - 3), or of one below
// 2^(M + 1). Code by code the high bytes would be shifted down first: an operation more for each
// word. Codes in two's complement would have their signs flipped, also one more.
#include "generator/decode/derive_bytes.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "generator/decode/derivation.h"
#include "generator/decode/float16.h"
#include "generator/decode/pair_bits.h"
#include "generator/decode/registers.h"
#include "generator/decode/zero_places.h"

namespace heddle {
namespace {

constexpr int kCodeBits = 4;
constexpr int kCodeBias = 8;
constexpr Position kBottom{0, 0}, kMiddle{kCodeBits, kCodeBits};

// Two registers of the result whose halves are the codes of the same two bytes.
struct BytePair {
  int low = 0;
  int high = 0;
};

class ByteDerivation {
 public:
  explicit ByteDerivation(DecodePlan& plan)
      : plan_(plan),
        format_(float16_format(plan.request.dtype)),
        weights_(plan.words),
        group_(by_element() ? plan.words : 1) {}

  // False where codes lie otherwise.
  bool run() {
    const int pairs = plan_.elements() / 2;
    plan_.outputs.assign(pairs, -1);
    if (with_zeros()) plan_.group_words = by_element() ? plan_.words : 1;
    for (int pair = 0; pair < pairs; ++pair) {
      if (plan_.outputs[pair] >= 0) continue;
      const int other = partner(pair);
      if (other < 0) return false;
      const bool is_low = place(pair, 0).bit % 8 == 0;
      decode(is_low ? BytePair{pair, other} : BytePair{other, pair});
    }
    plan_.ops = weights_.ops();
    plan_.group_ops = group_.ops();
    return true;
  }

 private:
  bool with_zeros() const { return plan_.request.zero_point == ZeroPoint::kInt; }
  bool by_element() const { return zeros_by_element(plan_.request); }

  // Where the lowest bit of a register's code lies.
  BitPlace place(int pair, int half) const { return plan_.bit_of[2 * pair + half].front(); }

  // The register whose codes fill the bytes of this one's, or none.
  int partner(int pair) const {
    for (int other = 0; other < plan_.elements() / 2; ++other) {
      bool fills = other != pair && place(pair, 0).bit % 8 == place(pair, 1).bit % 8;
      for (int half = 0; half < 2 && fills; ++half) {
        const BitPlace a = place(pair, half);
        const BitPlace b = place(other, half);
        fills = a.word == b.word && a.bit % kCodeBits == 0 && (a.bit ^ kCodeBits) == b.bit;
      }
      if (fills) return other;
    }
    return -1;
  }

  // Whether both bytes are the lower ones of the halves of a word.
  bool lies_in_place(const BytePair& pair) const {
    const BitPlace first = place(pair.low, 0);
    const BitPlace second = place(pair.low, 1);
    return first.word == second.word && first.bit == 0 && second.bit == 16;
  }

  std::uint32_t magic(int bit) const {
    return both_halves(format_.power_of_two(format_.mantissa_bits - bit));
  }
  int magic_number(int bit) const { return 1 << (format_.mantissa_bits - bit); }

  PairBits& codes_of(int pair, PairBits& bits) const {
    for (int half = 0; half < 2; ++half) bits[half] = plan_.bit_of[2 * pair + half];
    return bits;
  }

  // Two codes of each half, one above the other, over the constant.
  static Placement both(const PairBits& low, const PairBits& high, std::uint32_t constant) {
    Placement result = moved(low, kBottom, 0, kCodeBits);
    const Placement upper = moved(high, kMiddle, 0, kCodeBits);
    result.moves.insert(result.moves.end(), upper.moves.begin(), upper.moves.end());
    result.constant = constant;
    return result;
  }

  void decode(const BytePair& pair) {
    PairBits low, high;
    const Placement bytes = both(codes_of(pair.low, low), codes_of(pair.high, high), magic(0));
    const int byte =
        weights_.place(bytes, fmt::format("{} + the byte: low + 16 high", magic_number(0)));

    DecodeOp part;
    part.opcode = DecodeOpcode::kLop3;
    part.a = lies_in_place(pair) ? place(pair.low, 0).word : byte;
    part.imm = both_halves(0xf << kCodeBits);
    part.lut = (kLutA & kLutB) | kLutC;
    DecodeOp rest;
    rest.opcode = DecodeOpcode::kMulAdd;
    rest.imm = both_halves(format_.power_of_two(kCodeBits) | 0x8000);
    rest.b = byte;
    DecodeOp top;
    top.opcode = DecodeOpcode::kSub;
    const std::string under = fmt::format("{}", magic_number(kCodeBits));
    if (with_zeros()) {
      const Zeros zeros = zeros_of(pair);
      part.last = top.last = LastOperand::kGroup;
      part.group = zeros.under;
      top.group = zeros.taken_off;
      part.why = under + " + zero / 16 + high, with the zero point of low";
      rest.why = "the byte - 16 times that: low - zero point";
      top.why = "minus all but high, and its zero point";
    } else {
      part.imm2 = magic(kCodeBits) | both_halves(kCodeBias);
      top.last = LastOperand::kImmediate;
      top.imm2 = part.imm2 | both_halves(kCodeBias << kCodeBits);
      part.why = fmt::format("{} + {} / 16 + high", under, kCodeBias);
      rest.why = fmt::format("the byte - 16 times that: low - {}", kCodeBias);
      top.why = fmt::format("minus {} + {} / 16 + {}", under, kCodeBias, kCodeBias);
    }
    rest.a = top.a = weights_.emit(part);
    plan_.outputs[pair.low] = weights_.emit(rest);
    plan_.outputs[pair.high] = weights_.emit(top);
  }

  // Outputs of the group: the magic number of high codes, and what they have to lose.
  struct Zeros {
    int under = 0;
    int taken_off = 0;
  };
  Zeros zeros_of(const BytePair& pair) {
    const std::pair rows{row_of_pair(pair.low), row_of_pair(pair.high)};
    if (!by_element()) {
      if (const auto found = zeros_.find(rows); found != zeros_.end()) return found->second;
    }
    PairBits low, high;
    for (int half = 0; half < 2; ++half) {
      low[half] = zero_places(plan_, pair.low, half);
      high[half] = zero_places(plan_, pair.high, half);
    }
    Placement under = moved(low, kBottom, 0, kCodeBits);
    under.constant = magic(kCodeBits);
    const Zeros result{
        output(group_.place(
            under, fmt::format("{} + the zero point of low codes / 16", magic_number(kCodeBits)))),
        output(group_.place(both(low, high, magic(kCodeBits)),
                            "the same + the zero point of high codes"))};
    return zeros_[rows] = result;
  }
  int output(int reg) {
    plan_.group_outputs.push_back(reg);
    return static_cast<int>(plan_.group_outputs.size()) - 1;
  }

  DecodePlan& plan_;
  const Float16Format format_;
  Registers weights_;
  Registers group_;
  std::map<std::pair<int, int>, Zeros> zeros_;  // of the rows of low and high codes
};

}  // namespace

std::optional<DecodePlan> derive_bytes(const DecodePlan& empty) {
  const DecodeRequest& request = empty.request;
  const bool serves = request.bits == kCodeBits && request.type == WeightType::kUint &&
                      !request.fold_scale && float16_format(request.dtype).mantissa_bits >= 8;
  if (!serves) return std::nullopt;
  DecodePlan plan = empty;
  if (!ByteDerivation(plan).run()) return std::nullopt;
  return plan;
}

}  // namespace heddle
