// The file of a tuned table.
#ifndef HEDDLE_TOOLS_HEDDLE_RUN_TUNED_FILE_H_
#define HEDDLE_TOOLS_HEDDLE_RUN_TUNED_FILE_H_

#include <optional>
#include <string>

#include "heddle/tuned.h"

namespace heddle {

// None if there is no such file. Throws Error(kFile) if it cannot be read, and what
// TunedTable::parse() throws, with the file's name.
std::optional<TunedTable> read_tuned_file(const std::string& path);

// The file holds the whole table, or what it held before. Throws Error(kFile).
void write_tuned_file(const std::string& path, const TunedTable& table);

// Throws Error(kFile) if write_tuned_file() could not write this file now; leaves nothing behind.
void check_tuned_file(const std::string& path);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_RUN_TUNED_FILE_H_
