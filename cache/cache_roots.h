// Where kernels are kept and found, by argument and environment.
#ifndef HEDDLE_CACHE_CACHE_ROOTS_H_
#define HEDDLE_CACHE_CACHE_ROOTS_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// The value of a variable, or nullptr.
using Environment = std::function<const char*(const char* name)>;

// The process's own, blind in a set-user-id program.
const char* process_environment(const char* name);

struct CacheRoots {
  std::string writable;                // empty: nothing is kept on disk
  std::vector<std::string> read_only;  // folders and bundles, searched in this order
};

// Either one path, which is writable, or a list of layers: "rw:/path:ro:/image/layer:ro:model.hdl",
// at most one of them rw. A list starts with "rw:" or "ro:"; inside of a path a colon ends it only
// before one of these. What looks like another mark is refused: a word and a colon at the beginning
// ("rx:dir"; "./rx:dir" is a folder), two letters or digits between colons inside of a list. Paths
// become absolute. Throws Error(kUsage, "cache.roots").
CacheRoots parse_cache_roots(std::string_view text);

// parse_cache_roots() of `dir` if not empty, else of $HEDDLE_CACHE; else the writable root
// $XDG_CACHE_HOME/heddle, else $HOME/.cache/heddle, else none: memory only. Empty variables count
// as unset, and so do relative ones but for HEDDLE_CACHE.
CacheRoots resolve_cache_roots(const std::string& dir,
                               const Environment& environment = process_environment);

}  // namespace heddle

#endif  // HEDDLE_CACHE_CACHE_ROOTS_H_
