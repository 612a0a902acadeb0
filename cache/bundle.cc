#include "cache/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "cache/bundle_content.h"
#include "cache/entry.h"
#include "cache/new_file.h"

namespace heddle {
namespace {

auto digests(const KeyDigests& key) { return std::tie(key.source, key.compiler); }

std::string id_of(const BundleItem& item) {
  return hex(item.source_digest) + "-" + hex(item.compiler_digest);
}

// Why the bytes are no entry that serves this item's key; empty if they are one.
std::string problem_of_entry(const BundleItem& item, const Bytes& bytes, const EntryView& view) {
  if (bytes.empty()) return "cannot be read";
  if (view.status != EntryStatus::kOk) return view.why;
  if (digests(view.digests) != digests(item)) return "of another key than the index says";
  return std::string();
}

// Reads all of an entry, with its texts; why it is not sound, empty if it is.
std::string read_entry(const BundleContent& content, std::size_t number,
                       BundleContent::Reader* sources, BundleContent::Reader* ptx,
                       BundleEntry* entry) {
  const BundleItem& item = content.items()[number];
  const Bytes bytes = content.entry(item);
  const EntryView view = parse_entry(bytes);
  std::string problem = problem_of_entry(item, bytes, view);
  if (!problem.empty()) return problem;
  problem = problem_of_parts(view);
  if (!problem.empty()) return problem;
  entry->key = key_of(view);
  entry->gpus = content.gpus(number);
  std::optional<Binary> binary = to_binary(view);
  if (!binary) return "a part cannot be decompressed";
  entry->binary = *std::move(binary);
  if (item.source.length > 0) {
    const char* why = nullptr;
    entry->key.source = content.text(item.source, sources, &why);
    if (why != nullptr) return fmt::format("its source {}", why);
    if (digests_of(entry->key.source, entry->key.compiler) != entry->key.digests) {
      return "its source is damaged";
    }
  }
  if (item.ptx.length > 0) {
    const char* why = nullptr;
    entry->binary.ptx = content.text(item.ptx, ptx, &why);
    if (why != nullptr) return fmt::format("its PTX {}", why);
  }
  return std::string();
}

}  // namespace

bool is_bundle_name(std::string_view path) { return path.ends_with(".hdl"); }

int publish_bundle(const std::string& path, ByteView bytes, FileSystem& files) {
  NewFile file(path, files);
  int error = file.open(0644);
  if (error == 0) error = file.write(0, bytes.data(), bytes.size());
  return error == 0 ? file.publish() : error;
}

Bundle::Bundle(std::string path, FileSystem& files, std::function<void(std::string)> warn)
    : path_(std::move(path)), files_(files), warn_(std::move(warn)) {}

Bundle::~Bundle() = default;

std::shared_ptr<const BundleContent> Bundle::content(std::string* why) {
  const std::lock_guard guard(mutex_);
  if (content_ != nullptr) return content_;
  content_ = BundleContent::load(files_, path_, why);
  if (content_ == nullptr && !std::exchange(warned_, true) && warn_) {
    warn_(fmt::format("bundle {}: {}", path_, *why));
  }
  return content_;
}

std::optional<Binary> Bundle::find(const CacheKey& key) {
  std::string why;
  const auto open = content(&why);
  if (open == nullptr) return std::nullopt;
  const KeyDigests wanted = key.digests();
  const auto item = std::ranges::lower_bound(open->items(), digests(wanted), {},
                                             [](const BundleItem& each) { return digests(each); });
  if (item == open->items().end() || digests(*item) != digests(wanted)) return std::nullopt;
  const Bytes bytes = open->entry(*item);
  const EntryView view = parse_entry(bytes, wanted);
  if (view.status != EntryStatus::kOk) return std::nullopt;
  return open->binary(*item, view);
}

std::optional<Binary> Bundle::find_any_compiler(const CacheKey& key) {
  std::string why;
  const auto open = content(&why);
  if (open == nullptr) return std::nullopt;
  const KeyDigests wanted = key.digests();
  std::optional<Binary> best;
  auto item =
      std::ranges::lower_bound(open->items(), wanted.source, {}, &BundleItem::source_digest);
  for (; item != open->items().end() && item->source_digest == wanted.source; ++item) {
    const Bytes bytes = open->entry(*item);
    const EntryView view = parse_entry(bytes);
    if (view.status != EntryStatus::kOk || !same_source(view.digests, wanted)) continue;
    if (best && !later_compiler(std::string(view.compiler), best->compiler)) continue;
    if (std::optional<Binary> binary = open->binary(*item, view)) best = std::move(binary);
  }
  return best;
}

std::vector<EntryInfo> Bundle::list(std::vector<VerifyReport::Problem>* unreadable) {
  std::vector<EntryInfo> entries;
  std::string why;
  const auto open = content(&why);
  if (open == nullptr) return entries;
  for (std::size_t i = 0; i < open->items().size(); ++i) {
    const BundleItem& item = open->items()[i];
    const Bytes bytes = open->entry(item);
    const EntryView view = parse_entry(bytes);
    if (std::string problem = problem_of_entry(item, bytes, view); !problem.empty()) {
      if (unreadable != nullptr) unreadable->push_back({id_of(item), std::move(problem)});
      continue;
    }
    const bool has_source = item.source.length > 0 || view.has_source();
    entries.push_back({id_of(item), std::string(view.kernel_name), std::string(view.arch),
                       std::string(view.compiler), item.bytes, view.cubin.length,
                       std::max(item.ptx.length, view.ptx.length), 0, open->gpus(i), has_source});
  }
  std::ranges::sort(entries, [](const EntryInfo& a, const EntryInfo& b) {
    return std::tie(a.kernel_name, a.id) < std::tie(b.kernel_name, b.id);
  });
  return entries;
}

VerifyReport Bundle::verify() {
  return for_each([](const BundleEntry&) {});
}

LayerTables Bundle::tuned_tables() {
  std::string why;
  const auto open = content(&why);
  if (open == nullptr) return {};
  return {path_, open->tables()};
}

std::string Bundle::problem() {
  std::string why;
  return content(&why) == nullptr ? why : std::string();
}

std::uint64_t Bundle::bytes() {
  std::string why;
  const auto open = content(&why);
  return open == nullptr ? 0 : open->file_bytes();
}

VerifyReport Bundle::for_each(const std::function<void(BundleEntry entry)>& visit) {
  VerifyReport report;
  std::string why;
  const auto open = content(&why);
  if (open == nullptr) {
    report.problems.push_back({path_, why});
  } else {
    BundleContent::Reader sources;
    BundleContent::Reader ptx;
    for (std::size_t i = 0; i < open->items().size(); ++i) {
      BundleEntry entry;
      const std::string problem = read_entry(*open, i, &sources, &ptx, &entry);
      if (problem.empty()) {
        ++report.good;
        visit(std::move(entry));
      } else {
        report.problems.push_back({id_of(open->items()[i]), problem});
      }
    }
  }
  report.damaged = report.problems.size();
  return report;
}

}  // namespace heddle
