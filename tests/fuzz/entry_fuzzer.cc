// Any bytes as a cache entry: refused with a reason, or an entry that means itself.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "cache/entry.h"

namespace {

using namespace heddle;

void must(bool condition) {
  if (!condition) std::abort();
}

void check(const Bytes& bytes) {
  const EntryView view = parse_entry(bytes);
  must((view.status == EntryStatus::kOk) == (view.why[0] == '\0'));
  must(view.status != EntryStatus::kMiss);
  if (view.status != EntryStatus::kOk) return;
  // As read, so written: no byte of a sound entry is without meaning.
  const SerialKey key{std::string(view.source_key), std::string(view.compiler_key),
                      view.source_digest, view.compiler_digest};
  must(encode_entry(key, to_binary(view)) == bytes);
  must(parse_entry(bytes, key).status == EntryStatus::kOk);
  SerialKey other = key;
  other.source += 'x';
  must(parse_entry(bytes, other).status == EntryStatus::kMiss);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, data + size);
  check(bytes);
  if (size < kEntryMinBytes) return 0;
  // The fuzzer cannot guess a checksum or a length.
  for (int i = 0; i < 8; ++i)
    bytes[16 + i] = static_cast<std::uint8_t>(std::uint64_t{size} >> (8 * i));
  const std::size_t body = size - sizeof(Digest);
  std::ranges::copy(digest(bytes.data(), body), bytes.begin() + static_cast<std::ptrdiff_t>(body));
  check(bytes);
  return 0;
}
