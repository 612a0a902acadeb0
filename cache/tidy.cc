#include "cache/tidy.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <tuple>
#include <vector>

#include "cache/file_lock.h"
#include "cache/file_names.h"

namespace heddle {
namespace {

struct Candidate {
  std::int64_t used_ns;
  std::string path;  // from the base
  std::uint64_t bytes;
};

// What a file system without locks says, NFS for one.
bool has_no_locks(int error) {
  return error == ENOLCK || error == EOPNOTSUPP || error == ENOSYS || error == EINVAL;
}

// Deleting a lock file is safe only for its holder, so become that; where there are no locks,
// nobody can be.
void sweep_lock(FileSystem& files, const CacheFile& file) {
  const FileLock lock =
      FileLock::attempt(files, file.shard, file.name, FileLock::AtRelease::kDelete);
  if (lock.status() == LockStatus::kUnavailable && has_no_locks(lock.error())) {
    files.unlink(file.shard, file.name);
  }
}

void sweep(FileSystem& files, const CacheFile& file) {
  if (file.kind == FileKind::kLock) {
    sweep_lock(files, file);
  } else {
    files.unlink(file.shard, file.name);
  }
}

std::uint64_t evict(FileSystem& files, int base, std::vector<Candidate>* entries,
                    std::uint64_t total, std::uint64_t target) {
  std::ranges::sort(*entries, [](const Candidate& a, const Candidate& b) {
    return std::tie(a.used_ns, a.path) < std::tie(b.used_ns, b.path);
  });
  for (const Candidate& entry : *entries) {
    if (total <= target) break;
    const int error = files.unlink(base, entry.path);
    if (error == 0 || error == -ENOENT) total -= entry.bytes;
  }
  return total;
}

}  // namespace

TidyResult tidy_folder(FileSystem& files, int base, std::uint64_t limit) {
  const std::int64_t stray_before = files.now_ns() - kStrayAfterNs;
  std::vector<Candidate> entries;
  std::uint64_t total = 0;
  const bool complete = for_each_file(files, base, [&](const CacheFile& file) {
    FileInfo info;
    if (file.kind == FileKind::kOther || files.stat_at(file.shard, file.name, &info) < 0) return;
    if (file.kind != FileKind::kEntry) {
      if (info.modified_ns < stray_before) sweep(files, file);
    } else if (S_ISREG(info.mode)) {
      entries.push_back({info.modified_ns, file.shard_name + "/" + file.name, info.size});
      total += info.size;
    }
  });
  if (total > limit) total = evict(files, base, &entries, total, limit - limit / 8);
  return {total, complete};
}

std::size_t clear_folder(FileSystem& files, int base) {
  std::size_t deleted = 0;
  for_each_file(files, base, [&](const CacheFile& file) {
    if (file.kind == FileKind::kEntry) {
      deleted += files.unlink(file.shard, file.name) == 0 ? 1 : 0;
    } else if (file.kind != FileKind::kOther) {
      sweep(files, file);
    }
  });
  return deleted;
}

}  // namespace heddle
