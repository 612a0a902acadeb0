// CacheKey: everything that decides which bytes the compiler makes.
#ifndef HEDDLE_CACHE_KEY_H_
#define HEDDLE_CACHE_KEY_H_

#include <string>

#include "cache/digest.h"

namespace heddle {

struct CacheKey {
  std::string source_text;
  std::string file_name;  // the compiler puts it into its output
  std::string kernel_name;
  std::string arch;
  std::string options;
  std::string compiler;  // identity: version and build-ids

  bool operator==(const CacheKey&) const = default;

  std::string source_digest() const;    // 32 hex digits, over all but the compiler
  std::string compiler_digest() const;  // 32 hex digits, over the compiler
  std::string id() const;               // "<source_digest>-<compiler_digest>"

  // The whole key as bytes, such that two keys are equal exactly if their texts are:
  // "heddle key 1\n", then each field as "<name> <length>\n<bytes>\n", the compiler last.
  std::string text() const;
};

// A key as files hold it: text() in two parts, and the digest of each.
struct SerialKey {
  std::string source;
  std::string compiler;
  Digest source_digest{};
  Digest compiler_digest{};

  std::string id() const;
};

SerialKey serialize(const CacheKey& key);

}  // namespace heddle

#endif  // HEDDLE_CACHE_KEY_H_
