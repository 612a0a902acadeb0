// Why a tile of mma.sync cannot be built.
#ifndef HEDDLE_GENERATOR_FAMILIES_TILES_REFUSE_H_
#define HEDDLE_GENERATOR_FAMILIES_TILES_REFUSE_H_

#include <vector>

#include "generator/families/refuse.h"

namespace heddle {

// Every reason why this tile cannot be built; empty if it can.
std::vector<Problem> refuse_tile(const GemmSpec& spec, const Target& target,
                                 const WeightLayout& layout, const GemmVariant& variant);

// The same of one that bulk copies feed.
std::vector<Problem> refuse_bulk(const GemmSpec& spec, const Target& target,
                                 const WeightLayout& layout, const GemmVariant& variant);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_TILES_REFUSE_H_
