// Folders and files of a cache that must not be trusted, or cannot be used, and what must come of
// it.
#ifndef HEDDLE_TESTS_CACHE_ODD_PLACES_H_
#define HEDDLE_TESTS_CACHE_ODD_PLACES_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace heddle::testing {

inline constexpr uid_t kStranger = 54321;

// What the cache must make of a place.
enum class Outcome {
  kMemoryOnly,  // right bytes, nothing found later, one warning
  kReplaced,    // not found, but stored anew
  kUsed,        // works, without a warning
};

struct Place {
  std::string folder;  // everything of the case lies in here
  std::string root;
  std::string entry;  // of key 0; exists and is sound when the case begins
  std::string shard;
  std::string lock;
};

struct Case {
  const char* name;
  Outcome outcome;
  std::function<void(const Place&)> prepare;
  bool needs_root = false;
  int failing = 0;  // make_folder and open for writing fail with this errno
};

// What may be wrong with the root and the folders in it, and with the files.
std::vector<Case> root_cases();
std::vector<Case> file_cases();

void set_mode(const std::string& path, mode_t mode);

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_CACHE_ODD_PLACES_H_
