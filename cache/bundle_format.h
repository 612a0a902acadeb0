// The bytes of a bundle: many entries in one file, which never changes.
//
// All numbers are little-endian; docs/bundle-format.md describes every byte.
//
//   offset  size  field
//        0     8  magic: 89 48 44 42 0d 0a 1a 0a ("\x89HDB\r\n\x1a\n")
//        8     4  format version: 1
//       12     4  zero
//       16     8  length of the whole file
//       24     8  n, number of entries
//       32    16  checksum: XXH3-128 of the bytes 0 to 31 and of the index
//       48  48*n  index, ascending by the two digests, no two alike
//        .     .  the entries (entry.h), in the order of the index, without gaps
//
// An item of the index: source digest (16), compiler digest (16), offset of the entry in the file
// (8), its length (8). Each entry has a checksum of its own.
#ifndef HEDDLE_CACHE_BUNDLE_FORMAT_H_
#define HEDDLE_CACHE_BUNDLE_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cache/bytes.h"
#include "cache/digest.h"
#include "cache/key.h"

namespace heddle {

inline constexpr std::uint32_t kBundleVersion = 1;
inline constexpr std::size_t kBundleHeaderBytes = 48;
inline constexpr std::size_t kBundleItemBytes = 48;
// 2^20 entries: keeps a hostile count from becoming an allocation.
inline constexpr std::uint64_t kBundleMaxItems = std::uint64_t{1} << 20;

struct BundleItem {
  Digest source_digest{};
  Digest compiler_digest{};
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// The number of items that a header announces in a file of `file_bytes`. `why` says what is wrong
// with it and is null for a header that is right. Pure, total and bounded, as the next.
std::uint64_t parse_bundle_header(ByteView header, std::uint64_t file_bytes, const char** why);

// The index behind a header that was found right; empty, and `why` set, for one that is not.
std::vector<BundleItem> parse_bundle_index(ByteView header, ByteView index,
                                           std::uint64_t file_bytes, const char** why);

// One entry to put into a bundle: encode_entry()'s bytes and the key they hold.
struct BundleEntry {
  SerialKey key;
  Bytes bytes;
};

// A whole bundle. Of entries with the same digests only the first goes in. The same entries give
// the same bytes, in whichever order they come.
Bytes encode_bundle(std::vector<BundleEntry> entries);

}  // namespace heddle

#endif  // HEDDLE_CACHE_BUNDLE_FORMAT_H_
