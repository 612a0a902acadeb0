// Any bytes as a bundle: refused with a reason, or an index whose entries and tables cover
// the file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "cache/bundle_format.h"
#include "cache/entry.h"

namespace {

using namespace heddle;

void must(bool condition) {
  if (!condition) std::abort();
}

// As Bundle reads a file: the header, then the index that it announces, then the tables that this
// is about.
void check(const Bytes& bytes) {
  const char* why = "";
  const BundleHeader announced = parse_bundle_header(bytes, bytes.size(), &why);
  must(why == nullptr || announced.index_bytes() == 0);
  if (why != nullptr) return;
  const std::uint64_t index_end = kBundleHeaderBytes + announced.index_bytes();
  must(index_end <= bytes.size());
  const ByteView file(bytes);
  const BundleIndex index = parse_bundle_index(
      file.first(kBundleHeaderBytes), file.subspan(kBundleHeaderBytes, announced.index_bytes()),
      bytes.size(), &why);
  must(why == nullptr || (index.items.empty() && index.tables.bytes == 0));
  if (why != nullptr) return;
  must(index.items.size() == announced.entries);
  must((index.tables.bytes > 0) == announced.has_tables);
  std::uint64_t end = index_end;
  std::vector<BundleEntry> entries;
  for (const BundleItem& item : index.items) {
    must(item.offset == end && item.bytes <= bytes.size() - item.offset);
    end += item.bytes;
    const ByteView entry = file.subspan(item.offset, item.bytes);
    parse_entry(entry);
    entries.push_back(
        {{{}, {}, item.source_digest, item.compiler_digest}, Bytes(entry.begin(), entry.end())});
  }
  std::vector<std::string> tables;
  if (announced.has_tables) {
    must(index.tables.offset == end && index.tables.bytes <= bytes.size() - end);
    tables = parse_bundle_tables(index.tables, file.subspan(end, index.tables.bytes), &why);
    must((why == nullptr) == !tables.empty());
    if (why != nullptr) return;
    end += index.tables.bytes;
  }
  must(end == bytes.size());
  must(encode_bundle(entries, tables) == bytes);
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
  const bool has_tables = bytes[8] == kBundleVersionWithTables;
  const std::size_t items = (size - kBundleHeaderBytes) / kBundleItemBytes;
  if (has_tables && items == 0) return 0;
  const std::size_t room = items - (has_tables ? 1 : 0);
  const std::size_t count = std::min<std::size_t>(bytes[24], room);
  put_u64(&bytes, 24, count);
  const std::size_t index_end = kBundleHeaderBytes + BundleHeader{count, has_tables}.index_bytes();
  if (has_tables) {
    const std::size_t item = index_end - kBundleItemBytes;
    const std::uint64_t at = ByteReader(ByteView(bytes).subspan(item + 32)).u64();
    if (at <= size) {
      std::ranges::copy(digest(bytes.data() + at, size - at),
                        bytes.begin() + static_cast<std::ptrdiff_t>(item));
    }
  }
  Bytes checked(bytes.begin(), bytes.begin() + 32);
  checked.insert(checked.end(), bytes.begin() + kBundleHeaderBytes,
                 bytes.begin() + static_cast<std::ptrdiff_t>(index_end));
  std::ranges::copy(digest(checked.data(), checked.size()), bytes.begin() + 32);
  check(bytes);
  return 0;
}
