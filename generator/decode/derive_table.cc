// A table of 16 values. PRMT with the codes as its selector looks up four bytes at once, in a table
// of eight; both halves of the table are looked up, and a third PRMT takes each byte from the half
// that the code's top bit names. The low and the high bytes of the values are two such tables, and
// a last PRMT for each pair puts its bytes together.
//
// PRMT reads the low 16 bits of its selector: four codes make a group. A pair of one group takes
// one PRMT, a pair of two groups three. If the word's bytes can be put in another order that leaves
// no pair torn, one PRMT does that first.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "generator/decode/derivation.h"
#include "generator/decode/float16.h"
#include "generator/decode/registers.h"

namespace heddle {
namespace {

constexpr int kFields = 8;

class TableDerivation {
 public:
  explicit TableDerivation(DecodePlan& plan) : plan_(plan), registers_(plan.words) {
    const Float16Format format = float16_format(plan.request.dtype);
    for (int i = 0; i < 16; ++i) values_[i] = float16_from_double(format, plan.request.table[i]);
  }

  void run() {
    const int word = arranged();
    const int codes = masked(word, 0, 0x77777777, 0, "the low three bits of each code");
    const int halves = masked(emit_shift(word, 1, "each code's top bit to bit 2"), 0, 0x44444444,
                              0x32103210, "byte i of the lower half of the table, or of the upper");
    for (int group = 0; group < 2; ++group) look_up(group, codes, halves);
    for (int pair = 0; pair < kFields / 2; ++pair) plan_.outputs.push_back(joined(pair));
    plan_.ops = registers_.ops();
  }

 private:
  int field(int element) const { return position_[plan_.field_of[element]]; }

  int emit(DecodeOpcode opcode, int a, int b, std::uint32_t imm, std::uint32_t imm2,
           std::string why) {
    DecodeOp op;
    op.opcode = opcode;
    op.a = a;
    op.b = b;
    op.imm = imm;
    op.imm2 = imm2;
    op.why = std::move(why);
    return registers_.emit(op);
  }

  int emit_shift(int a, int bits, std::string why) {
    return emit(DecodeOpcode::kShr, a, -1, static_cast<std::uint32_t>(bits), 0, std::move(why));
  }

  int masked(int a, int shift, std::uint32_t mask, std::uint32_t constant, std::string why) {
    DecodeOp op;
    op.opcode = DecodeOpcode::kLop3;
    op.a = shift == 0 ? a : emit_shift(a, shift, why);
    op.imm = mask;
    op.imm2 = constant;
    op.lut = static_cast<std::uint8_t>(constant == 0 ? kLutA & kLutB : (kLutA & kLutB) | kLutC);
    op.why = std::move(why);
    return registers_.emit(op);
  }

  int torn_pairs() const {
    int torn = 0;
    for (int e = 0; e < kFields; e += 2) torn += field(e) / 4 != field(e + 1) / 4 ? 1 : 0;
    return torn;
  }

  // The word with its bytes in the order that tears the fewest pairs.
  int arranged() {
    std::array<int, 4> bytes{0, 1, 2, 3};  // byte i of the new word is byte bytes[i] of the old one
    std::array<int, 4> best = bytes;
    const auto positions = [&](const std::array<int, 4>& order) {
      for (int i = 0; i < kFields; ++i) position_[order[i / 2] * 2 + i % 2] = i;
    };
    positions(bytes);
    const int kept = torn_pairs();
    int fewest = kept;
    while (std::next_permutation(bytes.begin(), bytes.end())) {
      positions(bytes);
      if (torn_pairs() >= fewest) continue;
      fewest = torn_pairs();
      best = bytes;
    }
    const bool worth_it = kept > fewest;  // one PRMT against two for each torn pair
    if (!worth_it) best = {0, 1, 2, 3};
    positions(best);
    if (!worth_it) return 0;
    std::uint32_t selector = 0;
    for (int i = 0; i < 4; ++i) selector |= static_cast<std::uint32_t>(best[i]) << 4 * i;
    return emit(DecodeOpcode::kPrmt, 0, -1, selector, 0, "both codes of a pair into one half");
  }

  // Four entries of the table of low or high bytes as a word.
  std::uint32_t entries(int first, bool high) const {
    std::uint32_t word = 0;
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t value = values_[first + i];
      word |= (high ? value >> 8 : value & 0xff) << 8 * i;
    }
    return word;
  }

  void look_up(int group, int codes, int halves) {
    if (group == 1) {
      codes = emit_shift(codes, 16, "the next four codes");
      halves = emit_shift(halves, 16, "and their halves of the table");
    }
    for (const bool high : {false, true}) {
      const char* which = high ? "high" : "low";
      const int lower = emit(DecodeOpcode::kLookup, codes, -1, entries(0, high), entries(4, high),
                             fmt::format("{} bytes of the values 0..7", which));
      const int upper = emit(DecodeOpcode::kLookup, codes, -1, entries(8, high), entries(12, high),
                             fmt::format("{} bytes of the values 8..15", which));
      bytes_[group][high ? 1 : 0] = select(lower, upper, halves);
    }
  }

  // Bytes of two registers, chosen by a third.
  int select(int lower, int upper, int halves) {
    DecodeOp op;
    op.opcode = DecodeOpcode::kSelect;
    op.a = lower;
    op.b = upper;
    op.c = halves;
    op.why = "the half that the top bit names";
    return registers_.emit(op);
  }

  // Bytes `low` and `high` of a group's values as the halves of a pair.
  int pair_of(int group, int low, int high) {
    const auto selector =
        static_cast<std::uint32_t>(low | (4 + low) << 4 | high << 8 | (4 + high) << 12);
    return emit(DecodeOpcode::kPrmt, bytes_[group][0], bytes_[group][1], selector, 0,
                "low and high bytes of a pair");
  }

  int joined(int pair) {
    const int low = field(2 * pair);
    const int high = field(2 * pair + 1);
    if (low / 4 == high / 4) return pair_of(low / 4, low % 4, high % 4);
    const int a = pair_of(low / 4, low % 4, low % 4);
    const int b = pair_of(high / 4, high % 4, high % 4);
    return emit(DecodeOpcode::kPrmt, a, b, 0x7610, 0, "one element from each");
  }

  DecodePlan& plan_;
  Registers registers_;
  std::array<std::uint16_t, 16> values_{};
  std::array<int, kFields> position_{};  // field of the word -> field after arranging
  int bytes_[2][2] = {};                 // [group][high]
};

}  // namespace

void derive_table(DecodePlan& plan) { TableDerivation(plan).run(); }

}  // namespace heddle
