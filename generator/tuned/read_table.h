#ifndef HEDDLE_GENERATOR_TUNED_READ_TABLE_H_
#define HEDDLE_GENERATOR_TUNED_READ_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

#include "heddle/tuned.h"

namespace heddle {

// What a document says, in its order.
struct TableText {
  std::string gpu;
  std::vector<TunedEntry> entries;
  std::vector<TunedCosts> costs;  // ascending by family
};

// Throws Error(kSpec) like TunedTable::parse.
TableText read_table(std::string_view json);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_TUNED_READ_TABLE_H_
