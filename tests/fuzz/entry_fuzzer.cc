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
  must((view.status == EntryStatus::kOk) == (view.why.empty()));
  must(view.status != EntryStatus::kMiss);
  if (view.status != EntryStatus::kOk) return;
  must(parse_entry(bytes, view.digests).status == EntryStatus::kOk);
  KeyDigests other = view.digests;
  ++other.source_bytes;
  must(parse_entry(bytes, other).status == EntryStatus::kMiss);
  // What can be decompressed means the same when it is written again.
  const auto binary = to_binary(view);
  if (!binary || !problem_of_parts(view).empty()) return;
  const Bytes again = encode_entry(key_of(view), *binary);
  const EntryView second = parse_entry(again, view.digests);
  must(second.status == EntryStatus::kOk && problem_of_parts(second).empty());
  must(to_binary(second)->cubin == binary->cubin && to_binary(second)->ptx == binary->ptx);
  must(encode_entry(key_of(second), *to_binary(second)) == again);
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
