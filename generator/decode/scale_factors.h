// What fields are multiplied by, and what is taken off, where decoding multiplies by the scale.
#ifndef HEDDLE_GENERATOR_DECODE_SCALE_FACTORS_H_
#define HEDDLE_GENERATOR_DECODE_SCALE_FACTORS_H_

#include <array>
#include <vector>

#include "generator/decode/field_number.h"
#include "generator/decode/registers.h"

namespace heddle {

// Products of the scales of rows g and g + 8, the low and the high half of a register, made once
// for a group. Fields of a row that begin at the same bit share one; so do one field of each row.
class ScaleFactors {
 public:
  // The output with the scale times the bias.
  static constexpr int kBias = 0;

  // The output with the scale times the factor of such fields, of row g (0) or g + 8 (1).
  int of_field(int row, int bit);

  // Makes all outputs from register 0 of `group`, and returns their registers.
  std::vector<int> products(const FieldNumber& number, int bias, Registers& group) const;

 private:
  std::array<std::vector<int>, 2> bits_;  // [row]: where fields begin
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_DECODE_SCALE_FACTORS_H_
