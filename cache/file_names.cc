#include "cache/file_names.h"

#include <algorithm>
#include <vector>

namespace heddle {
namespace {

constexpr std::size_t kIdLength = 65;  // two digests of 32 digits and a dash

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool is_shard(std::string_view name) {
  return name.size() == 2 && std::all_of(name.begin(), name.end(), is_hex);
}

bool is_id(std::string_view name) {
  return name.size() == kIdLength && name[32] == '-' &&
         std::all_of(name.begin(), name.begin() + 32, is_hex) &&
         std::all_of(name.begin() + 33, name.end(), is_hex);
}

}  // namespace

FileKind file_kind(std::string_view name) {
  if (!is_id(name.substr(0, kIdLength))) return FileKind::kOther;
  const std::string_view rest = name.substr(kIdLength);
  if (rest == kEntrySuffix) return FileKind::kEntry;
  if (rest == kLockSuffix) return FileKind::kLock;
  if (rest.ends_with(kTemporarySuffix)) return FileKind::kTemporary;
  return FileKind::kOther;
}

bool for_each_file(FileSystem& files, int base,
                   const std::function<void(const CacheFile&)>& visit) {
  std::vector<std::string> shards;
  bool complete = files.list(base, &shards) == 0;
  for (const std::string& shard : shards) {
    if (!is_shard(shard)) continue;
    const Fd folder = open_folder(files, base, shard);
    std::vector<std::string> names;
    if (!folder || files.list(folder.get(), &names) < 0) complete = false;
    for (const std::string& name : names) visit({folder.get(), shard, name, file_kind(name)});
  }
  return complete;
}

}  // namespace heddle
