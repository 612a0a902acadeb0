// The tuned tables of several bundles as those of one bundle with all of their kernels.
#ifndef HEDDLE_RUNTIME_TABLES_MERGED_TABLES_H_
#define HEDDLE_RUNTIME_TABLES_MERGED_TABLES_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "heddle/tuned.h"

namespace heddle {

struct TablesOfBundle {
  std::string path;
  TunedTables tables;
  // The names of its kernels by tuned_gpu() of the targets that they were planned for; under "" are
  // those of which the bundle does not say it, which may be for any GPU.
  std::map<std::string, std::set<std::string>> kernels;
};

// As bundled_tables() has them for a process with these bundles, in this order. Throws
// Error(kUnsupported, "bundle.tables_contradict") with every reason why a kernel of some bundle
// might not be found any more: two tables of a GPU name different kernels for the same format, N, K
// and M; their costs differ; one leaves out what the table that comes with Heddle has, and another
// one does not; or of a format, N and K of which a bundle has a gemm's kernels, the merged table
// has other entries than the bundle's own, because an entry serves gemms with any epilogue. A
// bundle with kernels for a GPU and no table was planned with the one that comes with Heddle.
TunedTables merge_bundled_tables(const std::vector<TablesOfBundle>& bundles);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_TABLES_MERGED_TABLES_H_
