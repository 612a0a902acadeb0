#include "cache/bundle_content.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <utility>

#include "cache/bundle_index.h"
#include "cache/file_io.h"
#include "heddle/error.h"

namespace heddle {

std::shared_ptr<const BundleContent> BundleContent::load(FileSystem& files, const std::string& path,
                                                         std::string* why) {
  FileContent file = open_trusted(files, AT_FDCWD, path, {files.user(), true});
  *why = file.why;
  if (file.status != ReadStatus::kOk) return nullptr;
  auto loaded = std::make_shared<BundleContent>();
  loaded->files_ = &files;
  loaded->path_ = path;
  loaded->fd_ = std::move(file.fd);
  loaded->file_bytes_ = file.info.size;
  // Parts are read in turn, as each says how long the next one is; the first problem is kept.
  const auto read = [&]() -> std::string {
    std::string reason;
    const Bytes header = loaded->stored(0, kBundleHeaderBytes);
    if (header.empty()) return "cut short";
    const BundleHeader announced = parse_bundle_header(header, file.info.size, &reason);
    if (!reason.empty()) return reason;
    const Bytes index = loaded->stored(kBundleHeaderBytes, announced.index_bytes());
    if (index.empty() && announced.index_bytes() > 0) return "cut short";
    loaded->index_ = parse_bundle_index(header, index, file.info.size, &reason);
    return reason.empty() ? loaded->load_rest() : reason;
  };
  *why = read();
  return why->empty() ? loaded : nullptr;
}

std::string BundleContent::load_rest() {
  std::string reason;
  Bytes content;
  if (!load_block(BlockKind::kTables, &content)) return "wrong checksum of the tuned tables";
  if (!content.empty()) tables_ = parse_bundle_tables(content, &reason);
  if (!reason.empty()) return reason;
  content.clear();
  if (!load_block(BlockKind::kGpus, &content)) return "wrong checksum of the names of GPUs";
  if (!content.empty()) gpus_ = parse_bundle_gpus(content, index_.items.size(), &reason);
  return reason;
}

bool BundleContent::load_block(BlockKind kind, Bytes* content) const {
  for (const BundleBlock& block : index_.blocks) {
    if (block.kind != kind) continue;
    return unpack_block(block, stored(block.offset, block.stored), content);
  }
  return true;
}

Bytes BundleContent::stored(std::uint64_t offset, std::uint64_t bytes) const {
  Bytes read(bytes);
  if (read_all(*files_, fd_.get(), read.data(), read.size(), offset) < 0) read.clear();
  return read;
}

Bytes BundleContent::entry(const BundleItem& item) const { return stored(item.offset, item.bytes); }

std::optional<Binary> BundleContent::binary(const BundleItem& item, const EntryView& view) const {
  std::optional<Binary> binary = to_binary(view);
  if (binary && item.ptx.length > 0) {
    binary->ptx = LazyText([self = shared_from_this(), kernel = binary->kernel_name,
                            place = item.ptx] { return self->ptx_of(kernel, place); });
  }
  return binary;
}

std::string BundleContent::ptx_of(const std::string& kernel, const BundleText& place) const {
  const std::lock_guard guard(ptx_mutex_);
  const char* why = nullptr;
  std::string ptx = text(place, &ptx_, &why);
  // A failed read may go well the next time, and a longer block holds no other text.
  if (why != nullptr || ptx_.content.size() > kBundleBlockBytes) ptx_ = {};
  if (why == nullptr) return ptx;
  throw Error(ErrorCategory::kFile, "cache.unreadable_ptx",
              fmt::format("bundle {}: the PTX of {} {}", path_, kernel, why));
}

std::string BundleContent::text(const BundleText& text, Reader* reader, const char** why) const {
  *why = nullptr;
  if (text.length == 0) return {};
  if (reader->block != text.block) {
    const BundleBlock& block = index_.blocks[text.block];
    *reader = {};
    reader->block = text.block;
    const Bytes packed = stored(block.offset, block.stored);
    if (packed.empty()) {
      reader->why = "cannot be read";
    } else if (!unpack_block(block, packed, &reader->content)) {
      reader->why = "is damaged";
    }
  }
  *why = reader->why;
  if (*why != nullptr) return {};
  return std::string(as_text(ByteView(reader->content).subspan(text.offset, text.length)));
}

}  // namespace heddle
