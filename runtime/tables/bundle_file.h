// What everything that writes or reads a whole bundle shares, `heddle bundle` included.
#ifndef HEDDLE_RUNTIME_TABLES_BUNDLE_FILE_H_
#define HEDDLE_RUNTIME_TABLES_BUNDLE_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cache/bundle.h"
#include "heddle/tuned.h"

namespace heddle {

// Throws Error(kUsage, "bundle.name") for a name that does not end in .hdl.
void check_bundle_name(const std::string& name);

// Writes a bundle and returns its length. Throws Error(kUnsupported, "bundle.too_large") and
// Error(kFile, "bundle.unwritable"), or "bundle.unfinished" where there is no room for it.
std::uint64_t write_bundle_file(const std::string& path, std::vector<BundleEntry> entries,
                                const TunedTables& tables, BundleTexts texts);

// Both throw Error(kFile, "bundle.unusable"): for a file that is no bundle or not to be trusted,
// and for tuned tables that are not understood. `path` is the bundle's name.
void check_readable(Bundle* bundle, const std::string& path);
TunedTables read_tables(Bundle* bundle, const std::string& path);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_TABLES_BUNDLE_FILE_H_
