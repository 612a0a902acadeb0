// Where the dynamic loader would find a library, without loading it.
#ifndef HEDDLE_RUNTIME_COMPILE_LOADER_CACHE_H_
#define HEDDLE_RUNTIME_COMPILE_LOADER_CACHE_H_

#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// The paths in the loader's cache (the text of /etc/ld.so.cache) of libraries whose name starts
// with `prefix`, in the cache's order. Empty for a text that is no such cache. Pure.
std::vector<std::string> paths_in_loader_cache(std::string_view cache, std::string_view prefix);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_COMPILE_LOADER_CACHE_H_
