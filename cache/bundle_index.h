// Reads the parts of a bundle.
#ifndef HEDDLE_CACHE_BUNDLE_INDEX_H_
#define HEDDLE_CACHE_BUNDLE_INDEX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cache/bundle_format.h"
#include "cache/bytes.h"

namespace heddle {

// What the first bytes announce in a file of `file_bytes`. `why` says what is wrong with them and
// is empty for a header that is right; else nothing is announced. Pure, total and bounded, as
// everything below.
BundleHeader parse_bundle_header(ByteView header, std::uint64_t file_bytes, std::string* why);

// The index behind a header that was found right, all of its index_bytes(); empty, and `why` set,
// for one that is not.
BundleIndex parse_bundle_index(ByteView header, ByteView index, std::uint64_t file_bytes,
                               std::string* why);

// The content of a block from its stored bytes; false for bytes that are not it.
bool unpack_block(const BundleBlock& block, ByteView stored, Bytes* content);

// The texts of a block of tables; none, and `why` set, for bytes that are not such.
std::vector<std::string> parse_bundle_tables(ByteView tables, std::string* why);

// The GPUs of each of `entries` entries; none, and `why` set, for bytes that are not such.
std::vector<GpuNames> parse_bundle_gpus(ByteView gpus, std::uint64_t entries, std::string* why);

}  // namespace heddle

#endif  // HEDDLE_CACHE_BUNDLE_INDEX_H_
