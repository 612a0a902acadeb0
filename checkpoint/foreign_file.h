// Files of weights in formats that Heddle does not read (generator/model/foreign_formats.h).
#ifndef HEDDLE_CHECKPOINT_FOREIGN_FILE_H_
#define HEDDLE_CHECKPOINT_FOREIGN_FILE_H_

#include <optional>
#include <string>

#include "generator/model/foreign_formats.h"

namespace heddle {

struct ForeignFile {
  std::string path;
  const ForeignFormat* format;
};

// The file, by its name; the largest one of a folder and of the folders in it by theirs, which has
// the weights. Nothing where no name tells.
std::optional<ForeignFile> foreign_file_at(const std::string& path);
std::optional<ForeignFile> foreign_file_in(const std::string& folder);

// Throws Error(kUnsupported, "checkpoint.foreign"), which names the file and its format.
[[noreturn]] void refuse_foreign(const ForeignFile& file);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_FOREIGN_FILE_H_
