// Integers. A field of b bits at bit p of a 16-bit half, under the bits of the float 2^(M - p) with
// M mantissa bits, makes the float 2^(M - p) + field: there bit p of the mantissa has the weight
// one. It fits if p + b <= M. Subtracting 2^(M - p) + zero leaves field - zero exactly, since both
// are whole numbers that the format holds. A two's complement field has its sign bit flipped in the
// same LOP3 that masks it, which adds 2^(b - 1).
//
// A field with one bit more than the mantissa is split. The low M bits make 2^M + low. The top bit
// falls on the lowest bit of the exponent, where it turns 2^M into 2^(M + 1): flipped, it makes
// 2^(M + 1) - 2^M * top. The difference is low + 2^M * top - 2^M, the code less its fixed bias. A
// two's complement top bit is not flipped and counts -2^M.
//
// The bit p is free where the field fits at several; the choice with the fewest new operations
// wins, then the lowest p.
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "generator/decode/derivation.h"
#include "generator/decode/float16.h"
#include "generator/decode/registers.h"

namespace heddle {
namespace {

// The bit of each half at which a field comes to lie.
struct Position {
  int low = 0;
  int high = 0;
};

// Which bits of which sources are the codes of a pair, low half first.
using PairBits = std::vector<BitPlace>[2];

class IntegerDerivation {
 public:
  // first_choice[w]: the position to try first for fields of word w.
  IntegerDerivation(DecodePlan& plan, std::vector<int> first_choice)
      : plan_(plan),
        request_(plan.request),
        format_(float16_format(plan.request.dtype)),
        first_choice_(std::move(first_choice)),
        weights_(plan.words),
        zeros_(by_element() ? plan.words : 1) {}

  void run() {
    if (with_zeros()) plan_.zero_words = by_element() ? plan_.words : 1;
    for (int pair = 0; pair < plan_.elements() / 2; ++pair) {
      const int element = 2 * pair;
      const PairBits bits{plan_.bit_of[element], plan_.bit_of[element + 1]};
      plan_.outputs.push_back(split() ? decode_split(pair, bits) : decode_under_magic(pair, bits));
    }
    plan_.ops = weights_.ops();
    plan_.zero_ops = zeros_.ops();
  }

 private:
  bool with_zeros() const { return request_.zero_point == ZeroPoint::kInt; }
  bool by_element() const { return request_.zero_order == ZeroOrder::kElements; }
  bool is_signed() const { return request_.type == WeightType::kInt; }
  bool split() const { return request_.bits > format_.mantissa_bits; }
  int bias() const { return 1 << (request_.bits - 1); }
  int weight_of_magic(int bit) const { return 1 << (format_.mantissa_bits - bit); }

  std::uint32_t at(Position p, std::uint32_t low_bits) const {
    return low_bits << p.high << 16 | low_bits << p.low;
  }
  std::uint32_t magic(Position p) const {
    return static_cast<std::uint32_t>(format_.power_of_two(format_.mantissa_bits - p.high)) << 16 |
           format_.power_of_two(format_.mantissa_bits - p.low);
  }
  std::string magic_text(Position p) const {
    if (p.low == p.high) return fmt::format("{}", weight_of_magic(p.low));
    return fmt::format("{{{}, {}}}", weight_of_magic(p.low), weight_of_magic(p.high));
  }

  static Placement moved(const PairBits& bits, Position p, int first, int count) {
    Placement result;
    for (int half = 0; half < 2; ++half) {
      const int to = 16 * half + (half == 0 ? p.low : p.high);
      for (int j = first; j < first + count; ++j) {
        result.moves.push_back({bits[half][j].word, bits[half][j].bit, to + j});
      }
    }
    return result;
  }

  // The field under its magic number.
  Placement under_magic(const PairBits& bits, Position p) const {
    Placement result = moved(bits, p, 0, request_.bits);
    result.flip = is_signed();
    result.constant = magic(p) | (is_signed() ? at(p, 1u << (request_.bits - 1)) : 0);
    return result;
  }

  std::string under_magic_why(Position p) const {
    std::string why;
    if (p.low == p.high) {
      why = fmt::format("{} + field: 0x{:04x} is {}, and bit {} of its mantissa weighs 1",
                        magic_text(p), magic(p) & 0xffff, magic_text(p), p.low);
    } else {
      why = fmt::format(
          "{} + field: bit {} of the low half's mantissa and bit {} of the high "
          "half's weigh 1",
          magic_text(p), p.low, p.high);
    }
    if (is_signed()) why += fmt::format("; the XOR also flips the sign bit, which adds {}", bias());
    return why;
  }

  static bool alike(const PairBits& bits) {
    for (std::size_t j = 0; j < bits[0].size(); ++j) {
      if (bits[0][j].word != bits[1][j].word || bits[0][j].bit + 16 != bits[1][j].bit) return false;
    }
    return true;
  }

  Position cheapest_position(const PairBits& bits) const {
    const int last = format_.mantissa_bits - request_.bits;
    const int choice = std::min(first_choice_[bits[0][0].word], last);
    Position best{choice, choice};
    int best_cost = weights_.cost(under_magic(bits, best));
    for (int low = 0; low <= last; ++low) {
      const bool same = alike(bits);
      for (int high = same ? low : 0; high <= (same ? low : last); ++high) {
        const int cost = weights_.cost(under_magic(bits, {low, high}));
        if (cost >= best_cost) continue;
        best_cost = cost;
        best = {low, high};
      }
    }
    return best;
  }

