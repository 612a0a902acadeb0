#include "generator/decode/scale_factors.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle {

int ScaleFactors::of_field(int row, int bit) {
  std::vector<int>& bits = bits_[row];
  const auto place = std::find(bits.begin(), bits.end(), bit);
  const auto index = static_cast<int>(place - bits.begin());
  if (place == bits.end()) bits.push_back(bit);
  return kBias + 1 + index;
}

std::vector<int> ScaleFactors::products(const FieldNumber& number, int bias,
                                        Registers& group) const {
  std::vector<int> outputs;
  const auto add = [&](std::uint32_t factor, std::string why) {
    DecodeOp op;
    op.opcode = DecodeOpcode::kMul;
    op.imm = factor;
    op.why = std::move(why);
    outputs.push_back(group.emit(op));
  };
  add(number.bias({0, 0}), fmt::format("{} in units of {}", bias, number.unit_text()));
  const auto& [row, other] = bits_;
  for (std::size_t i = 0; i < std::max(row.size(), other.size()); ++i) {
    const Position p{i < row.size() ? row[i] : other[i], i < other.size() ? other[i] : row[i]};
    add(number.factor(p),
        fmt::format("times the powers of two that make the units of bits {} and {} {}", p.low,
                    p.high, number.unit_text()));
  }
  return outputs;
}

}  // namespace heddle
