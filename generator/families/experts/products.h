// The two products of a layer of experts as GEMMs of a path: what a candidate's halves are asked
// and predicted as.
#ifndef HEDDLE_GENERATOR_FAMILIES_EXPERTS_PRODUCTS_H_
#define HEDDLE_GENERATOR_FAMILIES_EXPERTS_PRODUCTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "generator/families/gemm_request.h"
#include "heddle/inspect/plan.h"
#include "heddle/weights.h"

namespace heddle {

// A product as a GEMM, with what a GemmRequest refers to.
struct ExpertGemm {
  GemmSpec spec;
  WeightLayout layout;
  DecodePlan decode;
  const Target* target;

  GemmRequest request() const { return {spec, *target, decode, layout}; }
};

struct ExpertGemms {
  ExpertGemm gate_up;
  ExpertGemm down;
  std::int64_t rows;  // M
  // The launch takes so many times what they take.
  double repeats;
};

// The products of one expert, by GEMMs of the path.
ExpertGemms gemms_of_expert(const Plan& plan, Path path);
// The products of all experts that so many tokens hit by tiles of `tile_rows` rows, as if every
// tile had weights of its own and those of all were one matrix: that has the tiles, the operations
// and, where experts have one tile each, the bytes of the launch. A matrix with more rows than a
// launch of GEMMs may have stands for a part of the tiles.
ExpertGemms gemms_of_layer(const Plan& plan, Path path, std::int64_t tokens, int tile_rows);

// Those of the ascending `rows` that a tile may have: not more than twice what experts have of so
// many tokens, but the first `few` always; and not so few that an expert needs many tiles, but the
// last `many` always.
std::vector<int> useful_tile_rows(const Plan& plan, std::int64_t tokens,
                                  const std::vector<int>& rows, std::size_t few, std::size_t many);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_EXPERTS_PRODUCTS_H_
