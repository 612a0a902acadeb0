#include "generator/decode/encode_text.h"

#include <fmt/format.h>

#include "generator/decode/encode_moves.h"

namespace heddle {
namespace {

constexpr int kTilesOfALoad = 4;  // 64 columns

std::string shifted_text(const EncodeMove& move) {
  if (move.shift == 0) return fmt::format("c{}", move.reg);
  return move.shift > 0 ? fmt::format("shl<{}>(c{})", move.shift, move.reg)
                        : fmt::format("shr<{}>(c{})", -move.shift, move.reg);
}

std::string line(const DecodePlan& plan, const EncodeMove& move, bool first) {
  const std::string from = shifted_text(move);
  const bool all = moves_all(plan, move);
  std::string text;
  if (first) {
    text = fmt::format("u32 w{} = {}", move.word, from);
    if (!all) text += fmt::format(" & 0x{:08x}u", move.mask);
  } else if (all) {
    text = fmt::format("w{} |= {}", move.word, from);
  } else {
    // (a & b) | c
    text = fmt::format("w{0} = lop3<0xea>({1}, 0x{2:08x}u, w{0})", move.word, from, move.mask);
  }
  return fmt::format("    {};  // {}\n", text, move.why);
}

}  // namespace

std::string encode_text(const DecodePlan& plan) {
  const int tiles = plan.elements() / 8;
  std::string text = fmt::format(
      "struct Encode {{\n"
      "  static constexpr int kTiles = {};  // 16 by 16 tiles in a unit\n\n"
      "  // codes[2 * tile + r]: row g + 8r of a tile, columns 2t, 2t + 8, 2t + 1, 2t + 9, a byte\n"
      "  // each with no bits above the code's {}.\n"
      "  static __device__ __forceinline__ void unit(const u32 (&codes)[{}], int unit,\n"
      "                                              u32 (&words)[{}]) {{\n",
      tiles, plan.request.bits, 2 * kTilesOfALoad, plan.request.bits);
  for (int i = 0; i < 2 * tiles; ++i) {
    text += fmt::format("    const u32 c{} = codes[{} * unit + {}];\n", i, 2 * tiles, i);
  }
  int word = -1;
  for (const EncodeMove& move : encode_moves(plan)) {
    text += line(plan, move, move.word != word);
    word = move.word;
  }
  for (int i = 0; i < plan.words; ++i) {
    text += fmt::format("    words[{} * unit + {}] = w{};\n", plan.words, i, i);
  }
  return text + "  }\n};\n";
}

}  // namespace heddle
