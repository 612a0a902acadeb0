#ifndef HEDDLE_GENERATOR_TUNED_FAMILIES_H_
#define HEDDLE_GENERATOR_TUNED_FAMILIES_H_

#include <string_view>
#include <vector>

#include "generator/families/costs.h"

namespace heddle {

// The names that a table may have for families.
std::vector<std::string_view> tuned_family_names();

// A cost parameter of a family, as far as a table must keep to it.
struct CostSlot {
  std::string_view name;
  CostRange range;
};

// What this library's version of a family's costs is, and its parameters. Precondition: the family
// is one of tuned_family_names().
struct CostSlots {
  int version = 1;
  std::vector<CostSlot> slots;
};
CostSlots tuned_cost_slots(std::string_view family);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_TUNED_FAMILIES_H_
