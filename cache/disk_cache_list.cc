// The parts of DiskCache that look at many entries: find_any_compiler, list, verify.
#include <algorithm>
#include <tuple>
#include <utility>

#include "cache/disk_cache.h"
#include "cache/file_io.h"
#include "cache/file_names.h"

namespace heddle {
namespace {

std::string id_of(const CacheFile& file) {
  return file.name.substr(0, file.name.size() - (sizeof(kEntrySuffix) - 1));
}

// Below the root.
std::string place_of(const CacheFile& file) {
  return std::string(kFormatFolder) + "/" + file.shard_name + "/" + file.name;
}

// Why the file is not a sound entry of its name; empty if it is.
std::string problem_of(const CacheFile& file, const FileContent& content) {
  if (content.status != ReadStatus::kOk) return content.why;
  const EntryView view = parse_entry(content.bytes());
  if (view.status != EntryStatus::kOk) return view.why;
  if (const std::string_view why = problem_of_parts(view); !why.empty()) return std::string(why);
  if (view.digests.id() != id_of(file)) return "of another key than its name says";
  if (file.shard_name != shard_of(file.name)) return "in the wrong folder";
  return {};
}

}  // namespace

std::optional<Binary> DiskCache::find_any_compiler(const CacheKey& key) {
  const auto folder = base(false);
  if (folder == nullptr) return std::nullopt;
  const KeyDigests wanted = key.digests();
  const std::string source = hex(wanted.source);
  const Fd shard = open_folder(files_, folder->get(), shard_of(source));
  if (!shard) return std::nullopt;
  std::vector<std::string> names;
  files_.list(shard.get(), &names);
  std::ranges::sort(names);  // so that ties do not depend on the order of the listing
  std::optional<Binary> best;
  for (const std::string& name : names) {
    if (file_kind(name) != FileKind::kEntry || !name.starts_with(source)) continue;
    const FileContent content = read_file(files_, shard.get(), name, trust_, kEntryMaxBytes);
    if (content.status != ReadStatus::kOk) continue;
    const EntryView view = parse_entry(content.bytes());
    if (view.status != EntryStatus::kOk || !same_source(view.digests, wanted)) continue;
    if (best && !later_compiler(std::string(view.compiler), best->compiler)) continue;
    if (std::optional<Binary> binary = to_binary(view)) {
      best = std::move(binary);
      touch(content.fd.get(), content.info);
    }
  }
  return best;
}

std::vector<EntryInfo> DiskCache::list(std::vector<VerifyReport::Problem>* unreadable) {
  std::vector<EntryInfo> entries;
  std::vector<VerifyReport::Problem> problems;
  const auto folder = base(false);
  if (folder == nullptr) return entries;
  const std::int64_t now = files_.now_ns();
  for_each_file(files_, folder->get(), [&](const CacheFile& file) {
    if (file.kind != FileKind::kEntry) return;
    const FileContent content = read_file(files_, file.shard, file.name, trust_, kEntryMaxBytes);
    if (content.status == ReadStatus::kAbsent) return;  // evicted since it was listed
    const EntryView view =
        content.status == ReadStatus::kOk ? parse_entry(content.bytes()) : EntryView();
    if (content.status != ReadStatus::kOk || view.status != EntryStatus::kOk) {
      problems.push_back({place_of(file),
                          std::string(content.status == ReadStatus::kOk ? view.why : content.why)});
      return;
    }
    const std::int64_t age = (now - content.info.modified_ns) / 1'000'000'000;
    entries.push_back({id_of(file),
                       std::string(view.kernel_name),
                       std::string(view.arch),
                       std::string(view.compiler),
                       content.size,
                       view.cubin.length,
                       view.ptx.length,
                       std::max<std::int64_t>(age, 0),
                       {},
                       view.has_source()});
  });
  std::ranges::sort(entries, [](const EntryInfo& a, const EntryInfo& b) {
    return std::tie(a.kernel_name, a.id) < std::tie(b.kernel_name, b.id);
  });
  std::ranges::sort(problems, {}, &VerifyReport::Problem::file);
  if (unreadable != nullptr) *unreadable = std::move(problems);
  return entries;
}

VerifyReport DiskCache::verify() {
  VerifyReport report;
  const auto folder = base(false);
  if (folder == nullptr) return report;
  for_each_file(files_, folder->get(), [&](const CacheFile& file) {
    if (file.kind != FileKind::kEntry) return;
    const FileContent content = read_file(files_, file.shard, file.name, trust_, kEntryMaxBytes);
    if (content.status == ReadStatus::kAbsent) return;  // evicted since it was listed
    const std::string why = problem_of(file, content);
    if (why.empty()) {
      ++report.good;
    } else {
      report.problems.push_back({place_of(file), why});
    }
  });
  report.damaged = report.problems.size();
  std::ranges::sort(report.problems, {}, &VerifyReport::Problem::file);
  return report;
}

}  // namespace heddle