  int decode_under_magic(int pair, const PairBits& bits) {
    const Position p = cheapest_position(bits);
    const int field = weights_.place(under_magic(bits, p), under_magic_why(p));
    DecodeOp op;
    op.opcode = DecodeOpcode::kSub;
    op.a = field;
    if (with_zeros()) {
      op.subtrahend = Subtrahend::kZeroPoint;
      op.zero = zero_under_magic(pair, p);
      op.why = fmt::format("minus {} + zero point{}", magic_text(p), owner_of_zero(pair));
    } else {
      op.subtrahend = Subtrahend::kImmediate;
      op.imm2 = magic(p) | at(p, static_cast<std::uint32_t>(bias()));
      op.why = fmt::format("minus {} + {}", magic_text(p), bias());
    }
    return weights_.emit(op);
  }

  // The code less its bias, from two floats.
  int split_value(Registers& registers, const PairBits& bits, const std::string& shift_why = {}) {
    const int m = format_.mantissa_bits;
    const Position bottom{0, 0};
    Placement low = moved(bits, bottom, 0, m);
    low.constant = magic(bottom);
    Placement top = moved(bits, bottom, m, 1);
    top.flip = !is_signed();
    top.constant = magic(bottom) | (is_signed() ? 0 : both_halves(1u << m));
    const int low_register = registers.place(
        low, fmt::format("{} + the low {} bits of the field", weight_of_magic(0), m), shift_why);
    const int top_register = registers.place(
        top,
        is_signed() ? fmt::format("{0}, or {1} with the sign bit, which is the exponent's lowest",
                                  1 << m, 2 << m)
                    : fmt::format("{1}, or {0} with the top bit, which flips the exponent's lowest",
                                  1 << m, 2 << m),
        shift_why);
    DecodeOp op;
    op.opcode = DecodeOpcode::kSub;
    op.a = low_register;
    op.b = top_register;
    op.subtrahend = Subtrahend::kRegister;
    op.why = is_signed() ? "low bits - 2^7 * sign" : "low bits + 2^7 * top bit - 2^7";
    return registers.emit(op);
  }

  int decode_split(int pair, const PairBits& bits) {
    const int value = split_value(weights_, bits);
    if (!with_zeros()) return value;
    DecodeOp op;
    op.opcode = DecodeOpcode::kSub;
    op.a = value;
    op.subtrahend = Subtrahend::kZeroPoint;
    const PairBits zero_bits{zero_places(pair, 0), zero_places(pair, 1)};
    op.zero = zero_index(pair, {0, 0}, [&] {
      return split_value(zeros_, zero_bits, zero_shift_why(pair, {0, 0}));
    });
    op.why = fmt::format("minus the zero point{}, which lost the same bias", owner_of_zero(pair));
    return weights_.emit(op);
  }

  static int row_of(int pair) { return pair % 2; }  // a0 and a2 hold row g, a1 and a3 row g + 8
  std::string owner_of_zero(int pair) const {
    if (by_element()) return " of each element";
    return row_of(pair) == 0 ? " of row g" : " of row g + 8";
  }

  std::vector<BitPlace> zero_places(int pair, int half) const {
    if (by_element()) return plan_.bit_of[2 * pair + half];
    std::vector<BitPlace> places(request_.bits);
    for (int j = 0; j < request_.bits; ++j) {
      places[j].bit = 16 * half + row_of(pair) * request_.bits + j;
    }
    return places;
  }

  std::string zero_shift_why(int pair, Position p) const {
    if (by_element()) return {};
    return fmt::format("the zero point{} to bit {}", owner_of_zero(pair), p.low);
  }

  // The zero point decoded like a field, but kept under its magic number: what a field at the same
  // position must lose.
  int zero_under_magic(int pair, Position p) {
    return zero_index(pair, p, [&] {
      const PairBits bits{zero_places(pair, 0), zero_places(pair, 1)};
      return zeros_.place(under_magic(bits, p), under_magic_why(p), zero_shift_why(pair, p));
    });
  }

  // One register for each (row, position), or for each pair.
  template <class Make>
  int zero_index(int pair, Position p, const Make& make) {
    const std::tuple key{by_element() ? pair : row_of(pair), p.low, p.high};
    const auto found = zero_indices_.find(key);
    if (found != zero_indices_.end()) return found->second;
    plan_.zero_outputs.push_back(make());
    const int index = static_cast<int>(plan_.zero_outputs.size()) - 1;
    zero_indices_[key] = index;
    return index;
  }

  DecodePlan& plan_;
  const DecodeRequest& request_;
  const Float16Format format_;
  const std::vector<int> first_choice_;
  Registers weights_;
  Registers zeros_;
  std::map<std::tuple<int, int, int>, int> zero_indices_;
};

DecodePlan derived(const DecodePlan& empty, const std::vector<int>& first_choice) {
  DecodePlan plan = empty;
  IntegerDerivation(plan, first_choice).run();
  return plan;
}

}  // namespace

void derive_integer(DecodePlan& plan) {
  const DecodePlan empty = plan;
  std::vector<int> choice(plan.words, 0);
  plan = derived(empty, choice);
  // Elements made of the bits left over in several words are cheap if the shifts that other fields
  // need happen to bring these bits to the right places. Choose for one word after the other.
  const int choices = float16_format(plan.request.dtype).mantissa_bits - plan.request.bits;
  bool scattered = plan.field_of.empty();
  while (scattered) {
    scattered = false;
    for (int& word : choice) {
      const int before = word;
      int best = before;
      for (word = 0; word <= choices; ++word) {
        DecodePlan other = derived(empty, choice);
        if (other.ops.size() >= plan.ops.size()) continue;
        plan = std::move(other);
        best = word;
        scattered = true;
      }
      word = best;
    }
  }
}

}  // namespace heddle
