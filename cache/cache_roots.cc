#include "cache/cache_roots.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace heddle {
namespace {

// So that a later chdir() does not move the cache.
std::string absolute(const std::string& dir) {
  std::error_code error;
  const auto path = std::filesystem::absolute(dir, error);
  return error ? dir : path.string();
}

std::string below(const char* home, const char* rest) {
  return home != nullptr && home[0] == '/' ? std::string(home) + rest : std::string();
}

}  // namespace

const char* process_environment(const char* name) { return ::secure_getenv(name); }

std::string resolve_cache_root(const std::string& dir, const Environment& environment) {
  if (!dir.empty()) return absolute(dir);
  const char* own = environment("HEDDLE_CACHE");
  if (own != nullptr && own[0] != '\0') return absolute(own);
  const std::string shared = below(environment("XDG_CACHE_HOME"), "/heddle");
  return shared.empty() ? below(environment("HOME"), "/.cache/heddle") : shared;
}

}  // namespace heddle
