// The bytes of a bundle: many entries in one file, which never changes.
//
// All numbers are little-endian; docs/bundle-format.md describes every byte.
//
//   offset  size  field
//        0     8  magic: 89 48 44 42 0d 0a 1a 0a ("\x89HDB\r\n\x1a\n")
//        8     4  format version: 2 if the bundle has tuned tables, else 1
//       12     4  zero
//       16     8  length of the whole file
//       24     8  n, number of entries
//       32    16  checksum: XXH3-128 of the bytes 0 to 31 and of the index
//       48  48*n  index: an item for each entry, ascending by the two digests, no two alike
//        .    48  version 2: the last item of the index, that of the tables
//        .     .  the entries (entry.h), in the order of the index, without gaps
//        .     .  version 2: the tables, which end with the file
//
// An item of an entry: source digest (16), compiler digest (16), offset of the entry in the file
// (8), its length (8). Each entry has a checksum of its own.
//
// The item of the tables: their checksum (16), zero (16), their offset (8), their length (8). They
// are one table or more, each as its length (8) and its text, ascending as bytes, no two alike.
// What a text means is none of this file's business (runtime/bundled_tables.h).
#ifndef HEDDLE_CACHE_BUNDLE_FORMAT_H_
#define HEDDLE_CACHE_BUNDLE_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cache/bytes.h"
#include "cache/digest.h"
#include "cache/key.h"

namespace heddle {

inline constexpr std::uint32_t kBundleVersion = 1;
inline constexpr std::uint32_t kBundleVersionWithTables = 2;
inline constexpr std::size_t kBundleHeaderBytes = 48;
inline constexpr std::size_t kBundleItemBytes = 48;
// 2^20 entries: keeps a hostile count from becoming an allocation.
inline constexpr std::uint64_t kBundleMaxItems = std::uint64_t{1} << 20;
// Of all tables together; one of 200 entries has 65 KB.
inline constexpr std::uint64_t kBundleMaxTablesBytes = std::uint64_t{64} << 20;

struct BundleHeader {
  std::uint64_t entries = 0;
  bool has_tables = false;

  std::size_t index_bytes() const {
    return static_cast<std::size_t>(kBundleItemBytes * (entries + (has_tables ? 1 : 0)));
  }
};

struct BundleItem {
  Digest source_digest{};
  Digest compiler_digest{};
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct BundleTablesItem {
  Digest checksum{};
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // 0: the bundle has no tables
};

struct BundleIndex {
  std::vector<BundleItem> items;
  BundleTablesItem tables;
};

// What the first bytes announce in a file of `file_bytes`. `why` says what is wrong with them and
// is null for a header that is right; else nothing is announced. Pure, total and bounded, as the
// next two.
BundleHeader parse_bundle_header(ByteView header, std::uint64_t file_bytes, const char** why);

// The index behind a header that was found right, all of its index_bytes(); empty, and `why` set,
// for one that is not.
BundleIndex parse_bundle_index(ByteView header, ByteView index, std::uint64_t file_bytes,
                               const char** why);

// The texts of the tables that an index was right about; none, and `why` set, for bytes that are
// not.
std::vector<std::string> parse_bundle_tables(const BundleTablesItem& item, ByteView tables,
                                             const char** why);

// One entry to put into a bundle: encode_entry()'s bytes and the key they hold.
struct BundleEntry {
  SerialKey key;
  Bytes bytes;
};

// The bytes of tables as they are in a bundle; none for no tables. Of texts that are alike only one
// goes in.
Bytes encode_bundle_tables(std::vector<std::string> tables);

// A whole bundle. Of entries with the same digests only the first goes in. The same entries and
// tables give the same bytes, in whichever order they come. Precondition: the tables have at most
// kBundleMaxTablesBytes, and none is empty.
Bytes encode_bundle(std::vector<BundleEntry> entries, std::vector<std::string> tables = {});

}  // namespace heddle

#endif  // HEDDLE_CACHE_BUNDLE_FORMAT_H_
