#include "cache/entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

namespace heddle {
namespace {

constexpr std::array<std::uint8_t, 8> kMagic = {0x89, 'H', 'D', 'L', '\r', '\n', 0x1a, '\n'};
constexpr std::size_t kNamedBytes = 12;  // magic and version

void add_text(ByteWriter* writer, std::string_view text) {
  writer->u32(static_cast<std::uint32_t>(text.size()));
  writer->bytes(as_bytes(text));
}

Bytes encode_metadata(const Binary& binary) {
  Bytes bytes;
  ByteWriter writer(&bytes);
  add_text(&writer, binary.kernel_name);
  add_text(&writer, binary.arch);
  add_text(&writer, binary.compiler);
  for (const int number :
       {binary.registers, binary.spill_bytes, binary.local_bytes, binary.static_shared_bytes,
        binary.dynamic_shared_bytes, binary.threads}) {
    writer.u32(static_cast<std::uint32_t>(number));
  }
  writer.u64(std::bit_cast<std::uint64_t>(binary.compile_ms));
  return bytes;
}

void check_part(std::uint64_t length, const char* part) {
  if (length <= kMaxPartBytes) return;
  throw std::length_error(std::string("its ") + part + " has more than 64 MiB");
}

std::string_view take_text(ByteReader* reader) {
  const std::uint32_t length = reader->u32();
  return as_text(reader->bytes(length));
}

EntryView refused_entry(EntryStatus status, std::string why) {
  EntryView view;
  view.status = status;
  view.why = std::move(why);
  return view;
}

bool parse_metadata(ByteView bytes, EntryView* view) {
  ByteReader reader(bytes);
  view->kernel_name = take_text(&reader);
  view->arch = take_text(&reader);
  view->compiler = take_text(&reader);
  for (std::int32_t& number : view->numbers) number = static_cast<std::int32_t>(reader.u32());
  view->compile_ms = std::bit_cast<double>(reader.u64());
  return reader.ok() && reader.at_end();
}

// What is sure from the outside of the entry: kind, version, length, checksum.
EntryView check_frame(ByteView bytes) {
  if (bytes.size() < kNamedBytes) return refused_entry(EntryStatus::kDamaged, "cut short");
  ByteReader reader(bytes);
  if (!std::ranges::equal(reader.bytes(kMagic.size()), kMagic)) {
    return refused_entry(EntryStatus::kForeign, "not a cache entry");
  }
  const std::uint32_t version = reader.u32();
  if (version != kEntryVersion) {
    return refused_entry(EntryStatus::kForeign,
                         fmt::format("it is of format version {}, and this Heddle's is {}: the "
                                     "kernel is compiled again when it is needed",
                                     version, kEntryVersion));
  }
  if (bytes.size() < kEntryMinBytes) return refused_entry(EntryStatus::kDamaged, "cut short");
  if (reader.u32() != 0) return refused_entry(EntryStatus::kForeign, "not a cache entry");
  if (reader.u64() != bytes.size()) return refused_entry(EntryStatus::kDamaged, "wrong length");
  const ByteView body = bytes.first(bytes.size() - sizeof(Digest));
  if (!std::ranges::equal(bytes.last(sizeof(Digest)), digest(body.data(), body.size()))) {
    return refused_entry(EntryStatus::kDamaged, "wrong checksum");
  }
  return refused_entry(EntryStatus::kOk, "");
}

std::string_view unpack(const PackedPart& part, std::string* room) {
  if (part.stored.size() == part.length) return as_text(part.stored);
  *room = unpack_text(part.stored, part.length);
  return *room;
}

}  // namespace

Bytes encode_entry(const SerialKey& key, const Binary& binary, EntryTexts texts) {
  const bool with_texts = texts == EntryTexts::kWith;
  const std::string_view ptx = with_texts ? std::string_view(binary.ptx) : std::string_view();
  check_part(binary.cubin.size(), "cubin");
  check_part(ptx.size(), "PTX");
  check_part(key.digests.source_bytes, "source");
  const Bytes metadata = encode_metadata(binary);
  const Bytes cubin = pack_part(binary.cubin, Packing::kCubin);
  const Bytes packed_ptx = pack_part(as_bytes(ptx), Packing::kText);
  const Bytes source = with_texts ? pack_part(as_bytes(key.source), Packing::kText) : Bytes();
  Bytes bytes;
  const std::size_t total = kEntryHeaderBytes + key.compiler.size() + metadata.size() +
                            cubin.size() + packed_ptx.size() + source.size() + sizeof(Digest);
  if (total > kEntryMaxBytes) throw std::length_error("an entry has more than 256 MiB");
  bytes.reserve(total);
  ByteWriter writer(&bytes);
  writer.bytes(kMagic);
  writer.u32(kEntryVersion);
  writer.u32(0);
  writer.u64(total);
  writer.bytes(key.digests.source);
  writer.bytes(key.digests.compiler);
  writer.u64(key.digests.source_second);
  writer.u64(key.digests.source_bytes);
  writer.u64(binary.cubin.size());
  writer.u64(ptx.size());
  writer.u64(key.compiler.size());
  writer.u64(metadata.size());
  for (const Bytes* part : {&source, &cubin, &packed_ptx}) writer.u64(part->size());
  writer.bytes(as_bytes(key.compiler));
  writer.bytes(metadata);
  for (const Bytes* part : {&cubin, &packed_ptx, &source}) writer.bytes(*part);
  writer.bytes(digest(bytes.data(), bytes.size()));
  return bytes;
}

EntryView parse_entry(ByteView bytes) {
  EntryView view = check_frame(bytes);
  if (view.status != EntryStatus::kOk) return view;
  // The checksum is no proof against a forger, so every length is still checked.
  const ByteView body = bytes.first(bytes.size() - sizeof(Digest));
  ByteReader reader(body);
  reader.bytes(24);
  view.digests.source = take_digest(&reader);
  view.digests.compiler = take_digest(&reader);
  view.digests.source_second = reader.u64();
  view.source_key.length = view.digests.source_bytes = reader.u64();
  view.cubin.length = reader.u64();
  view.ptx.length = reader.u64();
  const std::uint64_t compiler = reader.u64();
  const std::uint64_t metadata_bytes = reader.u64();
  const std::uint64_t source = reader.u64();
  const std::uint64_t cubin = reader.u64();
  const std::uint64_t ptx = reader.u64();
  view.compiler_key = as_text(reader.bytes(compiler));
  const ByteView metadata = reader.bytes(metadata_bytes);
  view.cubin.stored = reader.bytes(cubin);
  view.ptx.stored = reader.bytes(ptx);
  view.source_key.stored = reader.bytes(source);
  const auto fits = [](const PackedPart& part) { return is_part(part.stored, part.length); };
  if (!reader.ok() || !reader.at_end() || !fits(view.cubin) || !fits(view.ptx) ||
      view.source_key.length > kMaxPartBytes || (view.has_source() && !fits(view.source_key))) {
    return refused_entry(EntryStatus::kDamaged, "lengths disagree");
  }
  if (!parse_metadata(metadata, &view)) {
    return refused_entry(EntryStatus::kDamaged, "malformed metadata");
  }
  return view;
}

EntryView parse_entry(ByteView bytes, const KeyDigests& key) {
  EntryView view = parse_entry(bytes);
  if (view.status == EntryStatus::kOk && view.digests != key) {
    return refused_entry(EntryStatus::kMiss, "of another key");
  }
  return view;
}

std::optional<Binary> to_binary(const EntryView& view) {
  Binary binary;
  binary.cubin.resize(view.cubin.length);
  if (!unpack_part(view.cubin.stored, view.cubin.length, binary.cubin.data())) return std::nullopt;
  binary.kernel_name = view.kernel_name;
  binary.arch = view.arch;
  binary.compiler = view.compiler;
  if (view.ptx.length > 0) {
    binary.ptx = LazyText([stored = Bytes(view.ptx.stored.begin(), view.ptx.stored.end()),
                           length = view.ptx.length] { return unpack_text(stored, length); });
  }
  binary.registers = view.numbers[0];
  binary.spill_bytes = view.numbers[1];
  binary.local_bytes = view.numbers[2];
  binary.static_shared_bytes = view.numbers[3];
  binary.dynamic_shared_bytes = view.numbers[4];
  binary.threads = view.numbers[5];
  binary.compile_ms = view.compile_ms;
  return binary;
}

std::string_view problem_of_parts(const EntryView& view) {
  std::string room;
  for (const PackedPart* part : {&view.cubin, &view.ptx}) {
    if (unpack(*part, &room).size() != part->length) return "a part cannot be decompressed";
  }
  if (!view.has_source()) {
    if (digest(view.compiler_key) != view.digests.compiler) return "its digests are not of its key";
    return {};
  }
  const std::string_view source = unpack(view.source_key, &room);
  if (source.size() != view.source_key.length) return "a part cannot be decompressed";
  if (digests_of(source, view.compiler_key) != view.digests) {
    return "its digests are not of its key";
  }
  return {};
}

SerialKey key_of(const EntryView& view) {
  std::string room;
  SerialKey key{{}, std::string(view.compiler_key), view.digests};
  if (view.has_source()) key.source = unpack(view.source_key, &room);
  return key;
}

}  // namespace heddle
