// What reading and writing a bundle's index have in common.
#ifndef HEDDLE_CACHE_BUNDLE_INDEX_H_
#define HEDDLE_CACHE_BUNDLE_INDEX_H_

#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "cache/bundle_format.h"
#include "cache/bytes.h"
#include "cache/digest.h"

namespace heddle {

inline constexpr std::array<std::uint8_t, 8> kBundleMagic = {0x89, 'H',  'D',  'B',
                                                             '\r', '\n', 0x1a, '\n'};

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

#endif  // HEDDLE_CACHE_BUNDLE_INDEX_H_
