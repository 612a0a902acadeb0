#include "generator/decode/encode_moves.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle {
namespace {

constexpr std::uint32_t kByteLanes = 0x01010101;

std::uint32_t shifted(std::uint32_t value, int shift) {
  return shift >= 0 ? value << shift : value >> -shift;
}

// "elements 0 4 1 5, bits 0..3": what a move carries.
struct Cargo {
  std::vector<int> elements;
  int first_bit = 8;
  int last_bit = -1;

  void add(int element, int bit) {
    if (elements.empty() || elements.back() != element) elements.push_back(element);
    first_bit = std::min(first_bit, bit);
    last_bit = std::max(last_bit, bit);
  }
  std::string text() const {
    return fmt::format("element{} {}, bits {}..{}", elements.size() == 1 ? "" : "s",
                       fmt::join(elements, " "), first_bit, last_bit);
  }
};

}  // namespace

std::vector<EncodeMove> encode_moves(const DecodePlan& plan) {
  std::vector<EncodeMove> moves;
  std::vector<Cargo> cargo;
  for (int word = 0; word < plan.words; ++word) {
    const std::size_t first = moves.size();
    for (int e = 0; e < plan.elements(); ++e) {
      const CodePlace from = code_place(e);
      for (int j = 0; j < static_cast<int>(plan.bit_of[e].size()); ++j) {
        const BitPlace to = plan.bit_of[e][j];
        if (to.word != word) continue;
        const int shift = to.bit - (from.bit + j);
        std::size_t i = first;
        while (i < moves.size() && (moves[i].reg != from.reg || moves[i].shift != shift)) ++i;
        if (i == moves.size()) {
          moves.push_back({word, from.reg, shift, 0, {}});
          cargo.emplace_back();
        }
        moves[i].mask |= 1u << to.bit;
        cargo[i].add(e, j);
      }
    }
  }
  for (std::size_t i = 0; i < moves.size(); ++i) moves[i].why = cargo[i].text();
  return moves;
}

bool moves_all(const DecodePlan& plan, const EncodeMove& move) {
  const std::uint32_t codes = ((1u << plan.request.bits) - 1) * kByteLanes;
  return shifted(codes, move.shift) == move.mask && shifted(move.mask, -move.shift) == codes;
}

std::vector<std::uint32_t> evaluate_encode(const DecodePlan& plan,
                                           const std::vector<std::uint32_t>& codes) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(plan.words));
  for (const EncodeMove& move : encode_moves(plan)) {
    const std::uint32_t moved = shifted(codes[move.reg], move.shift);
    words[move.word] |= moves_all(plan, move) ? moved : moved & move.mask;
  }
  return words;
}

double encode_cost(const DecodePlan& plan) {
  int instructions = 0;
  int word = -1;
  for (const EncodeMove& move : encode_moves(plan)) {
    const bool first = move.word != word;
    const bool copies = first && moves_all(plan, move);
    instructions += (move.shift != 0 ? 1 : 0) + (copies ? 0 : 1);
    word = move.word;
  }
  return static_cast<double>(instructions) / plan.elements();
}

}  // namespace heddle
