#include "cache/bundle_format.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "cache/entry.h"

namespace heddle {
namespace {

constexpr std::array<std::uint8_t, 8> kMagic = {0x89, 'H', 'D', 'B', '\r', '\n', 0x1a, '\n'};
constexpr std::size_t kCheckedHeaderBytes = 32;  // what is before the checksum
constexpr std::size_t kVersionOffset = 8;
constexpr std::array<std::uint8_t, 16> kZeros{};

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

// Whether the item is right but for the checksum of what it is about.
bool take_tables_item(ByteReader* reader, BundleTablesItem* item) {
  std::ranges::copy(reader->bytes(sizeof(Digest)), item->checksum.begin());
  const bool zero = std::ranges::equal(reader->bytes(kZeros.size()), kZeros);
  item->offset = reader->u64();
  item->bytes = reader->u64();
  return zero && item->bytes > 0 && item->bytes <= kBundleMaxTablesBytes;
}

bool has_tables(ByteView header) {
  return ByteReader(header.subspan(kVersionOffset)).u32() == kBundleVersionWithTables;
}

}  // namespace

BundleHeader parse_bundle_header(ByteView header, std::uint64_t file_bytes, const char** why) {
  *why = "cut short";
  if (header.size() < kBundleHeaderBytes || file_bytes < kBundleHeaderBytes) return {};
  ByteReader reader(header);
  *why = "not a bundle";
  if (!std::ranges::equal(reader.bytes(kMagic.size()), kMagic)) return {};
  *why = "another format version";
  const std::uint32_t version = reader.u32();
  if (version != kBundleVersion && version != kBundleVersionWithTables) return {};
  if (reader.u32() != 0) return {};
  *why = "wrong length";
  if (reader.u64() != file_bytes) return {};
  const BundleHeader parsed{reader.u64(), has_tables(header)};
  *why = "more entries than fit";
  if (parsed.entries > kBundleMaxItems) return {};
  if (parsed.index_bytes() > file_bytes - kBundleHeaderBytes) return {};
  *why = nullptr;
  return parsed;
}

BundleIndex parse_bundle_index(ByteView header, ByteView index, std::uint64_t file_bytes,
                               const char** why) {
  *why = "wrong checksum";
  if (!std::ranges::equal(header.subspan(kCheckedHeaderBytes, sizeof(Digest)),
                          checksum_of(header, index))) {
    return {};
  }
  // The checksum is no proof against a forger, so every number is still checked.
  *why = "entries that overlap or leave gaps";
  BundleIndex parsed;
  parsed.items.resize(index.size() / kBundleItemBytes - (has_tables(header) ? 1 : 0));
  ByteReader reader(index);
  std::uint64_t end = kBundleHeaderBytes + index.size();
  for (BundleItem& item : parsed.items) {
    item = take_item(&reader);
    if (item.offset != end || item.bytes < kEntryMinBytes || item.bytes > kEntryMaxBytes) return {};
    end += item.bytes;  // cannot wrap: 2^20 entries of 2^28 bytes
  }
  if (has_tables(header)) {
    *why = "wrong numbers of the tuned tables";
    if (!take_tables_item(&reader, &parsed.tables) || parsed.tables.offset != end) return {};
    end += parsed.tables.bytes;
  }
  if (end != file_bytes) return {};
  *why = "an index that is not in order";
  for (std::size_t i = 1; i < parsed.items.size(); ++i) {
    if (digests(parsed.items[i]) <= digests(parsed.items[i - 1])) return {};
  }
  *why = nullptr;
  return parsed;
}

std::vector<std::string> parse_bundle_tables(const BundleTablesItem& item, ByteView tables,
                                             const char** why) {
  *why = "wrong checksum of the tuned tables";
  if (digest(tables.data(), tables.size()) != item.checksum) return {};
  *why = "tuned tables that overlap, leave gaps or are not in order";
  std::vector<std::string> texts;
  for (ByteReader reader(tables); !reader.at_end();) {
    const std::string_view text = as_text(reader.bytes(reader.u64()));
    if (!reader.ok() || text.empty()) return {};
    if (!texts.empty() && text <= texts.back()) return {};
    texts.emplace_back(text);
  }
  *why = nullptr;
  return texts;
}

Bytes encode_bundle_tables(std::vector<std::string> tables) {
  std::ranges::sort(tables);
  tables.erase(std::unique(tables.begin(), tables.end()), tables.end());
  Bytes bytes;
  ByteWriter writer(&bytes);
  for (const std::string& text : tables) {
    writer.u64(text.size());
    writer.bytes(as_bytes(text));
  }
  return bytes;
}

Bytes encode_bundle(std::vector<BundleEntry> entries, std::vector<std::string> tables) {
  const auto before = [](const BundleEntry& a, const BundleEntry& b) {
    return digests(a) < digests(b);
  };
  const auto same = [](const BundleEntry& a, const BundleEntry& b) {
    return digests(a) == digests(b);
  };
  std::ranges::stable_sort(entries, before);
  entries.erase(std::unique(entries.begin(), entries.end(), same), entries.end());

  const Bytes tables_bytes = encode_bundle_tables(std::move(tables));
  const BundleHeader header{entries.size(), !tables_bytes.empty()};

  Bytes index;
  ByteWriter index_writer(&index);
  std::uint64_t end = kBundleHeaderBytes + header.index_bytes();
  for (const BundleEntry& entry : entries) {
    index_writer.bytes(entry.key.source_digest);
    index_writer.bytes(entry.key.compiler_digest);
    index_writer.u64(end);
    index_writer.u64(entry.bytes.size());
    end += entry.bytes.size();
  }
  if (header.has_tables) {
    index_writer.bytes(digest(tables_bytes.data(), tables_bytes.size()));
    index_writer.bytes(kZeros);
    index_writer.u64(end);
    index_writer.u64(tables_bytes.size());
    end += tables_bytes.size();
  }
  Bytes bundle;
  bundle.reserve(end);
  ByteWriter writer(&bundle);
  writer.bytes(kMagic);
  writer.u32(header.has_tables ? kBundleVersionWithTables : kBundleVersion);
  writer.u32(0);
  writer.u64(end);
  writer.u64(entries.size());
  writer.bytes(checksum_of(bundle, index));
  writer.bytes(index);
  for (const BundleEntry& entry : entries) writer.bytes(entry.bytes);
  writer.bytes(tables_bytes);
  return bundle;
}

}  // namespace heddle
