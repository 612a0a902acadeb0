#include "cache/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace heddle {

Digest digest(const void* data, std::size_t bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, bytes));
  Digest result;
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), result.begin());
  return result;
}

std::string hex(const Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * digest.size());
  for (const std::uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace heddle
