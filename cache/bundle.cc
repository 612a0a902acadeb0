#include "cache/bundle.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "cache/entry.h"

namespace heddle {
namespace {

auto digests(const BundleItem& item) { return std::tie(item.source_digest, item.compiler_digest); }

std::string id_of(const BundleItem& item) {
  return hex(item.source_digest) + "-" + hex(item.compiler_digest);
}

SerialKey key_of(const EntryView& view) {
  return {std::string(view.source_key), std::string(view.compiler_key), digest(view.source_key),
          digest(view.compiler_key)};
}

// Why the bytes are not a sound entry of this item; empty if they are.
std::string problem_of(const BundleItem& item, const Bytes& bytes) {
  if (bytes.empty()) return "cannot be read";
  const EntryView view = parse_entry(bytes);
  if (view.status != EntryStatus::kOk) return view.why;
  const SerialKey key = key_of(view);
  if (std::tie(key.source_digest, key.compiler_digest) != digests(item) ||
      std::tie(view.source_digest, view.compiler_digest) != digests(item)) {
    return "of another key than the index says";
  }
  return {};
}

}  // namespace

struct Bundle::Content {
  Fd fd;
  std::vector<BundleItem> items;
  std::vector<std::string> tables;

  // Null, and `why`, for a file that cannot be used.
  static std::shared_ptr<const Content> load(FileSystem& files, const std::string& path,
                                             std::string* why);
};

bool is_bundle_name(std::string_view path) { return path.ends_with(".hdl"); }

int publish_bundle(const std::string& path, ByteView bytes, FileSystem& files) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  // The caller's own path: links in it are the caller's affair.
  const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  const Fd fd(&files, retry_interrupted([&] { return files.open(AT_FDCWD, folder, flags, 0); }));
  if (!fd) return -fd.error();
  return publish_file(files, fd.get(), name, name, bytes, 0644);
}

Bundle::Bundle(std::string path, FileSystem& files, std::function<void(std::string)> warn)
    : path_(std::move(path)), files_(files), warn_(std::move(warn)) {}

Bundle::~Bundle() = default;

std::shared_ptr<const Bundle::Content> Bundle::Content::load(FileSystem& files,
                                                             const std::string& path,
                                                             std::string* why) {
  FileContent file = open_trusted(files, AT_FDCWD, path, {files.user(), true});
  *why = file.why;
  if (file.status != ReadStatus::kOk) return nullptr;
  // Parts are read in turn, as each says how long the next one is; the first problem is kept.
  const char* reason = nullptr;
  const auto part = [&](std::uint64_t offset, std::uint64_t length) {
    Bytes bytes(length);
    if (read_all(files, file.fd.get(), bytes.data(), bytes.size(), offset) < 0) {
      reason = "cut short";
    }
    return bytes;
  };
  auto loaded = std::make_shared<Content>();
  const auto read_parts = [&] {
    const Bytes header = part(0, kBundleHeaderBytes);
    if (reason != nullptr) return;
    const BundleHeader announced = parse_bundle_header(header, file.info.size, &reason);
    if (reason != nullptr) return;
    const Bytes index_bytes = part(kBundleHeaderBytes, announced.index_bytes());
    if (reason != nullptr) return;
    BundleIndex index = parse_bundle_index(header, index_bytes, file.info.size, &reason);
    loaded->items = std::move(index.items);
    if (reason != nullptr || !announced.has_tables) return;
    const Bytes tables = part(index.tables.offset, index.tables.bytes);
    if (reason != nullptr) return;
    loaded->tables = parse_bundle_tables(index.tables, tables, &reason);
  };
  read_parts();
  *why = reason != nullptr ? reason : "";
  if (reason != nullptr) return nullptr;
  loaded->fd = std::move(file.fd);
  return loaded;
}

std::shared_ptr<const Bundle::Content> Bundle::content(std::string* why) {
  const std::lock_guard guard(mutex_);
  if (content_ != nullptr) return content_;
  content_ = Content::load(files_, path_, why);
  if (content_ == nullptr && !std::exchange(warned_, true) && warn_) {
    warn_(fmt::format("bundle {}: {}", path_, *why));
  }
  return content_;
}

Bytes Bundle::read(const Content& content, const BundleItem& item) {
  Bytes bytes(item.bytes);
  const int error = read_all(files_, content.fd.get(), bytes.data(), bytes.size(), item.offset);
  return error < 0 ? Bytes() : bytes;
}

std::optional<Binary> Bundle::find(const CacheKey& key) {
  std::string why;
  const auto open = content(&why);
  if (open == nullptr) return std::nullopt;
  const SerialKey wanted = serialize(key);
  const auto item =
      std::ranges::lower_bound(open->items, std::tie(wanted.source_digest, wanted.compiler_digest),
                               {}, [](const BundleItem& each) { return digests(each); });
  if (item == open->items.end() ||
      digests(*item) != std::tie(wanted.source_digest, wanted.compiler_digest)) {
    return std::nullopt;
  }
  const Bytes bytes = read(*open, *item);
  const EntryView view = parse_entry(bytes, wanted);
  if (view.status != EntryStatus::kOk) return std::nullopt;
  return to_binary(view);
}

std::optional<Binary> Bundle::find_any_compiler(const CacheKey& key) {
  std::string why;
  const auto open = content(&why);
  if (open == nullptr) return std::nullopt;
  const SerialKey wanted = serialize(key);
  std::optional<Binary> best;
  auto item =
      std::ranges::lower_bound(open->items, wanted.source_digest, {}, &BundleItem::source_digest);
  for (; item != open->items.end() && item->source_digest == wanted.source_digest; ++item) {
    const Bytes bytes = read(*open, *item);
    const EntryView view = parse_entry(bytes);
    if (view.status != EntryStatus::kOk || view.source_key != wanted.source) continue;
    if (!best || later_compiler(std::string(view.compiler), best->compiler)) {
      best = to_binary(view);
    }
  }
  return best;
}

std::vector<EntryInfo> Bundle::list() {
  std::vector<EntryInfo> entries;
  for_each([&](const SerialKey& key, const Bytes& bytes) {
    const EntryView view = parse_entry(bytes);
    entries.push_back({key.id(), std::string(view.kernel_name), std::string(view.arch),
                       std::string(view.compiler), bytes.size(), view.cubin.size(), view.ptx.size(),
                       0});
  });
  std::ranges::sort(entries, [](const EntryInfo& a, const EntryInfo& b) {
    return std::tie(a.kernel_name, a.id) < std::tie(b.kernel_name, b.id);
  });
  return entries;
}

VerifyReport Bundle::verify() {
  return for_each([](const SerialKey&, const Bytes&) {});
}

LayerTables Bundle::tuned_tables() {
  std::string why;
  const auto open = content(&why);
  if (open == nullptr) return {};
  return {path_, open->tables};
}

std::string Bundle::problem() {
  std::string why;
  return content(&why) == nullptr ? why : std::string();
}

VerifyReport Bundle::for_each(
    const std::function<void(const SerialKey& key, const Bytes& bytes)>& visit) {
  VerifyReport report;
  std::string why;
  const auto open = content(&why);
  if (open == nullptr) {
    report.problems.push_back({path_, why});
  } else {
    for (const BundleItem& item : open->items) {
      const Bytes bytes = read(*open, item);
      const std::string problem = problem_of(item, bytes);
      if (problem.empty()) {
        ++report.good;
        visit(key_of(parse_entry(bytes)), bytes);
      } else {
        report.problems.push_back({id_of(item), problem});
      }
    }
  }
  report.damaged = report.problems.size();
  return report;
}

}  // namespace heddle
