#ifndef HEDDLE_GENERATOR_TUNED_FAMILIES_H_
#define HEDDLE_GENERATOR_TUNED_FAMILIES_H_

#include <string_view>
#include <vector>

namespace heddle {

// The names that a table may have for families.
std::vector<std::string_view> tuned_family_names();

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_TUNED_FAMILIES_H_
