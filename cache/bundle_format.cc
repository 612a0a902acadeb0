#include "cache/bundle_format.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "cache/entry.h"

namespace heddle {
namespace {

constexpr std::array<std::uint8_t, 8> kMagic = {0x89, 'H', 'D', 'B', '\r', '\n', 0x1a, '\n'};
constexpr std::size_t kCheckedHeaderBytes = 32;  // what is before the checksum

auto digests(const BundleItem& item) { return std::tie(item.source_digest, item.compiler_digest); }
auto digests(const BundleEntry& entry) {
  return std::tie(entry.key.source_digest, entry.key.compiler_digest);
}

Digest checksum_of(ByteView header, ByteView index) {
  Bytes both(header.begin(), header.begin() + kCheckedHeaderBytes);
  both.insert(both.end(), index.begin(), index.end());
  return digest(both.data(), both.size());
}

BundleItem take_item(ByteReader* reader) {
  BundleItem item;
  std::ranges::copy(reader->bytes(sizeof(Digest)), item.source_digest.begin());
  std::ranges::copy(reader->bytes(sizeof(Digest)), item.compiler_digest.begin());
  item.offset = reader->u64();
  item.bytes = reader->u64();
  return item;
}

}  // namespace

std::uint64_t parse_bundle_header(ByteView header, std::uint64_t file_bytes, const char** why) {
  *why = "cut short";
  if (header.size() < kBundleHeaderBytes || file_bytes < kBundleHeaderBytes) return 0;
  ByteReader reader(header);
  *why = "not a bundle";
  if (!std::ranges::equal(reader.bytes(kMagic.size()), kMagic)) return 0;
  *why = "another format version";
  if (reader.u32() != kBundleVersion || reader.u32() != 0) return 0;
  *why = "wrong length";
  if (reader.u64() != file_bytes) return 0;
  const std::uint64_t count = reader.u64();
  *why = "more entries than fit";
  if (count > kBundleMaxItems) return 0;
  if (kBundleItemBytes * count > file_bytes - kBundleHeaderBytes) return 0;
  *why = nullptr;
  return count;
}

std::vector<BundleItem> parse_bundle_index(ByteView header, ByteView index,
                                           std::uint64_t file_bytes, const char** why) {
  *why = "wrong checksum";
  if (!std::ranges::equal(header.subspan(kCheckedHeaderBytes, sizeof(Digest)),
                          checksum_of(header, index))) {
    return {};
  }
  // The checksum is no proof against a forger, so every number is still checked.
  *why = "entries that overlap or leave gaps";
  std::vector<BundleItem> items(index.size() / kBundleItemBytes);
  ByteReader reader(index);
  std::uint64_t end = kBundleHeaderBytes + index.size();
  for (BundleItem& item : items) {
    item = take_item(&reader);
    if (item.offset != end || item.bytes < kEntryMinBytes || item.bytes > kEntryMaxBytes) return {};
    end += item.bytes;  // cannot wrap: 2^20 entries of 2^28 bytes
  }
  if (end != file_bytes) return {};
  *why = "an index that is not in order";
  for (std::size_t i = 1; i < items.size(); ++i) {
    if (digests(items[i]) <= digests(items[i - 1])) return {};
  }
  *why = nullptr;
  return items;
}

Bytes encode_bundle(std::vector<BundleEntry> entries) {
  const auto before = [](const BundleEntry& a, const BundleEntry& b) {
    return digests(a) < digests(b);
  };
  const auto same = [](const BundleEntry& a, const BundleEntry& b) {
    return digests(a) == digests(b);
  };
  std::ranges::stable_sort(entries, before);
  entries.erase(std::unique(entries.begin(), entries.end(), same), entries.end());

  Bytes index;
  ByteWriter index_writer(&index);
  std::uint64_t end = kBundleHeaderBytes + kBundleItemBytes * entries.size();
  for (const BundleEntry& entry : entries) {
    index_writer.bytes(entry.key.source_digest);
    index_writer.bytes(entry.key.compiler_digest);
    index_writer.u64(end);
    index_writer.u64(entry.bytes.size());
    end += entry.bytes.size();
  }
  Bytes bundle;
  bundle.reserve(end);
  ByteWriter writer(&bundle);
  writer.bytes(kMagic);
  writer.u32(kBundleVersion);
  writer.u32(0);
  writer.u64(end);
  writer.u64(entries.size());
  writer.bytes(checksum_of(bundle, index));
  writer.bytes(index);
  for (const BundleEntry& entry : entries) writer.bytes(entry.bytes);
  return bundle;
}

}  // namespace heddle
