// The rules between the fields of "weight", and those of the sides of W.
#ifndef HEDDLE_GENERATOR_SPEC_WEIGHT_MEANING_H_
#define HEDDLE_GENERATOR_SPEC_WEIGHT_MEANING_H_

#include <cstdint>
#include <vector>

#include "heddle/error.h"
#include "heddle/spec.h"

namespace heddle {

using Problems = std::vector<Problem>;

// Groups begin and end between k tiles of the fragment layout, which have 16 columns.
inline constexpr int kGroupStep = 16;

// The sides of W; and of one that has the rows of gates and ups.
void check_sides(const MatrixShape& shape, Problems& problems);
void check_gated(std::int64_t n, Problems& problems);

void check_weight(const MatrixShape& shape, const WeightSpec& weight, Problems& problems);

// The rules of group_size and group_offset alone.
void check_groups(std::int64_t k, const WeightSpec& weight, Problems& problems);

// What quantize_weight cannot make.
void check_quantized_groups(const WeightSpec& weight, Problems& problems);

// What the tensors of AWQ and GPTQ cannot hold.
void check_checkpoint(const WeightOpSpec& spec, Problems& problems);

// What operations that quantise or dequantise W, or read a checkpoint's codes, have nothing to do
// with.
void check_is_quantised(const WeightSpec& weight, Problems& problems);

// Width of the type's codes; 0 where `bits` decides.
int fixed_bits(WeightType type);

// kUint or kInt: no float, no table.
bool is_integer(WeightType type);
// Whether the codes are integers of at most `bits` bits.
bool is_integer_up_to(const WeightSpec& weight, int bits);

// Whether its scales have 8 bits.
bool has_small_scales(const WeightSpec& weight);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_WEIGHT_MEANING_H_
