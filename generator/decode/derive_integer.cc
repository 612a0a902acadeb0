// Integers. A field of b bits at bit p of a 16-bit half, under the bits of the float 2^(M - p) with
// M mantissa bits, makes the float 2^(M - p) + field: there bit p of the mantissa has the weight
// one. It fits if p + b <= M. Subtracting 2^(M - p) + zero leaves field - zero exactly, since both
// are whole numbers that the format holds. A two's complement field has its sign bit flipped in the
// same LOP3 that masks it, which adds 2^(b - 1).
//
// A field with one bit more than the mantissa is split (split_field.h).
//
// Where a power of two may be left to the scale, and for one and two bits always, a field may lie
// bare: its top bit on the lowest bit of the exponent, nothing above it. Then subnormals and the
// numbers behind them are the field, and one multiplication and subtraction in one makes it the
// weight (field_number.h). So eight bits fit bfloat16 whole.
//
// Where the scale is multiplied in the same operation, all fields lie bare: the bias that is then
// taken off is a power of two, and a power of two times the scale is exact.
//
// Two codes of a byte may take one operation less together (derive_bytes.h).
//
// The bit p is free where the field fits at several; the choice with the fewest new operations
// wins, then the lowest p.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "generator/decode/derivation.h"
#include "generator/decode/derive_bytes.h"
#include "generator/decode/field_number.h"
#include "generator/decode/pair_bits.h"
#include "generator/decode/scale_factors.h"
#include "generator/decode/split_field.h"
#include "generator/decode/zero_places.h"

namespace heddle {
namespace {

class IntegerDerivation {
 public:
  // first_choice[w]: the position to try first for fields of word w.
  IntegerDerivation(DecodePlan& plan, const FieldNumber& number, std::vector<int> first_choice)
      : plan_(plan),
        request_(plan.request),
        number_(number),
        first_choice_(std::move(first_choice)),
        weights_(plan.words),
        group_(by_element() ? plan.words : 1) {}

  void run() {
    if (with_zeros() || request_.fold_scale) plan_.group_words = by_element() ? plan_.words : 1;
    for (int pair = 0; pair < plan_.elements() / 2; ++pair) {
      const int element = 2 * pair;
      const PairBits bits{plan_.bit_of[element], plan_.bit_of[element + 1]};
      plan_.outputs.push_back(split() ? decode_split(pair, bits) : decode_field(pair, bits));
    }
    if (request_.fold_scale) plan_.group_outputs = factors_.products(number_, bias(), group_);
    plan_.ops = weights_.ops();
    plan_.group_ops = group_.ops();
    plan_.result_exponent = number_.exponent();
  }

 private:
  bool with_zeros() const { return request_.zero_point == ZeroPoint::kInt; }
  bool by_element() const { return zeros_by_element(request_); }
  bool is_signed() const { return request_.type == WeightType::kInt; }
  bool split() const { return number_.last_bit() < 0; }
  int bias() const { return 1 << (request_.bits - 1); }

  // The field under its magic number, if it has one.
  Placement in_place(const PairBits& bits, Position p) const {
    Placement result = moved(bits, p, 0, request_.bits);
    result.flip = is_signed();
    result.constant =
        number_.magic(p) | (is_signed() ? number_.at(p, 1u << (request_.bits - 1)) : 0);
    return result;
  }

  std::string in_place_why(Position p) const {
    std::string why;
    if (number_.is_bare(p)) {
      why = fmt::format(
          "the field at bit {}, no magic number: {}", p.low,
          number_.is_at_top(p) ? "its top bit is the exponent's lowest" : "a subnormal");
    } else if (p.low == p.high) {
      why =
          fmt::format("{0} + field: 0x{1:04x} is {0}, and bit {2} of its mantissa weighs {3}",
                      number_.magic_text(p), number_.magic(p) & 0xffff, p.low, number_.unit_text());
    } else {
      why = fmt::format(
          "{} + field: bit {} of the low half's mantissa and bit {} of the high "
          "half's weigh {}",
          number_.magic_text(p), p.low, p.high, number_.unit_text());
    }
    if (is_signed()) why += fmt::format("; the XOR also flips the sign bit, which adds {}", bias());
    return why;
  }

  std::string magic_and(Position p) const {
    return p.low == p.high && number_.is_bare(p) ? "" : number_.magic_text(p) + " + ";
  }

  std::string factor_why() const {
    return fmt::format("times the power of two that makes its unit {}", number_.unit_text());
  }

  static bool alike(const PairBits& bits) {
    for (std::size_t j = 0; j < bits[0].size(); ++j) {
      if (bits[0][j].word != bits[1][j].word || bits[0][j].bit + 16 != bits[1][j].bit) return false;
    }
    return true;
  }

  Position cheapest_position(const PairBits& bits) const {
    const int last = number_.last_bit();
    const int choice = std::min(first_choice_[bits[0][0].word], last);
    Position best{choice, choice};
    int best_cost = weights_.cost(in_place(bits, best));
    for (int low = 0; low <= last; ++low) {
      // The factors of a row are the same for both halves.
      const bool same = alike(bits) || request_.fold_scale;
      for (int high = same ? low : 0; high <= (same ? low : last); ++high) {
        const int cost = weights_.cost(in_place(bits, {low, high}));
        if (cost >= best_cost) continue;
        best_cost = cost;
        best = {low, high};
      }
    }
    return best;
  }

