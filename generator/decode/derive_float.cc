// Floats: exponent and mantissa moved to the places where the destination has them, the sign to bit
// 15. The exponent counts from another bias, so the result is the weight times a power of two, and
// one multiplication mends that. A subnormal code becomes a subnormal of the destination, which the
// same multiplication makes right: a subnormal is linear in its mantissa, with the same weight in
// both formats once the biases are reconciled.
//
// Sign and magnitude go different distances, two LOP3 for a pair. Where two pairs of a word fit the
// same half without touching, both are moved at once, among whatever else the word has, by one LOP3
// that chooses between two distances; one more takes each pair out of the result. A code of whole
// bytes can be widened with its sign by one PRMT: then one distance is enough.
#include <fmt/format.h>

#include <optional>

#include "generator/decode/derivation.h"
#include "generator/decode/float16.h"
#include "generator/decode/registers.h"

namespace heddle {
namespace {

constexpr int kSignBit = 15;

class FloatDerivation {
 public:
  explicit FloatDerivation(DecodePlan& plan)
      : plan_(plan),
        format_(float16_format(plan.request.dtype)),
        exponent_(format_.bias() - ((1 << (plan.request.exponent_bits - 1)) - 1)),
        registers_(plan.words) {}

  void run() {
    const int pairs = plan_.elements() / 2;
    placed_.assign(pairs, -1);
    for (int pair = 0; pair < pairs; ++pair) {
      if (placed_[pair] < 0) place(pair);
    }
    for (int pair = 0; pair < pairs; ++pair) plan_.outputs.push_back(scaled(placed_[pair]));
    plan_.ops = registers_.ops();
    if (plan_.request.fold_power) plan_.result_exponent = exponent_;
  }

 private:
  int destination(int code_bit) const {
    if (code_bit == plan_.request.bits - 1) return kSignBit;
    return format_.mantissa_bits - plan_.request.mantissa_bits + code_bit;
  }

  // The moves of a pair to the destination's places less `lower` bits.
  Placement placement(int pair, int lower) const {
    Placement result;
    for (int half = 0; half < 2; ++half) {
      const auto& places = plan_.bit_of[2 * pair + half];
      for (int j = 0; j < plan_.request.bits; ++j) {
        result.moves.push_back({places[j].word, places[j].bit, 16 * half + destination(j) - lower});
      }
    }
    return result;
  }

  // The pair taken out of a source that holds two, this one `down` bits too low.
  Placement taken_out(int source, int down) const {
    Placement result;
    for (int to = 0; to < 32; ++to) {
      if ((pattern() >> to % 16 & 1) != 0) result.moves.push_back({source, to - down, to});
    }
    return result;
  }

  // Where both codes of the pair are bytes of a word: the selector of the PRMT that brings them to
  // the low bytes of both halves, each below eight copies of its sign.
  std::optional<std::uint32_t> widening(int pair) const {
    constexpr std::uint32_t kSign = 8;  // of the byte instead of it
    if (plan_.request.bits != 8) return std::nullopt;
    std::uint32_t selector = 0;
    for (int half = 0; half < 2; ++half) {
      const auto& places = plan_.bit_of[2 * pair + half];
      for (int j = 0; j < 8; ++j) {
        if (places[j].word != plan_.bit_of[2 * pair][0].word) return std::nullopt;
        if (places[j].bit != places[0].bit + j || places[0].bit % 8 != 0) return std::nullopt;
      }
      const auto byte = static_cast<std::uint32_t>(places[0].bit / 8);
      selector |= (byte | (byte | kSign) << 4) << 8 * half;
    }
    return selector;
  }

  int place_widened(Registers& registers, int pair, std::uint32_t selector) const {
    DecodeOp widen;
    widen.opcode = DecodeOpcode::kPrmt;
    widen.a = registers.source_register(plan_.bit_of[2 * pair][0].word);
    widen.imm = selector;
    widen.why = "the codes, each below eight copies of its sign";
    Placement result;
    const int source = registers.add_source(registers.emit(widen));
    const int shift = format_.mantissa_bits - plan_.request.mantissa_bits;
    for (int to = 0; to < 32; ++to) {
      if ((pattern() >> to % 16 & 1) != 0) result.moves.push_back({source, to - shift, to});
    }
    return registers.place(result, why());
  }

  // A pair by itself, the cheaper way.
  int place_alone(Registers& registers, int pair) const {
    const Placement plain = placement(pair, 0);
    const std::optional<std::uint32_t> selector = widening(pair);
    constexpr int kWidened = 3;
    if (selector && registers.cost(plain) > kWidened) {
      return place_widened(registers, pair, *selector);
    }
    return registers.place(plain, why());
  }

  std::string why() const {
    return fmt::format("sign to bit 15, exponent and mantissa to bit {}: the weight / 2^{}",
                       format_.mantissa_bits - plan_.request.mantissa_bits, exponent_);
  }

  void place(int pair) {
    // What both pairs cost apart against what they cost together.
    std::optional<Registers> best;
    int best_partner = -1, best_lower = 0, best_saved = 0;
    for (int partner = pair + 1; partner < static_cast<int>(placed_.size()); ++partner) {
      if (placed_[partner] >= 0) continue;
      for (int lower = 1; lower < 16; ++lower) {
        if (!fits_beside(lower)) continue;
        Registers apart = registers_, together = registers_;
        place_alone(apart, pair);
        place_alone(apart, partner);
        place_both(together, pair, partner, lower);
        const int saved =
            static_cast<int>(apart.ops().size()) - static_cast<int>(together.ops().size());
        if (saved <= best_saved) continue;
        best_saved = saved;
        best_partner = partner;
        best_lower = lower;
      }
    }
    if (best_partner < 0) {
      placed_[pair] = place_alone(registers_, pair);
      return;
    }
    const auto both = place_both(registers_, pair, best_partner, best_lower);
    placed_[pair] = both.first;
    placed_[best_partner] = both.second;
  }

  // The bits of a half that a weight fills.
  std::uint32_t pattern() const {
    std::uint32_t bits = 0;
    for (int j = 0; j < plan_.request.bits; ++j) bits |= 1u << destination(j);
    return bits;
  }

  // Does the pattern, moved down, miss itself and stay inside the half?
  bool fits_beside(int lower) const {
    const std::uint32_t moved = pattern() >> lower;
    return moved << lower == pattern() && (moved & pattern()) == 0;
  }

  std::pair<int, int> place_both(Registers& registers, int pair, int partner, int lower) const {
    Placement both = placement(pair, lower);
    for (const BitMove& move : placement(partner, 0).moves) both.moves.push_back(move);
    const int merged = registers.merge(both, fmt::format("two pairs at once, one {} bits lower, "
                                                         "in the places of their destination",
                                                         lower));
    const int source = registers.add_source(merged);
    const int second = registers.place(taken_out(source, 0), why());
    const int first = registers.place(taken_out(source, lower), why());
    return {first, second};
  }

  int scaled(int reg) {
    if (exponent_ == 0 || plan_.request.fold_power) return reg;
    DecodeOp op;
    op.opcode = DecodeOpcode::kMul;
    op.a = reg;
    op.imm = both_halves(format_.power_of_two(exponent_));
    op.why = fmt::format("times 2^{}: the biases differ by {}", exponent_, exponent_);
    return registers_.emit(op);
  }

  DecodePlan& plan_;
  const Float16Format format_;
  const int exponent_;
  Registers registers_;
  std::vector<int> placed_;
};

}  // namespace

void derive_float(DecodePlan& plan) { FloatDerivation(plan).run(); }

}  // namespace heddle
