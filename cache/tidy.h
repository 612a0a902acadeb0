// tidy: brings a cache folder under its cap and removes what dead processes left behind.
#ifndef HEDDLE_CACHE_TIDY_H_
#define HEDDLE_CACHE_TIDY_H_

#include <cstddef>
#include <cstdint>

#include "cache/file_system.h"

namespace heddle {

// Temporaries and lock files younger than this are taken to be in use.
inline constexpr std::int64_t kStrayAfterNs = std::int64_t{3600} * 1'000'000'000;

struct TidyResult {
  std::uint64_t bytes = 0;  // of the entries that are left
  bool complete = false;    // false if some folder could not be read: there may be more
};

// Deletes stray temporaries and the lock files that nobody holds, then, if the entries have more
// than `limit` bytes together, the least recently used ones down to 7/8 of it. The time of last use
// is a hint: wrong clocks cost compilations, nothing else. Safe beside any readers and writers.
TidyResult tidy_folder(FileSystem& files, int base, std::uint64_t limit);

// Deletes all entries, and temporaries and free lock files of any age. Returns the entries deleted.
std::size_t clear_folder(FileSystem& files, int base);

}  // namespace heddle

#endif  // HEDDLE_CACHE_TIDY_H_