  int decode_field(int pair, const PairBits& bits) {
    const Position p = cheapest_position(bits);
    const int field = weights_.place(in_place(bits, p), in_place_why(p));
    if (request_.fold_scale) return scaled_field(row_of_pair(pair), p.low, field);
    DecodeOp op;
    op.opcode = number_.is_bare(p) ? DecodeOpcode::kFma : DecodeOpcode::kSub;
    op.a = field;
    if (number_.is_bare(p)) {
      op.imm = number_.factor(p);
      op.why = factor_why() + ", ";
    }
    if (with_zeros()) {
      op.last = LastOperand::kGroup;
      op.group = zero_of_field(pair, p);
      op.why += fmt::format("minus {}zero point{}", magic_and(p), owner_of_zero(pair));
    } else {
      op.last = LastOperand::kImmediate;
      op.imm2 = number_.bias(p);
      op.why += fmt::format("minus {}{}", magic_and(p), bias());
    }
    return weights_.emit(op);
  }

  // The field in its unit, less its bias, both times the scale of its row.
  int scaled_field(int row, int bit, int field) {
    DecodeOp op;
    op.opcode = DecodeOpcode::kScale;
    op.a = field;
    op.row = row;
    op.factor = factors_.of_field(row, bit);
    op.last = LastOperand::kGroup;
    op.group = ScaleFactors::kBias;
    op.why = fmt::format("times the scale, minus {} times it, of row g{}", bias(),
                         row == 0 ? "" : " + 8");
    return weights_.emit(op);
  }

  int decode_split(int pair, const PairBits& bits) {
    const int value = split_field(request_, bits, weights_);
    if (!with_zeros()) return value;
    DecodeOp op;
    op.opcode = DecodeOpcode::kSub;
    op.a = value;
    op.last = LastOperand::kGroup;
    const PairBits zero_bits{zero_places(plan_, pair, 0), zero_places(plan_, pair, 1)};
    op.group = group_index(pair, {0, 0}, [&] {
      return split_field(request_, zero_bits, group_, zero_shift_why(pair, {0, 0}));
    });
    op.why = fmt::format("minus the zero point{}, which lost the same bias", owner_of_zero(pair));
    return weights_.emit(op);
  }

  std::string owner_of_zero(int pair) const {
    if (by_element()) return " of each element";
    return row_of_pair(pair) == 0 ? " of row g" : " of row g + 8";
  }

  std::string zero_shift_why(int pair, Position p) const {
    if (by_element()) return {};
    return fmt::format("the zero point{} to bit {}", owner_of_zero(pair), p.low);
  }

  // What a field at the same position must lose: the zero point placed like a field and kept under
  // its magic number, or multiplied like a bare one.
  int zero_of_field(int pair, Position p) {
    return group_index(pair, p, [&] {
      const PairBits bits{zero_places(plan_, pair, 0), zero_places(plan_, pair, 1)};
      const int placed = group_.place(in_place(bits, p), in_place_why(p), zero_shift_why(pair, p));
      if (!number_.is_bare(p)) return placed;
      DecodeOp op;
      op.opcode = DecodeOpcode::kMul;
      op.a = placed;
      op.imm = number_.factor(p);
      op.why = factor_why();
      return group_.emit(op);
    });
  }

  // One register for each (row, position), or for each pair.
  template <class Make>
  int group_index(int pair, Position p, const Make& make) {
    const std::tuple key{by_element() ? pair : row_of_pair(pair), p.low, p.high};
    const auto found = group_indices_.find(key);
    if (found != group_indices_.end()) return found->second;
    plan_.group_outputs.push_back(make());
    const int index = static_cast<int>(plan_.group_outputs.size()) - 1;
    group_indices_[key] = index;
    return index;
  }

  DecodePlan& plan_;
  const DecodeRequest& request_;
  const FieldNumber& number_;
  const std::vector<int> first_choice_;
  Registers weights_;
  Registers group_;
  std::map<std::tuple<int, int, int>, int> group_indices_;
  ScaleFactors factors_;  // with fold_scale only
};

DecodePlan derived(const DecodePlan& empty, const FieldNumber& number,
                   const std::vector<int>& first_choice) {
  DecodePlan plan = empty;
  IntegerDerivation(plan, number, first_choice).run();
  return plan;
}

DecodePlan best_of_choices(const DecodePlan& empty, const FieldNumber& number) {
  std::vector<int> choice(empty.words, 0);
  DecodePlan plan = derived(empty, number, choice);
  // Elements made of the bits left over in several words are cheap if the shifts that other fields
  // need happen to bring these bits to the right places. Choose for one word after the other.
  bool scattered = plan.field_of.empty();
  while (scattered) {
    scattered = false;
    for (int& word : choice) {
      const int before = word;
      int best = before;
      for (word = 0; word <= number.last_bit(); ++word) {
        DecodePlan other = derived(empty, number, choice);
        if (other.ops.size() >= plan.ops.size()) continue;
        plan = std::move(other);
        best = word;
        scattered = true;
      }
      word = best;
    }
  }
  return plan;
}

}  // namespace

void derive_integer(DecodePlan& plan) {
  using Bare = FieldNumber::Bare;
  if (plan.request.fold_scale) {
    plan = best_of_choices(plan, FieldNumber(plan.request, Bare::kAll));
    return;
  }
  const FieldNumber bare(plan.request, Bare::kTop);
  DecodePlan best = best_of_choices(plan, FieldNumber(plan.request, Bare::kNone));
  if (plan.request.fold_power || bare.exponent() == 0) {
    DecodePlan other = best_of_choices(plan, bare);
    if (other.ops.size() < best.ops.size()) best = std::move(other);
  }
  std::optional<DecodePlan> bytes = derive_bytes(plan);
  if (bytes && bytes->ops.size() < best.ops.size()) best = std::move(*bytes);
  plan = std::move(best);
}

}  // namespace heddle
