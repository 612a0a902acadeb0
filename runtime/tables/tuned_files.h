// TunedFiles: the tables of measured kernels that a runtime plans with.
//
// The files that are named go before the tables of bundles, and these before the shipped ones.
#ifndef HEDDLE_RUNTIME_TABLES_TUNED_FILES_H_
#define HEDDLE_RUNTIME_TABLES_TUNED_FILES_H_

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/cache_roots.h"
#include "heddle/tuned.h"

namespace heddle {

// The text of the file of a table, which the user has named. Throws Error(kFile,
// "tuned.unreadable") for what cannot be read, is no regular file, as a pipe is none, or larger
// than any table.
std::string read_table_text(const std::string& name);

// The table in such a file. Throws what read_table_text() and TunedTable::parse() throw, with the
// file's name before each pointer.
TunedTable read_table_file(const std::string& name);

// Thread-safe.
class TunedFiles {
 public:
  // The tables of the bundles in use (bundled_tables.h).
  using Bundled = std::function<TunedTables()>;

  // `list` as RuntimeOptions::tuned_tables; empty: $HEDDLE_TUNED. Reads no file; names become
  // absolute. Throws Error(kUsage, "tuned.list").
  TunedFiles(const std::string& list, Bundled bundled,
             const Environment& environment = process_environment);

  // Takes another list. Throws what the constructor throws, and Error(kUsage, "tuned.in_use") once
  // tables() has returned.
  void replace(const std::string& list);

  // The files of the list, absolute.
  std::vector<std::string> named();

  // Reads the files with the first call, and then asks once for the bundles' tables, unless the
  // list leaves them out. Throws what read_table_file() throws; the next call then tries again.
  const TunedTables& tables();

 private:
  struct List {
    bool with_others = true;  // those of bundles and the shipped ones
    std::vector<std::string> files;
  };

  static List parse(std::string_view text);

  const Bundled bundled_;
  const Environment environment_;
  std::mutex mutex_;
  List list_;                          // guarded by mutex_, as is the next
  std::optional<TunedTables> tables_;  // never changes once it is there
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_TABLES_TUNED_FILES_H_
