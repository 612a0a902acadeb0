// Where each weight of a 16 by 16 tile lies: the A operand of mma.m16n8k16.
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

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_LAYOUT_FRAGMENT_ORDER_H_
