// The names inside of a cache folder:
//
//   <root>/v1/                  everything of this format version
//   <root>/v1/usage             bytes in use (usage.h)
//   <root>/v1/<2 hex>/          a shard, named by the first digits of the source digest
//     <id>.hdl                  an entry (entry.h)
//     <id>.<16 hex>.tmp         an entry that is being written
//     <id>.lock                 held by the process that makes the entry
//
// Names that do not fit this scheme are left alone.
#ifndef HEDDLE_CACHE_FILE_NAMES_H_
#define HEDDLE_CACHE_FILE_NAMES_H_

#include <functional>
#include <string>
#include <string_view>

#include "cache/file_system.h"

namespace heddle {

inline constexpr char kFormatFolder[] = "v1";
inline constexpr char kUsageFile[] = "usage";
inline constexpr char kEntrySuffix[] = ".hdl";
inline constexpr char kTemporarySuffix[] = ".tmp";
inline constexpr char kLockSuffix[] = ".lock";

enum class FileKind { kEntry, kTemporary, kLock, kOther };

FileKind file_kind(std::string_view name);
inline std::string shard_of(std::string_view id) { return std::string(id.substr(0, 2)); }

// A file found in a shard.
struct CacheFile {
  int shard;  // descriptor of its folder, open during the visit only
  const std::string& shard_name;
  const std::string& name;
  FileKind kind;
};

// Visits every file of every shard. False if some folder could not be listed.
bool for_each_file(FileSystem& files, int base, const std::function<void(const CacheFile&)>& visit);

}  // namespace heddle

#endif  // HEDDLE_CACHE_FILE_NAMES_H_
