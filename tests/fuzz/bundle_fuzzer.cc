// Any bytes as a bundle: refused with a reason, or an index whose entries cover the file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "cache/bundle_format.h"
#include "cache/entry.h"

namespace {

using namespace heddle;

void must(bool condition) {
  if (!condition) std::abort();
}

// As Bundle reads a file: the header, then the index that it announces.
void check(const Bytes& bytes) {
  const char* why = "";
  const std::uint64_t count = parse_bundle_header(bytes, bytes.size(), &why);
  must(why == nullptr || count == 0);
  if (why != nullptr) return;
  const std::uint64_t index_bytes = count * kBundleItemBytes;
  must(kBundleHeaderBytes + index_bytes <= bytes.size());
  const ByteView file(bytes);
  const auto items =
      parse_bundle_index(file.first(kBundleHeaderBytes),
                         file.subspan(kBundleHeaderBytes, index_bytes), bytes.size(), &why);
  must(why == nullptr || items.empty());
  if (why != nullptr) return;
  must(items.size() == count);
  std::uint64_t end = kBundleHeaderBytes + index_bytes;
  std::vector<BundleEntry> entries;
  for (const BundleItem& item : items) {
    must(item.offset == end && item.bytes <= bytes.size() - item.offset);
    end += item.bytes;
    const ByteView entry = file.subspan(item.offset, item.bytes);
    parse_entry(entry);
    entries.push_back(
        {{{}, {}, item.source_digest, item.compiler_digest}, Bytes(entry.begin(), entry.end())});
  }
  must(end == bytes.size());
  must(encode_bundle(entries) == bytes);
}

void put_u64(Bytes* bytes, std::size_t at, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) (*bytes)[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, data + size);
  check(bytes);
  if (size < kBundleHeaderBytes) return 0;
  // The fuzzer cannot guess a checksum or a length.
  put_u64(&bytes, 16, size);
  const std::size_t room = (size - kBundleHeaderBytes) / kBundleItemBytes;
  const std::size_t count = std::min<std::size_t>(bytes[24], room);
  put_u64(&bytes, 24, count);
  Bytes checked(bytes.begin(), bytes.begin() + 32);
  checked.insert(checked.end(), bytes.begin() + 48,
                 bytes.begin() + static_cast<std::ptrdiff_t>(48 + 48 * count));
  std::ranges::copy(digest(checked.data(), checked.size()), bytes.begin() + 32);
  check(bytes);
  return 0;
}
