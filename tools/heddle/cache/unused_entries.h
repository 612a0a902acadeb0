// What tuned tables have for the plans of a command and these could not use.
#ifndef HEDDLE_TOOLS_HEDDLE_CACHE_UNUSED_ENTRIES_H_
#define HEDDLE_TOOLS_HEDDLE_CACHE_UNUSED_ENTRIES_H_

#include <string>
#include <string_view>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/tuned.h"

namespace heddle {

// A sentence for each entry and each family's costs that the table of the plan's GPU has for it and
// that could not be used, as the plan's reasons have it. Of other operations than gemm none.
std::vector<std::string> unused_entries(const Plan& plan, const TunedTables& tables);

// Adds these to `sentences`, with `name` and a colon in front where it is not empty. What is there
// already is not added again.
void add_unused(const Plan& plan, const TunedTables& tables, std::string_view name,
                std::vector<std::string>* sentences);

// A line on stderr for each.
void print_unused(const std::vector<std::string>& sentences);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_CACHE_UNUSED_ENTRIES_H_
