// Files of weights in formats that Heddle does not read (generator/model/unread_formats.h).
#ifndef HEDDLE_CHECKPOINT_FILES_UNREAD_FILE_H_
#define HEDDLE_CHECKPOINT_FILES_UNREAD_FILE_H_

#include <optional>
#include <string>

#include "generator/model/unread_formats.h"

namespace heddle {

struct UnreadFile {
  std::string path;
  const UnreadFormat* format;
};

// The file, by its name; the largest one of a folder and of the folders in it by theirs, which has
// the weights. Nothing where no name tells.
std::optional<UnreadFile> unread_file_at(const std::string& path);
std::optional<UnreadFile> unread_file_in(const std::string& folder);

// Throws Error(kUnsupported, "checkpoint.foreign"), which names the file and its format.
[[noreturn]] void refuse_unread(const UnreadFile& file);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_FILES_UNREAD_FILE_H_
