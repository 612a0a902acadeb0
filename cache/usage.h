// Usage: how many bytes all processes together keep in one cache folder.
//
// The number lives in the file <base>/usage. A writer takes the file's lock, reserves its bytes
// there, evicting first where the cap would be passed, and only then writes its entry. So the cap
// holds for any number of writers, nobody scans the folder on a hit, and few stores do. The number
// may drift (a writer died, an entry was replaced or deleted by hand); every kTidyEvery-th store
// counts anew.
//
// The file: 8 bytes total, 8 bytes stores since the last count, 16 bytes XXH3-128 of those; numbers
// little-endian. Anything else in it means: count now.
#ifndef HEDDLE_CACHE_USAGE_H_
#define HEDDLE_CACHE_USAGE_H_

#include <cstdint>

#include "cache/file_system.h"

namespace heddle {

inline constexpr std::uint64_t kTidyEvery = 256;

// `bytes` must not be more than `cap`. Best effort: where the file cannot be written, the entry is
// written all the same. Where the file system has no locks, writers at the same time lose each
// other's bytes, and the cap may be passed until the next count.
void reserve_bytes(FileSystem& files, int base, std::uint64_t bytes, std::uint64_t cap);

// Tidies and counts now. Returns the bytes in use.
std::uint64_t recount_bytes(FileSystem& files, int base, std::uint64_t cap);

}  // namespace heddle

#endif  // HEDDLE_CACHE_USAGE_H_
