#include "cache/entry.h"

#include <algorithm>
#include <array>
#include <bit>

namespace heddle {
namespace {

constexpr std::array<std::uint8_t, 8> kMagic = {0x89, 'H', 'D', 'L', '\r', '\n', 0x1a, '\n'};

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

std::string_view take_text(ByteReader* reader) {
  const std::uint32_t length = reader->u32();
  return as_text(reader->bytes(length));
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

Digest take_digest(ByteReader* reader) {
  Digest digest{};
  std::ranges::copy(reader->bytes(digest.size()), digest.begin());
  return digest;
}

EntryView failed(EntryStatus status, const char* why) {
  EntryView view;
  view.status = status;
  view.why = why;
  return view;
}

// What is sure from the outside of the entry: kind, version, length, checksum.
EntryView check_frame(ByteView bytes) {
  if (bytes.size() < kEntryMinBytes) return failed(EntryStatus::kDamaged, "cut short");
  ByteReader reader(bytes);
  if (!std::ranges::equal(reader.bytes(kMagic.size()), kMagic)) {
    return failed(EntryStatus::kForeign, "not a cache entry");
  }
  if (reader.u32() != kEntryVersion || reader.u32() != 0) {
    return failed(EntryStatus::kForeign, "another format version");
  }
  if (reader.u64() != bytes.size()) return failed(EntryStatus::kDamaged, "wrong length");
  const ByteView body = bytes.first(bytes.size() - sizeof(Digest));
  if (!std::ranges::equal(bytes.last(sizeof(Digest)), digest(body.data(), body.size()))) {
    return failed(EntryStatus::kDamaged, "wrong checksum");
  }
  return failed(EntryStatus::kOk, "");
}

}  // namespace

Bytes encode_entry(const SerialKey& key, const Binary& binary) {
  const Bytes metadata = encode_metadata(binary);
  const std::size_t total = kEntryMinBytes + key.source.size() + key.compiler.size() +
                            metadata.size() + binary.cubin.size() + binary.ptx.size();
  Bytes bytes;
  bytes.reserve(total);
  ByteWriter writer(&bytes);
  writer.bytes(kMagic);
  writer.u32(kEntryVersion);
  writer.u32(0);
  writer.u64(total);
  writer.bytes(key.source_digest);
  writer.bytes(key.compiler_digest);
  writer.u64(key.source.size());
  writer.u64(key.compiler.size());
  writer.u64(metadata.size());
  writer.u64(binary.cubin.size());
  writer.u64(binary.ptx.size());
  writer.bytes(as_bytes(key.source));
  writer.bytes(as_bytes(key.compiler));
  writer.bytes(metadata);
  writer.bytes(binary.cubin);
  writer.bytes(as_bytes(binary.ptx));
  writer.bytes(digest(bytes.data(), bytes.size()));
  return bytes;
}

EntryView parse_entry(ByteView bytes) {
  EntryView view = check_frame(bytes);
  if (view.status != EntryStatus::kOk) return view;
  // The checksum is no proof against a forger, so every length is still checked.
  ByteReader reader(bytes.first(bytes.size() - sizeof(Digest)));
  reader.bytes(24);
  view.source_digest = take_digest(&reader);
  view.compiler_digest = take_digest(&reader);
  std::uint64_t lengths[5];
  for (std::uint64_t& length : lengths) length = reader.u64();
  view.source_key = as_text(reader.bytes(lengths[0]));
  view.compiler_key = as_text(reader.bytes(lengths[1]));
  const ByteView metadata = reader.bytes(lengths[2]);
  view.cubin = reader.bytes(lengths[3]);
  view.ptx = as_text(reader.bytes(lengths[4]));
  if (!reader.ok() || !reader.at_end()) return failed(EntryStatus::kDamaged, "lengths disagree");
  if (!parse_metadata(metadata, &view)) return failed(EntryStatus::kDamaged, "malformed metadata");
  return view;
}

EntryView parse_entry(ByteView bytes, const SerialKey& key) {
  EntryView view = parse_entry(bytes);
  if (view.status != EntryStatus::kOk) return view;
  if (view.source_digest != key.source_digest || view.compiler_digest != key.compiler_digest ||
      view.source_key != key.source || view.compiler_key != key.compiler) {
    return failed(EntryStatus::kMiss, "of another key");
  }
  return view;
}

Binary to_binary(const EntryView& view) {
  Binary binary;
  binary.kernel_name = view.kernel_name;
  binary.arch = view.arch;
  binary.compiler = view.compiler;
  binary.cubin.assign(view.cubin.begin(), view.cubin.end());
  binary.ptx = view.ptx;
  binary.registers = view.numbers[0];
  binary.spill_bytes = view.numbers[1];
  binary.local_bytes = view.numbers[2];
  binary.static_shared_bytes = view.numbers[3];
  binary.dynamic_shared_bytes = view.numbers[4];
  binary.threads = view.numbers[5];
  binary.compile_ms = view.compile_ms;
  return binary;
}

}  // namespace heddle
