// Digest: XXH3 with 128 bits, for names and checksums. It finds accidents, not forgeries.
#ifndef HEDDLE_CACHE_DIGEST_H_
#define HEDDLE_CACHE_DIGEST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace heddle {

// In the canonical (big-endian) byte order, in which hex() prints it and files hold it.
using Digest = std::array<std::uint8_t, 16>;

Digest digest(const void* data, std::size_t bytes);
inline Digest digest(std::string_view text) { return digest(text.data(), text.size()); }
// What digest() of texts that follow one another is, without a copy of the whole.
Digest digest(std::span<const std::string_view> texts);

// XXH64 of texts that follow one another: another construction than XXH3, so that texts with the
// same Digest do not have the same sum for that reason.
std::uint64_t second_digest(std::span<const std::string_view> texts);

// 32 lower-case digits.
std::string hex(const Digest& digest);

}  // namespace heddle

#endif  // HEDDLE_CACHE_DIGEST_H_
