#include "cache/bundle_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "cache/entry.h"

namespace heddle {
namespace {

// Takes the items of the entries, whose texts' lengths are all that is known of them yet.
bool take_items(const BundleHeader& header, ByteReader* reader, BundleIndex* index,
                std::uint64_t* end) {
  for (std::uint64_t i = 0; i < header.entries; ++i) {
    BundleItem item;
    item.source_digest = take_digest(reader);
    item.compiler_digest = take_digest(reader);
    item.offset = reader->u64();
    item.bytes = reader->u64();
    item.source.length = reader->u64();
    item.ptx.length = reader->u64();
    if (item.offset != *end || item.bytes < kEntryMinBytes || item.bytes > kEntryMaxBytes ||
        item.source.length > kMaxPartBytes || item.ptx.length > kMaxPartBytes) {
      return false;
    }
    *end += item.bytes;  // cannot wrap: 2^20 entries of 2^28 bytes
    index->items.push_back(item);
  }
  return true;
}

bool take_block(ByteReader* reader, BundleBlock* block) {
  block->checksum = take_digest(reader);
  block->kind = static_cast<BlockKind>(reader->u32());
  if (reader->u32() != 0) return false;
  block->length = reader->u64();
  block->offset = reader->u64();
  block->stored = reader->u64();
  return block->stored > 0 && block->stored <= block->length && block->length <= kMaxPartBytes;
}

// Whether the blocks are those that the texts fill, then at most one of tables and one of GPUs.
bool place_texts(BundleIndex* index) {
  std::size_t next = 0;
  const auto place = [&](BlockKind kind, BundleText BundleItem::*text) {
    BlockFiller filler(next);
    for (BundleItem& item : index->items) item.*text = filler.add((item.*text).length);
    for (const std::uint64_t length : filler.lengths()) {
      if (next == index->blocks.size()) return false;
      const BundleBlock& block = index->blocks[next++];
      if (block.kind != kind || block.length != length) return false;
    }
    return true;
  };
  if (!place(BlockKind::kSource, &BundleItem::source)) return false;
  if (!place(BlockKind::kPtx, &BundleItem::ptx)) return false;
  for (const BlockKind kind : {BlockKind::kTables, BlockKind::kGpus}) {
    if (next < index->blocks.size() && index->blocks[next].kind == kind) ++next;
  }
  return next == index->blocks.size();
}

}  // namespace

BundleHeader parse_bundle_header(ByteView header, std::uint64_t file_bytes, std::string* why) {
  *why = "cut short";
  if (header.size() < kBundleHeaderBytes || file_bytes < kBundleHeaderBytes) return {};
  ByteReader reader(header);
  *why = "not a bundle";
  if (!std::ranges::equal(reader.bytes(kBundleMagic.size()), kBundleMagic)) return {};
  const std::uint32_t version = reader.u32();
  *why = fmt::format(
      "it is of format version {}, and this Heddle's is {}: make it again with heddle bundle "
      "create",
      version, kBundleVersion);
  if (version != kBundleVersion) return {};
  BundleHeader parsed;
  parsed.blocks = reader.u32();
  *why = "wrong length";
  if (reader.u64() != file_bytes) return {};
  parsed.entries = reader.u64();
  *why = "more entries than fit";
  if (parsed.entries > kBundleMaxItems) return {};
  if (parsed.index_bytes() > file_bytes - kBundleHeaderBytes) return {};
  why->clear();
  return parsed;
}

BundleIndex parse_bundle_index(ByteView header, ByteView index, std::uint64_t file_bytes,
                               std::string* why) {
  *why = "wrong checksum";
  if (!std::ranges::equal(header.subspan(kCheckedHeaderBytes, sizeof(Digest)),
                          bundle_checksum(header, index))) {
    return {};
  }
  // The checksum is no proof against a forger, so every number is still checked.
  const BundleHeader announced = parse_bundle_header(header, file_bytes, why);
  if (!why->empty()) return {};
  *why = "entries that overlap or leave gaps";
  BundleIndex parsed;
  ByteReader reader(index);
  std::uint64_t end = kBundleHeaderBytes + index.size();
  if (!take_items(announced, &reader, &parsed, &end)) return {};
  *why = "wrong numbers of a block";
  for (std::uint64_t i = 0; i < announced.blocks; ++i) {
    BundleBlock block;
    if (!take_block(&reader, &block) || block.offset != end) return {};
    end += block.stored;  // cannot wrap: 2^32 blocks of 2^26 bytes behind 2^48 bytes of entries
    parsed.blocks.push_back(block);
  }
  if (!place_texts(&parsed)) return {};
  if (end != file_bytes) return {};
  *why = "an index that is not in order";
  for (std::size_t i = 1; i < parsed.items.size(); ++i) {
    if (digests(parsed.items[i]) <= digests(parsed.items[i - 1])) return {};
  }
  why->clear();
  return parsed;
}

bool unpack_block(const BundleBlock& block, ByteView stored, Bytes* content) {
  if (digest(stored.data(), stored.size()) != block.checksum) return false;
  if (!is_part(stored, block.length)) return false;
  content->resize(block.length);
  return unpack_part(stored, block.length, content->data());
}

std::vector<std::string> parse_bundle_tables(ByteView tables, std::string* why) {
  *why = "tuned tables that overlap, leave gaps or are not in order";
  std::vector<std::string> texts;
  for (ByteReader reader(tables); !reader.at_end();) {
    const std::string_view text = as_text(reader.bytes(reader.u64()));
    if (!reader.ok() || text.empty()) return {};
    if (!texts.empty() && text <= texts.back()) return {};
    texts.emplace_back(text);
  }
  why->clear();
  return texts;
}

std::vector<GpuNames> parse_bundle_gpus(ByteView gpus, std::uint64_t entries, std::string* why) {
  *why = "names of GPUs that overlap, leave gaps or are not in order";
  std::vector<GpuNames> all;
  ByteReader reader(gpus);
  for (std::uint64_t i = 0; i < entries; ++i) {
    GpuNames& names = all.emplace_back();
    for (std::uint32_t count = reader.u32(); count > 0; --count) {
      const std::string_view name = as_text(reader.bytes(reader.u32()));
      if (!reader.ok() || name.empty()) return {};
      if (!names.empty() && name <= names.back()) return {};
      names.emplace_back(name);
    }
  }
  if (!reader.ok() || !reader.at_end()) return {};
  why->clear();
  return all;
}

}  // namespace heddle
