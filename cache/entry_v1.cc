// Entries of version 1, which Heddle wrote before it compressed them:
//
//   offset  size  field
//       24    16  digest of the source part of the key
//       40    16  digest of the compiler part of the key
//       56     8  S, length of the source part
//       64     8  C, length of the compiler part
//       72     8  D, length of the metadata
//       80     8  B, length of the cubin
//       88     8  P, length of the PTX
//       96     .  source part, compiler part, metadata, cubin, PTX
//
// Everything else is as in version 2 (entry.h).
#include <algorithm>
#include <span>

#include "cache/entry.h"

namespace heddle {

EntryView parse_entry_v1(ByteView bytes) {
  EntryView view;
  ByteReader reader(bytes);
  reader.bytes(24);
  view.digests.source = take_digest(&reader);
  view.digests.compiler = take_digest(&reader);
  std::uint64_t lengths[5];
  for (std::uint64_t& length : lengths) length = reader.u64();
  const auto part = [&](std::uint64_t length) { return PackedPart{reader.bytes(length), length}; };
  view.source_key = part(lengths[0]);
  view.compiler_key = as_text(reader.bytes(lengths[1]));
  const ByteView metadata = reader.bytes(lengths[2]);
  view.cubin = part(lengths[3]);
  view.ptx = part(lengths[4]);
  if (!reader.ok() || !reader.at_end()) {
    return refused_entry(EntryStatus::kDamaged, "lengths disagree");
  }
  for (const PackedPart& each : {view.source_key, view.cubin, view.ptx}) {
    if (each.length > kMaxPartBytes) return refused_entry(EntryStatus::kDamaged, "too long a part");
  }
  if (!parse_metadata(metadata, &view)) {
    return refused_entry(EntryStatus::kDamaged, "malformed metadata");
  }
  // The text is at hand, so what the file does not say of it is computed.
  const std::string_view source = as_text(view.source_key.stored);
  view.digests.source_second = second_digest(std::span(&source, 1));
  view.digests.source_bytes = source.size();
  view.status = EntryStatus::kOk;
  return view;
}

}  // namespace heddle
