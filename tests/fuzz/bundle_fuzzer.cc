// Any bytes as a bundle: refused with a reason, or an index whose entries and tables cover
// the file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "cache/bundle_index.h"
#include "cache/encode_bundle.h"
#include "cache/entry.h"

namespace {

using namespace heddle;

void must(bool condition) {
  if (!condition) std::abort();
}

// As Bundle reads a file: the header, then the index that it announces, then entries and blocks.
void check(const Bytes& bytes) {
  std::string why;
  const BundleHeader announced = parse_bundle_header(bytes, bytes.size(), &why);
  must(why.empty() || announced.index_bytes() == 0);
  if (!why.empty()) return;
  std::uint64_t end = kBundleHeaderBytes + announced.index_bytes();
  must(end <= bytes.size());
  const ByteView file(bytes);
  const BundleIndex index = parse_bundle_index(
      file.first(kBundleHeaderBytes), file.subspan(kBundleHeaderBytes, announced.index_bytes()),
      bytes.size(), &why);
  must(why.empty() || (index.items.empty() && index.blocks.empty()));
  if (!why.empty()) return;
  must(index.items.size() == announced.entries && index.blocks.size() == announced.blocks);
  for (const BundleItem& item : index.items) {
    must(item.offset == end && item.bytes <= bytes.size() - item.offset);
    end += item.bytes;
    parse_entry(file.subspan(item.offset, item.bytes));
    for (const BundleText* text : {&item.source, &item.ptx}) {
      if (text->length == 0) continue;
      must(text->block < index.blocks.size());
      must(text->offset + text->length <= index.blocks[text->block].length);
    }
  }
  for (const BundleBlock& block : index.blocks) {
    must(block.offset == end && block.stored <= bytes.size() - end);
    end += block.stored;
    Bytes content;
    if (!unpack_block(block, file.subspan(block.offset, block.stored), &content)) continue;
    must(content.size() == block.length);
    if (block.kind == BlockKind::kTables) {
      const auto tables = parse_bundle_tables(content, &why);
      must(why.empty() == !tables.empty());
      must(!why.empty() || encode_bundle_tables(tables) == content);
    } else if (block.kind == BlockKind::kGpus) {
      const auto gpus = parse_bundle_gpus(content, announced.entries, &why);
      must(why.empty() == (gpus.size() == announced.entries));
    }
  }
  must(end == bytes.size());
}

void put_u64(Bytes* bytes, std::size_t at, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) (*bytes)[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, data + size);
  check(bytes);
  if (size < kBundleHeaderBytes) return 0;
  // The fuzzer cannot guess a checksum or a length. Numbers of entries and blocks are kept small
  // enough for the index to fit.
  put_u64(&bytes, 16, size);
  BundleHeader header;
  header.blocks = bytes[12] % 5;
  const std::size_t room = size - kBundleHeaderBytes;
  if (header.index_bytes() > room) return 0;
  header.entries =
      std::min<std::size_t>(bytes[24], (room - header.index_bytes()) / kBundleItemBytes);
  bytes[12] = static_cast<std::uint8_t>(header.blocks);
  put_u64(&bytes, 24, header.entries);
  const std::size_t index_end = kBundleHeaderBytes + header.index_bytes();
  // Then those of the blocks, where they lie inside of the file.
  for (std::size_t i = 0; i < header.blocks; ++i) {
    const std::size_t at = index_end - (header.blocks - i) * kBundleBlockItemBytes;
    ByteReader reader(ByteView(bytes).subspan(at + 32));
    const std::uint64_t offset = reader.u64();
    const std::uint64_t stored = reader.u64();
    if (offset > size || stored > size - offset) continue;
    std::ranges::copy(digest(bytes.data() + offset, stored),
                      bytes.begin() + static_cast<std::ptrdiff_t>(at));
  }
  Bytes checked(bytes.begin(), bytes.begin() + 32);
  checked.insert(checked.end(), bytes.begin() + kBundleHeaderBytes,
                 bytes.begin() + static_cast<std::ptrdiff_t>(index_end));
  std::ranges::copy(digest(checked.data(), checked.size()), bytes.begin() + 32);
  check(bytes);
  return 0;
}
