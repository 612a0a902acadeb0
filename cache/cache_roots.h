// Where the disk cache lives, by argument and environment.
#ifndef HEDDLE_CACHE_CACHE_ROOTS_H_
#define HEDDLE_CACHE_CACHE_ROOTS_H_

#include <functional>
#include <string>

namespace heddle {

// The value of a variable, or nullptr.
using Environment = std::function<const char*(const char* name)>;

// The process's own, blind in a set-user-id program.
const char* process_environment(const char* name);

// `dir` if not empty, else $HEDDLE_CACHE, else $XDG_CACHE_HOME/heddle, else $HOME/.cache/heddle,
// else "": memory only. Empty variables count as unset, and so do relative ones but for
// HEDDLE_CACHE. The result is absolute.
std::string resolve_cache_root(const std::string& dir,
                               const Environment& environment = process_environment);

}  // namespace heddle

#endif  // HEDDLE_CACHE_CACHE_ROOTS_H_
