// Whether the layers of a cache can be used, for who named them and wants to know before anything
// is compiled. A runtime does not ask: to it a layer that is of no use is as good as an empty one.
#ifndef HEDDLE_CACHE_USABLE_ROOTS_H_
#define HEDDLE_CACHE_USABLE_ROOTS_H_

#include "cache/cache_roots.h"
#include "cache/file_system.h"

namespace heddle {

// Throws Error(kFile, "cache.unusable") with a problem for each layer that is of no use: a
// read-only one that is not there or cannot be trusted, a writable one that cannot be made, cannot
// be trusted or takes no file. Makes the writable folder where it is missing, unless `writes` is
// false: then nothing is made, and a folder that is not there is an empty one.
void expect_usable_roots(const CacheRoots& roots, bool writes,
                         FileSystem& files = posix_file_system());

}  // namespace heddle

#endif  // HEDDLE_CACHE_USABLE_ROOTS_H_
