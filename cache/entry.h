// Entry: one Binary and its whole key as bytes.
//
// All numbers are little-endian and of fixed width.
//
//   offset  size  field
//        0     8  magic: 89 48 44 4c 0d 0a 1a 0a ("\x89HDL\r\n\x1a\n")
//        8     4  format version: 1
//       12     4  zero
//       16     8  length of the whole entry
//       24    16  digest of the source part of the key (XXH3-128, canonical byte order)
//       40    16  digest of the compiler part of the key
//       56     8  S, length of the source part
//       64     8  C, length of the compiler part
//       72     8  D, length of the metadata
//       80     8  B, length of the cubin
//       88     8  P, length of the PTX
//       96     S  source part of the key (CacheKey::text())
//        .     C  compiler part of the key
//        .     D  metadata
//        .     B  cubin
//        .     P  PTX
//        .    16  checksum: XXH3-128 of all bytes before it, canonical byte order
//
// Metadata: kernel_name, arch and compiler, each as a 4-byte length and its bytes; then 4 bytes
// each: registers, spill_bytes, local_bytes, static_shared_bytes, dynamic_shared_bytes, threads
// (two's complement); then compile_ms as an 8-byte IEEE 754 double.
//
// Any change of this layout needs a new version here and a new folder name (kFormatFolder).
#ifndef HEDDLE_CACHE_ENTRY_H_
#define HEDDLE_CACHE_ENTRY_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cache/bytes.h"
#include "cache/digest.h"
#include "cache/key.h"
#include "heddle/inspect/binary.h"

namespace heddle {

inline constexpr std::uint32_t kEntryVersion = 1;
inline constexpr std::size_t kEntryHeaderBytes = 96;
inline constexpr std::size_t kEntryMinBytes = kEntryHeaderBytes + sizeof(Digest);
// More than any cubin; keeps a hostile file length from becoming an allocation.
inline constexpr std::uint64_t kEntryMaxBytes = std::uint64_t{256} << 20;

enum class EntryStatus {
  kOk,
  kMiss,     // sound, but of another key
  kDamaged,  // cut, grown or changed after it was written
  kForeign,  // not an entry, or of another version
};

// A parsed entry; points into the bytes that it was parsed from.
struct EntryView {
  EntryStatus status = EntryStatus::kDamaged;
  const char* why = "";  // for every status but kOk: a few words
  Digest source_digest{};
  Digest compiler_digest{};
  std::string_view source_key;
  std::string_view compiler_key;
  std::string_view kernel_name;
  std::string_view arch;
  std::string_view compiler;
  std::int32_t numbers[6] = {};  // registers ... threads, in the order of the metadata
  double compile_ms = 0;
  ByteView cubin;
  std::string_view ptx;
};

// Throws std::bad_alloc or std::length_error only.
Bytes encode_entry(const SerialKey& key, const Binary& binary);

// Pure, total and bounded: any bytes give a view or a reason. Never kMiss.
EntryView parse_entry(ByteView bytes);

// The same, and kMiss unless the entry holds exactly this key: digests and every byte of it.
EntryView parse_entry(ByteView bytes, const SerialKey& key);

// A copy of what a view with kOk shows.
Binary to_binary(const EntryView& view);

}  // namespace heddle

#endif  // HEDDLE_CACHE_ENTRY_H_
