// The bytes of a bundle: many entries in one file, which never changes.
//
// All numbers are little-endian; docs/formats.md describes every byte.
//
//   offset  size  field
//        0     8  magic: 89 48 44 42 0d 0a 1a 0a ("\x89HDB\r\n\x1a\n")
//        8     4  format version: 3
//       12     4  b, number of blocks
//       16     8  length of the whole file
//       24     8  n, number of entries
//       32    16  checksum: XXH3-128 of the bytes 0 to 31 and of the index
//       48  64*n  an item for each entry, ascending by the two digests, no two alike
//        .  48*b  an item for each block
//        .     .  the entries (entry.h, without texts), in the order of the items, without gaps
//        .     .  the blocks, in the order of the items, without gaps
//
// The item of an entry: source digest (16), compiler digest (16), offset of the entry in the file
// (8), its length (8), length of its key's source part (8), length of its PTX (8); 0: the bundle
// does not hold that text.
//
// The item of a block: checksum of its stored bytes (16), kind (4), zero (4), its length (8),
// offset in the file (8), stored bytes (8). A block is a part as compression.h says.
//
// The texts of many kernels share a block, because they are much alike: those of one kind follow
// one another in the order of the entries, and a block ends before the text that would make it
// longer than 16 MiB. First come the blocks of source parts, then those of PTX, then at most one of
// tuned tables, then at most one of GPUs.
//
// Tables: one or more, each as its length (8) and its text, ascending as bytes, no two alike. What
// a text means is none of this file's business (runtime/bundled_tables.h).
//
// GPUs: of each entry in turn the number of GPUs that it was planned for (4; 0: not known), and
// each as its length (4) and its name, ascending as bytes, no two alike.
//
// Versions 1 and 2 are read and no longer written: items of entries have 48 bytes and no lengths of
// texts, the entries hold their texts, and b is zero; version 2 has one more item of 48 bytes, that
// of the tables, which are not compressed: checksum, zero (16), offset, length.
#ifndef HEDDLE_CACHE_BUNDLE_FORMAT_H_
#define HEDDLE_CACHE_BUNDLE_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cache/bytes.h"
#include "cache/compression.h"
#include "cache/digest.h"
#include "cache/key.h"
#include "heddle/inspect/binary.h"

namespace heddle {

inline constexpr std::uint32_t kBundleVersion = 3;
inline constexpr std::uint32_t kBundleVersionPlain = 1;
inline constexpr std::uint32_t kBundleVersionWithTables = 2;
inline constexpr std::size_t kBundleHeaderBytes = 48;
inline constexpr std::size_t kBundleItemBytes = 64;
inline constexpr std::size_t kBundleOldItemBytes = 48;
inline constexpr std::size_t kBundleBlockItemBytes = 48;
// 2^20 entries: keeps a hostile count from becoming an allocation.
inline constexpr std::uint64_t kBundleMaxItems = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kBundleBlockBytes = std::uint64_t{16} << 20;
// All tables together are at most this long; one of 200 entries has 65 KB.
inline constexpr std::uint64_t kBundleMaxTablesBytes = kMaxPartBytes;

struct BundleHeader {
  std::uint32_t version = kBundleVersion;
  std::uint64_t entries = 0;
  std::uint64_t blocks = 0;  // of version 2: 1, the tables

  std::size_t index_bytes() const {
    const std::size_t item = version == kBundleVersion ? kBundleItemBytes : kBundleOldItemBytes;
    return static_cast<std::size_t>(item * entries + kBundleBlockItemBytes * blocks);
  }
};

// Where a text is; length 0: nowhere.
struct BundleText {
  std::size_t block = 0;     // index of the block
  std::uint64_t offset = 0;  // in the block, decompressed
  std::uint64_t length = 0;
};

struct BundleItem {
  Digest source_digest{};
  Digest compiler_digest{};
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  BundleText source;  // not of versions 1 and 2, as the next
  BundleText ptx;
};

enum class BlockKind : std::uint32_t { kSource = 1, kPtx = 2, kTables = 3, kGpus = 4 };

struct BundleBlock {
  Digest checksum{};  // of the stored bytes
  BlockKind kind = BlockKind::kSource;
  std::uint64_t length = 0;
  std::uint64_t offset = 0;
  std::uint64_t stored = 0;
};

struct BundleIndex {
  std::vector<BundleItem> items;
  std::vector<BundleBlock> blocks;
};

// What the first bytes announce in a file of `file_bytes`. `why` says what is wrong with them and
// is null for a header that is right; else nothing is announced. Pure, total and bounded, as
// everything below that parses.
BundleHeader parse_bundle_header(ByteView header, std::uint64_t file_bytes, const char** why);

// The index behind a header that was found right, all of its index_bytes(); empty, and `why` set,
// for one that is not.
BundleIndex parse_bundle_index(ByteView header, ByteView index, std::uint64_t file_bytes,
                               const char** why);

// The content of a block from its stored bytes; false for bytes that are not it.
bool unpack_block(const BundleBlock& block, ByteView stored, Bytes* content);

// The texts of a block of tables; none, and `why` set, for bytes that are not such.
std::vector<std::string> parse_bundle_tables(ByteView tables, const char** why);

using GpuNames = std::vector<std::string>;

// The GPUs of each of `entries` entries; none, and `why` set, for bytes that are not such.
std::vector<GpuNames> parse_bundle_gpus(ByteView gpus, std::uint64_t entries, const char** why);

// One kernel of a bundle. The key's source is empty where only its digests are known.
struct BundleEntry {
  SerialKey key;
  Binary binary;
  GpuNames gpus;  // that it was planned for, as far as known
};

// Whether a bundle holds the source parts of keys and the PTX.
enum class BundleTexts { kWith, kWithout };

// The bytes of tables as they are in a block; none for no tables. Of texts that are alike only one
// goes in.
Bytes encode_bundle_tables(std::vector<std::string> tables);

// A whole bundle. Of entries with the same digests one goes in, with texts if any of them has
// texts, and for the GPUs of all. The same entries and tables give the same bytes, in whichever
// order they come. Throws std::length_error for what no reader takes: more than kBundleMaxItems
// entries, a text, all tables or all names of GPUs longer than kMaxPartBytes, and an entry that
// encode_entry() refuses. Throws what reading the PTX throws. Precondition: no table is empty.
Bytes encode_bundle(std::vector<BundleEntry> entries, std::vector<std::string> tables = {},
                    BundleTexts texts = BundleTexts::kWith);

}  // namespace heddle

#endif  // HEDDLE_CACHE_BUNDLE_FORMAT_H_
