#include "cache/encode_bundle.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "cache/entry.h"

namespace heddle {
namespace {

auto digests(const BundleEntry& entry) {
  return std::tie(entry.key.digests.source, entry.key.digests.compiler);
}

// All that goes into the bundle of an entry but its digests and GPUs; those with texts come first.
auto rank(const BundleEntry& entry) {
  const Binary& binary = entry.binary;
  const std::string_view ptx = binary.ptx;
  return std::tuple_cat(std::make_tuple(entry.key.source.empty(), ptx.empty(), ptx,
                                        std::bit_cast<std::uint64_t>(binary.compile_ms)),
                        std::tie(entry.key.source, entry.key.compiler, binary.kernel_name,
                                 binary.arch, binary.compiler, binary.cubin, binary.registers,
                                 binary.spill_bytes, binary.local_bytes, binary.static_shared_bytes,
                                 binary.dynamic_shared_bytes, binary.threads));
}

// Gives the entry what another one of the same digests has and it lacks.
void join(BundleEntry other, BundleEntry* entry) {
  if (entry->key.source.empty()) entry->key.source = std::move(other.key.source);
  if (entry->binary.ptx.empty()) entry->binary.ptx = std::move(other.binary.ptx);
  entry->gpus.insert(entry->gpus.end(), other.gpus.begin(), other.gpus.end());
}

// In the order of the index, each once, with the GPUs in order.
void make_canonical(std::vector<BundleEntry>* entries) {
  std::ranges::sort(*entries, [](const BundleEntry& a, const BundleEntry& b) {
    if (digests(a) != digests(b)) return digests(a) < digests(b);
    return rank(a) < rank(b);  // reads the PTX, so only where it must
  });
  std::vector<BundleEntry> each;
  for (BundleEntry& entry : *entries) {
    if (!each.empty() && digests(each.back()) == digests(entry)) {
      join(std::move(entry), &each.back());
    } else {
      each.push_back(std::move(entry));
    }
  }
  for (BundleEntry& entry : each) {
    std::ranges::sort(entry.gpus);
    entry.gpus.erase(std::unique(entry.gpus.begin(), entry.gpus.end()), entry.gpus.end());
  }
  *entries = std::move(each);
}

Bytes encode_gpus(const std::vector<BundleEntry>& entries) {
  Bytes bytes;
  ByteWriter writer(&bytes);
  bool any = false;
  for (const BundleEntry& entry : entries) {
    any = any || !entry.gpus.empty();
    writer.u32(static_cast<std::uint32_t>(entry.gpus.size()));
    for (const std::string& name : entry.gpus) {
      writer.u32(static_cast<std::uint32_t>(name.size()));
      writer.bytes(as_bytes(name));
    }
  }
  return any ? bytes : Bytes();
}

const char* too_long(BlockKind kind) {
  switch (kind) {
    case BlockKind::kSource:
    case BlockKind::kPtx:
      return "the text of a kernel has more than 64 MiB";
    case BlockKind::kTables:
      return "the tuned tables have more than 64 MiB";
    case BlockKind::kGpus:
      break;
  }
  return "the names of GPUs have more than 64 MiB";
}

struct PackedBlock {
  BlockKind kind;
  std::uint64_t length;
  Bytes stored;
};

class BlockWriter {
 public:
  // Throws std::length_error for a block that no reader takes.
  void add(BlockKind kind, ByteView content) {
    if (content.empty()) return;
    if (content.size() > kMaxPartBytes) throw std::length_error(too_long(kind));
    blocks_.push_back({kind, content.size(), pack_part(content, Packing::kBlock)});
  }
  // The texts of one kind, in the order of the entries.
  template <typename TextOf>
  void add_texts(BlockKind kind, const std::vector<BundleEntry>& entries, const TextOf& text_of) {
    BlockFiller filler(0);
    Bytes block;
    for (const BundleEntry& entry : entries) {
      const std::string_view text = text_of(entry);
      const std::size_t before = filler.lengths().size();
      filler.add(text.size());
      if (filler.lengths().size() > before) add(kind, std::exchange(block, {}));
      ByteWriter(&block).bytes(as_bytes(text));
    }
    add(kind, block);
  }
  const std::vector<PackedBlock>& blocks() const { return blocks_; }

 private:
  std::vector<PackedBlock> blocks_;
};

}  // namespace

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

Bytes encode_bundle(std::vector<BundleEntry> entries, std::vector<std::string> tables,
                    BundleTexts texts) {
  make_canonical(&entries);
  check_entry_count(entries.size());
  const bool with_texts = texts == BundleTexts::kWith;
  const auto source_of = [](const BundleEntry& entry) {
    return std::string_view(entry.key.source);
  };
  const auto ptx_of = [](const BundleEntry& entry) { return std::string_view(entry.binary.ptx); };
  BlockWriter blocks;
  if (with_texts) {
    blocks.add_texts(BlockKind::kSource, entries, source_of);
    blocks.add_texts(BlockKind::kPtx, entries, ptx_of);
  }
  blocks.add(BlockKind::kTables, encode_bundle_tables(std::move(tables)));
  blocks.add(BlockKind::kGpus, encode_gpus(entries));

  const BundleHeader header{entries.size(), blocks.blocks().size()};
  Bytes index;
  Bytes content;
  ByteWriter index_writer(&index);
  ByteWriter content_writer(&content);
  const std::uint64_t begin = kBundleHeaderBytes + header.index_bytes();
  for (const BundleEntry& entry : entries) {
    const Bytes bytes = encode_entry(entry.key, entry.binary, EntryTexts::kWithout);
    index_writer.bytes(entry.key.digests.source);
    index_writer.bytes(entry.key.digests.compiler);
    index_writer.u64(begin + content.size());
    index_writer.u64(bytes.size());
    index_writer.u64(with_texts ? source_of(entry).size() : 0);
    index_writer.u64(with_texts ? ptx_of(entry).size() : 0);
    content_writer.bytes(bytes);
  }
  for (const PackedBlock& block : blocks.blocks()) {
    index_writer.bytes(digest(block.stored.data(), block.stored.size()));
    index_writer.u32(static_cast<std::uint32_t>(block.kind));
    index_writer.u32(0);
    index_writer.u64(block.length);
    index_writer.u64(begin + content.size());
    index_writer.u64(block.stored.size());
    content_writer.bytes(block.stored);
  }
  Bytes bundle;
  ByteWriter writer(&bundle);
  writer.bytes(kBundleMagic);
  writer.u32(kBundleVersion);
  writer.u32(static_cast<std::uint32_t>(header.blocks));
  writer.u64(begin + content.size());
  writer.u64(entries.size());
  writer.bytes(bundle_checksum(bundle, index));
  writer.bytes(index);
  writer.bytes(content);
  return bundle;
}

}  // namespace heddle
