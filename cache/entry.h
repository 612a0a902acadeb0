// Entry: one Binary and its key as bytes.
//
// All numbers are little-endian and of fixed width; digests are in canonical byte order.
//
//   offset  size  field
//        0     8  magic: 89 48 44 4c 0d 0a 1a 0a ("\x89HDL\r\n\x1a\n")
//        8     4  format version: 2
//       12     4  zero
//       16     8  length of the whole entry
//       24    16  XXH3-128 of the source part of the key (CacheKey::text())
//       40    16  XXH3-128 of the compiler part of the key
//       56     8  XXH64 of the source part
//       64     8  S, length of the source part
//       72     8  B, length of the cubin
//       80     8  P, length of the PTX
//       88     8  C, length of the compiler part
//       96     8  D, length of the metadata
//      104     8  s, stored bytes of the source part; 0: it is left out
//      112     8  b, stored bytes of the cubin
//      120     8  p, stored bytes of the PTX
//      128     C  compiler part of the key
//        .     D  metadata
//        .     b  cubin
//        .     p  PTX
//        .     s  source part of the key
//        .    16  checksum: XXH3-128 of all bytes before it
//
// Cubin, PTX and source part are stored as compression.h says. The checksum is over what is stored,
// so a hit decompresses the cubin and nothing else.
//
// Metadata: kernel_name, arch and compiler, each as a 4-byte length and its bytes; then 4 bytes
// each: registers, spill_bytes, local_bytes, static_shared_bytes, dynamic_shared_bytes, threads
// (two's complement); then compile_ms as an 8-byte IEEE 754 double.
#ifndef HEDDLE_CACHE_ENTRY_H_
#define HEDDLE_CACHE_ENTRY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cache/bytes.h"
#include "cache/compression.h"
#include "cache/digest.h"
#include "cache/key.h"
#include "heddle/inspect/binary.h"

namespace heddle {

inline constexpr std::uint32_t kEntryVersion = 2;
inline constexpr std::size_t kEntryHeaderBytes = 128;
// No entry is shorter: all its parts may be empty, but not its metadata.
inline constexpr std::size_t kEntryMinBytes = kEntryHeaderBytes + 44 + sizeof(Digest);
// More than any kernel; keeps a hostile file length from becoming an allocation.
inline constexpr std::uint64_t kEntryMaxBytes = std::uint64_t{256} << 20;

enum class EntryStatus {
  kOk,
  kMiss,     // sound, but of another key
  kDamaged,  // cut, grown or changed after it was written
  kForeign,  // not an entry, or of another version
};

// A part as it is stored (compression.h).
struct PackedPart {
  ByteView stored;
  std::uint64_t length = 0;
};

// A parsed entry; points into the bytes that it was parsed from.
struct EntryView {
  EntryStatus status = EntryStatus::kDamaged;
  std::string why;     // for every status but kOk: a few words
  KeyDigests digests;  // as the entry says them
  PackedPart source_key;
  std::string_view compiler_key;
  std::string_view kernel_name;
  std::string_view arch;
  std::string_view compiler;
  std::int32_t numbers[6] = {};  // registers ... threads, in the order of the metadata
  double compile_ms = 0;
  PackedPart cubin;
  PackedPart ptx;

  bool has_source() const { return !source_key.stored.empty() || source_key.length == 0; }
};

// Whether an entry holds the texts: the source part of its key and the PTX.
enum class EntryTexts { kWith, kWithout };

// Without texts, and for a key without its source, the source part is left out: the entry still
// serves whoever has the key. Throws std::length_error for an entry that parse_entry() would take
// to be damaged: one with a part longer than kMaxPartBytes, or longer than kEntryMaxBytes.
Bytes encode_entry(const SerialKey& key, const Binary& binary,
                   EntryTexts texts = EntryTexts::kWith);

// Pure, total and bounded: any bytes give a view or a reason. Never kMiss. Decompresses nothing.
EntryView parse_entry(ByteView bytes);

// As above, and kMiss unless the entry has all of these digests.
EntryView parse_entry(ByteView bytes, const KeyDigests& key);

// A copy of what a view with kOk shows; the PTX is decompressed when it is first read. Nothing if
// the cubin cannot be decompressed, which only a forged checksum hides from parse_entry().
std::optional<Binary> to_binary(const EntryView& view);

// What is wrong with the parts of a view with kOk, all of which are decompressed for that: a
// compressed part that is damaged, or digests that are not the key's. Empty if nothing is.
std::string_view problem_of_parts(const EntryView& view);

// The key of a view with kOk; its source is empty where the entry does not hold it.
SerialKey key_of(const EntryView& view);

}  // namespace heddle

#endif  // HEDDLE_CACHE_ENTRY_H_
