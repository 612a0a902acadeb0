// The tuned tables of a bundle, as heddle bundle shows and writes them.
#ifndef HEDDLE_TOOLS_HEDDLE_BUNDLE_TABLES_H_
#define HEDDLE_TOOLS_HEDDLE_BUNDLE_TABLES_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cache/bundle.h"
#include "heddle/tuned.h"

namespace heddle {

// As encode_bundle() takes them. Throws Error(kUnsupported) for more than a bundle has room for.
std::vector<std::string> texts_of(const TunedTables& tables);

// Throws Error(kFile) for a table that is not understood; `file` is the bundle's name.
TunedTables read_tables(Bundle* bundle, const std::string& file);

nlohmann::ordered_json tables_json(const TunedTables& tables);
// A line for each table.
std::string tables_text(const TunedTables& tables);

// Writes each as GPU.json into `folder`, which is made, and returns the files' names. Where no
// folder is named, writes nothing, and says so if there are tables. Throws Error(kFile).
std::vector<std::string> write_tables(const TunedTables& tables, const std::string& folder);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_BUNDLE_TABLES_H_
