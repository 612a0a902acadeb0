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
// a text means is none of this file's business (runtime/tables/bundled_tables.h).
//
// GPUs: of each entry in turn the number of GPUs that it was planned for (4; 0: not known), and
// each as its length (4) and its name, ascending as bytes, no two alike.
#ifndef HEDDLE_CACHE_BUNDLE_FORMAT_H_
#define HEDDLE_CACHE_BUNDLE_FORMAT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "cache/bytes.h"
#include "cache/compression.h"
#include "cache/digest.h"

namespace heddle {

inline constexpr std::array<std::uint8_t, 8> kBundleMagic = {0x89, 'H',  'D',  'B',
                                                             '\r', '\n', 0x1a, '\n'};

inline constexpr std::uint32_t kBundleVersion = 3;
inline constexpr std::size_t kBundleHeaderBytes = 48;
inline constexpr std::size_t kCheckedHeaderBytes = 32;  // what is before the checksum
inline constexpr std::size_t kBundleItemBytes = 64;
inline constexpr std::size_t kBundleBlockItemBytes = 48;
// 2^20 entries: keeps a hostile count from becoming an allocation.
inline constexpr std::uint64_t kBundleMaxItems = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kBundleBlockBytes = std::uint64_t{16} << 20;
// All tables together are at most this long; one of 200 entries has 65 KB.
inline constexpr std::uint64_t kBundleMaxTablesBytes = kMaxPartBytes;

struct BundleHeader {
  std::uint64_t entries = 0;
  std::uint64_t blocks = 0;

  std::size_t index_bytes() const {
    return static_cast<std::size_t>(kBundleItemBytes * entries + kBundleBlockItemBytes * blocks);
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
  BundleText source;
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

// The GPUs that an entry was planned for.
using GpuNames = std::vector<std::string>;

// The checksum of the header's first 32 bytes and of the index.
Digest bundle_checksum(ByteView header, ByteView index);

// Throws std::length_error for more entries than a reader takes.
void check_entry_count(std::uint64_t entries);

inline auto digests(const BundleItem& item) {
  return std::tie(item.source_digest, item.compiler_digest);
}

// Says where the texts of one kind lie when they come one after the other.
class BlockFiller {
 public:
  // `first` is the index of the kind's first block.
  explicit BlockFiller(std::size_t first) : first_(first) {}

  // Precondition: the length is at most kMaxPartBytes.
  BundleText add(std::uint64_t length);
  // The length of each block so far.
  const std::vector<std::uint64_t>& lengths() const { return lengths_; }

 private:
  std::size_t first_;
  std::vector<std::uint64_t> lengths_;
};

}  // namespace heddle

#endif  // HEDDLE_CACHE_BUNDLE_FORMAT_H_
