#include "runtime/compile/loader_cache.h"

#include <cstdint>
#include <cstring>

namespace heddle {
namespace {

constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";

struct CacheHeader {
  char magic[20];
  std::uint32_t entries;
  std::uint32_t string_bytes;
  std::uint32_t unused[5];
};

struct CacheEntry {
  std::int32_t flags;
  std::uint32_t name;  // offsets from the start of the cache
  std::uint32_t path;
  std::uint32_t os_version;
  std::uint64_t hardware;
};

// The zero-terminated string at `offset`; "" if there is none inside of the cache.
std::string_view string_at(std::string_view cache, std::uint32_t offset) {
  if (offset >= cache.size()) return {};
  const std::size_t end = cache.find('\0', offset);
  return end == std::string_view::npos ? std::string_view{} : cache.substr(offset, end - offset);
}

}  // namespace

std::vector<std::string> paths_in_loader_cache(std::string_view cache, std::string_view prefix) {
  std::vector<std::string> paths;
  CacheHeader header;
  if (cache.size() < sizeof header || cache.substr(0, kMagic.size()) != kMagic) return paths;
  std::memcpy(&header, cache.data(), sizeof header);
  for (std::uint32_t i = 0; i < header.entries; ++i) {
    const std::size_t at = sizeof header + std::size_t{i} * sizeof(CacheEntry);
    if (at + sizeof(CacheEntry) > cache.size()) break;
    CacheEntry entry;
    std::memcpy(&entry, cache.data() + at, sizeof entry);
    const std::string_view name = string_at(cache, entry.name);
    const std::string_view path = string_at(cache, entry.path);
    if (name.substr(0, prefix.size()) == prefix && !path.empty()) paths.emplace_back(path);
  }
  return paths;
}

}  // namespace heddle
