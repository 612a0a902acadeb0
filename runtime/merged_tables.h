// The tuned tables of several bundles as those of one bundle with all of their kernels.
#ifndef HEDDLE_RUNTIME_MERGED_TABLES_H_
#define HEDDLE_RUNTIME_MERGED_TABLES_H_

#include <set>
#include <string>
#include <vector>

#include "heddle/tuned.h"

namespace heddle {

struct TablesOfBundle {
  std::string path;
  TunedTables tables;
  // tuned_gpu() of the targets that its kernels were planned for.
  std::set<std::string> gpus;
  bool knows_gpus = true;  // false if of some kernels the bundle does not say it
};

// As bundled_tables() has them for a process with these bundles, in this order. Throws
// Error(kUnsupported, "bundle.tables_contradict") with every reason why a kernel of some bundle
// might not be found any more: two tables of a GPU name different kernels for the same format, N, K
// and M; their costs differ; or one leaves out what the table that comes with Heddle has, and
// another one does not. A bundle with kernels for a GPU and no table was planned with the one that
// comes with Heddle.
TunedTables merge_bundled_tables(const std::vector<TablesOfBundle>& bundles);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_MERGED_TABLES_H_
