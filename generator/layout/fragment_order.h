// Where each weight of a tile lies: of 16 by 16 the A operand of mma.m16n8k16 in 16 bits, of 16 by
// 32 that of mma.m16n8k32 in eight.
#ifndef HEDDLE_GENERATOR_LAYOUT_FRAGMENT_ORDER_H_
#define HEDDLE_GENERATOR_LAYOUT_FRAGMENT_ORDER_H_

namespace heddle {

// Lane 4 * g + t owns eight weights; element e is half e % 2 of register a_(e / 2).
struct FragmentElement {
  int row;     // in the tile
  int column;  // in the tile
};

constexpr FragmentElement fragment_element(int lane, int element) {
  const int g = lane / 4;
  const int t = lane % 4;
  const int reg = element / 2;
  return {g + 8 * (reg % 2), 2 * t + element % 2 + 8 * (reg / 2)};
}

// Eight bits: element e of 16 is byte e % 4 of register a_(e / 4).
constexpr FragmentElement byte_fragment_element(int lane, int element) {
  const int g = lane / 4;
  const int t = lane % 4;
  const int reg = element / 4;
  return {g + 8 * (reg % 2), 4 * t + element % 4 + 16 * (reg / 2)};
}

// The columns whose words one lane loads together.
inline constexpr int kHalfK = 64;

// A lane has `bits` words for 16 rows by 64 columns. They lie in fours, 16 bytes to the lane, then
// a pair, then a single one, each for all 32 lanes in a row: byte offset of word `i`.
constexpr int lane_word_offset(int bits, int lane, int i) {
  const int fours = bits / 4 * 4;
  if (i < fours) return 128 * (i / 4 * 4) + 16 * lane + 4 * (i % 4);
  if ((bits & 2) != 0 && i < fours + 2) return 128 * fours + 8 * lane + 4 * (i - fours);
  return 128 * (bits - 1) + 4 * lane;
}

// TensorRT-LLM's tile interleave of 4- and 8-bit codes: a line of 128 bytes holds 64 columns of 4
// or 2 neighbouring rows; a chunk's lines go by row first, then by column. Byte offset in the chunk
// of word `i` of 64 columns, the `half` of the chunk. A lane's even words are of row g, its odd
// ones of row g + 8.
constexpr int trtllm_word_offset(int bits, int half, int lane, int i) {
  constexpr int kLineBytes = 128;
  const int rows_of_line = 16 / bits;
  const int row = lane / 4 + 8 * (i % 2);
  const int line = row / rows_of_line * 2 + half;
  return line * kLineBytes + row % rows_of_line * (kHalfK * bits / 8) + 16 * (i / 2) +
         4 * (lane % 4);
}

// Where the value of row i of a row block is among its 16: rows g and g + 8 side by side.
constexpr int row_slot(int i) { return i % 8 * 2 + i / 8; }

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_LAYOUT_FRAGMENT_ORDER_H_
