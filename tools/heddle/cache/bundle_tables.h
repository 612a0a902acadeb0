// The tuned tables of a bundle, as heddle bundle shows and writes them.
#ifndef HEDDLE_TOOLS_HEDDLE_CACHE_BUNDLE_TABLES_H_
#define HEDDLE_TOOLS_HEDDLE_CACHE_BUNDLE_TABLES_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "heddle/tuned.h"

namespace heddle {

nlohmann::ordered_json tables_json(const TunedTables& tables);
// A line for each table.
std::string tables_text(const TunedTables& tables);

// Writes each as GPU.json into `folder`, which is made, and returns the files' names. Where no
// folder is named, writes nothing, and says so if there are tables. Throws Error(kFile).
std::vector<std::string> write_tables(const TunedTables& tables, const std::string& folder);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_CACHE_BUNDLE_TABLES_H_
