// CacheKey: everything that decides which bytes the compiler makes.
#ifndef HEDDLE_CACHE_KEY_H_
#define HEDDLE_CACHE_KEY_H_

#include <cstdint>
#include <string>

#include "cache/digest.h"

namespace heddle {

// What a key is found and recognised by. Two keys are taken to be the same if all of this is.
//
// That is safe without the text itself. Of two different source parts, the XXH3 digest, the XXH64
// digest and the length agree by accident with a chance of less than 2^-190, far below that of a
// wrong bit in memory. Nobody can choose two such texts either: source parts are rendered from
// specs, whose fields are numbers in narrow ranges and words of a list, and both digests have to be
// met at once. Who can put other files into a cache or a bundle needs no collision: he can replace
// the code itself.
struct KeyDigests {
  Digest source{};
  Digest compiler{};
  std::uint64_t source_second = 0;  // second_digest() of the source part
  std::uint64_t source_bytes = 0;   // its length

  bool operator==(const KeyDigests&) const = default;

  // "<source>-<compiler>", each as 32 hex digits: the name of the entry.
  std::string id() const;
};

struct CacheKey {
  std::string source_text;
  std::string file_name;  // the compiler puts it into its output
  std::string kernel_name;
  std::string arch;
  std::string options;
  std::string compiler;  // identity: version and build-ids

  bool operator==(const CacheKey&) const = default;

  // Makes no copy of the text.
  KeyDigests digests() const;

  std::string source_digest() const;    // 32 hex digits, over all but the compiler
  std::string compiler_digest() const;  // 32 hex digits, over the compiler
  std::string id() const;               // "<source_digest>-<compiler_digest>"

  // The whole key as bytes, such that two keys are equal exactly if their texts are:
  // "heddle key 1\n", then each field as "<name> <length>\n<bytes>\n", the compiler last.
  std::string text() const;
};

// A key as files hold it: text() in two parts, and the digests of both.
struct SerialKey {
  std::string source;  // empty where only its digests are known
  std::string compiler;
  KeyDigests digests;

  std::string id() const { return digests.id(); }
};

SerialKey serialize(const CacheKey& key);

// Whether the source parts are the same, whatever the compiler.
bool same_source(const KeyDigests& a, const KeyDigests& b);

// The digests of a key in its two parts.
KeyDigests digests_of(std::string_view source, std::string_view compiler);

}  // namespace heddle

#endif  // HEDDLE_CACHE_KEY_H_
