#include "cache/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace heddle {
namespace {

Digest canonical(const XXH128_hash_t& hash) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  Digest result;
  std::copy(std::begin(bytes.digest), std::end(bytes.digest), result.begin());
  return result;
}

}  // namespace

Digest digest(const void* data, std::size_t bytes) { return canonical(XXH3_128bits(data, bytes)); }

Digest digest(std::span<const std::string_view> texts) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (const std::string_view text : texts) {
    XXH3_128bits_update(&state, text.data(), text.size());
  }
  return canonical(XXH3_128bits_digest(&state));
}

std::uint64_t second_digest(std::span<const std::string_view> texts) {
  XXH64_state_t state;
  XXH64_reset(&state, 0);
  for (const std::string_view text : texts) XXH64_update(&state, text.data(), text.size());
  return XXH64_digest(&state);
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
