// What a spec's tile leaves open.
#ifndef HEDDLE_GENERATOR_FAMILIES_TILE_FIELDS_H_
#define HEDDLE_GENERATOR_FAMILIES_TILE_FIELDS_H_

#include <optional>
#include <utility>
#include <vector>

#include "heddle/spec.h"

namespace heddle {

// Whether the tile sets a field.
inline bool sets_any(const TileSpec& tile) {
  return tile.m || tile.n || tile.k || tile.stages || tile.split_k || tile.warps_m ||
         tile.warps_n || tile.warps_k;
}

// Whether a field has this value or is open.
inline bool allows(const std::optional<int>& field, int value) { return !field || *field == value; }

// The field's value, or the choices for an open one.
inline std::vector<int> values_of(const std::optional<int>& field, std::vector<int> choices) {
  return field ? std::vector<int>{*field} : std::move(choices);
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_TILE_FIELDS_H_
