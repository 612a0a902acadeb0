// The layers of the cache: whether they can be used, who may, and what is in them.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cache/bundle.h"
#include "cache/cache_roots.h"
#include "cache/disk_cache.h"
#include "cache/usable_roots.h"
#include "tools/heddle/doctor/diagnosis.h"
#include "tools/heddle/shared/printable.h"

namespace heddle {
namespace {

constexpr const char* kWritableAdvice =
    "make it a folder of your own that nobody else may write to (chmod 0700), or name another in "
    "HEDDLE_CACHE";
constexpr const char* kLayerAdvice =
    "correct the name in HEDDLE_CACHE, or make the layer yours or root's, and writable by nobody "
    "else";

struct LayerContent {
  std::vector<EntryInfo> entries;
  std::size_t unreadable = 0;
  std::uint64_t bytes = 0;
};

LayerContent content_of(const std::string& path, bool read_only) {
  LayerContent content;
  if (is_bundle_name(path)) {
    Bundle bundle(path);
    content.entries = bundle.list();
    content.bytes = bundle.bytes();
    return content;
  }
  DiskCacheOptions options;
  options.root = path;
  options.read_only = read_only;
  DiskCache cache(std::move(options));
  std::vector<VerifyReport::Problem> unreadable;
  content.entries = cache.list(&unreadable);
  content.unreadable = unreadable.size();
  for (const EntryInfo& entry : content.entries) content.bytes += entry.file_bytes;
  return content;
}

// Mode and owner of what is at the path; nulls where nothing is.
nlohmann::ordered_json access_json(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {{"mode", nullptr}, {"owner", nullptr}};
  return {{"mode", fmt::format("{:04o}", info.st_mode & 07777U)}, {"owner", info.st_uid}};
}

void check_layer(const std::string& path, bool read_only) {
  CacheRoots one;
  if (read_only) {
    one.read_only.push_back(path);
  } else {
    one.writable = path;
  }
  expect_usable_roots(one, !read_only);
}

void probe_layer(const std::string& path, bool read_only, Diagnosis* diagnosis) {
  const char* const layer = read_only ? "ro" : "rw";
  const nlohmann::ordered_json access = access_json(path);
  nlohmann::ordered_json json = {{"path", path}, {"layer", layer}};
  json.update(access);
  for (const char* count : {"entries", "unreadable", "bytes"}) json[count] = 0;
  std::string text = fmt::format("{} ({}", path, layer);
  if (access["mode"].is_null() && !read_only) {
    const std::string why = why_not_makable(path);
    if (!why.empty()) {
      diagnosis->problems.push_back(
          {"cache", fmt::format("{} cannot be made: {}", path, why), kWritableAdvice});
    }
    text += ", not there yet)";
  } else {
    const std::size_t before = diagnosis->problems.size();
    examine("cache", read_only ? kLayerAdvice : kWritableAdvice, diagnosis,
            [&] { check_layer(path, read_only); });
    if (!access["mode"].is_null()) {
      text += fmt::format(", mode {}, owner {}", access["mode"].get<std::string>(),
                          access["owner"].get<std::uint64_t>());
    }
    text += ")";
    if (diagnosis->problems.size() == before) {
      const LayerContent content = content_of(path, read_only);
      json["entries"] = content.entries.size();
      json["unreadable"] = content.unreadable;
      json["bytes"] = content.bytes;
      text += fmt::format(": {}, {} bytes", count_text(content.entries.size(), "kernel"),
                          content.bytes);
      if (content.unreadable != 0) {
        diagnosis->notes.push_back({"cache",
                                    fmt::format("{}: {} cannot be read; heddle cache list names "
                                                "what, and heddle compiles it again",
                                                path, count_text(content.unreadable, "entry file")),
                                    ""});
      }
    }
  }
  diagnosis->found["cache"].push_back(std::move(json));
  diagnosis->lines.emplace_back("cache", std::move(text));
}

}  // namespace

void probe_cache(Diagnosis* diagnosis) {
  diagnosis->found["cache"] = nlohmann::ordered_json::array();
  examine("cache", "correct HEDDLE_CACHE", diagnosis, [&] {
    const CacheRoots roots = resolve_cache_roots("");
    const std::size_t before = diagnosis->problems.size();
    if (roots.writable.empty() && roots.read_only.empty()) {
      diagnosis->problems.push_back(
          {"cache", "there is no cache folder, so every process compiles its kernels again",
           "set HEDDLE_CACHE, XDG_CACHE_HOME or HOME"});
    }
    if (!roots.writable.empty()) probe_layer(roots.writable, false, diagnosis);
    for (const std::string& path : roots.read_only) probe_layer(path, true, diagnosis);
    if (diagnosis->problems.size() == before) diagnosis->roots = roots;
  });
}

}  // namespace heddle
