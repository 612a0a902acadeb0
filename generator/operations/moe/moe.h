// The fields of moe, the rules between them, and its two products as GEMMs.
#ifndef HEDDLE_GENERATOR_OPERATIONS_MOE_MOE_H_
#define HEDDLE_GENERATOR_OPERATIONS_MOE_MOE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "generator/spec/fields.h"
#include "heddle/error.h"
#include "heddle/spec.h"

namespace heddle {

// Experts of a token: a lane of a warp has one.
inline constexpr int kMostChoices = 32;

const FieldTable& moe_fields();
// Operation::problems() of a struct.
std::vector<Problem> check_meaning(const MoeSpec& spec);

// The members of moe_gemms(). M is the number of an expert's tokens.
GemmSpec gate_up_gemm(const MoeSpec& spec);
GemmSpec down_gemm(const MoeSpec& spec);

// Problems of one of the two as problems of the moe: at the pointers of its own fields.
// `weight`: "/weight/gate_up" or "/weight/down".
std::vector<Problem> as_moe_problems(std::vector<Problem> problems, const std::string& weight);

// The load of this device's experts where routing is uniform and independent.
struct ExpertLoad {
  double hit = 0;    // experts that any token chooses, and shared ones
  double rows = 0;   // assignments to all of them
  double tiles = 0;  // of `tile_rows` rows of one expert: the last one of an expert may have fewer
  // [rows]: of the tiles, those with so many rows, up to tile_rows.
  std::vector<double> tiles_with;
};
ExpertLoad expert_load(const MoeSpec& spec, std::int64_t tokens, int tile_rows);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_OPERATIONS_MOE_MOE_H_
