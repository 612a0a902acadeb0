#include "cache/cache.h"

#include <optional>
#include <utility>

#include "cache/bundle.h"

namespace heddle {
namespace {

std::unique_ptr<CacheLayer> open_layer(const std::string& name, DiskCacheOptions options) {
  if (is_bundle_name(name)) {
    return std::make_unique<Bundle>(name, *options.files, std::move(options.warn));
  }
  options.root = name;
  options.read_only = true;
  return std::make_unique<DiskCache>(std::move(options));
}

}  // namespace

Cache::Cache(const CacheOptions& options) {
  if (!options.disk) return;
  DiskCacheOptions disk;
  disk.max_bytes = options.max_bytes;
  disk.lock_wait_ms = options.lock_wait_ms;
  disk.warn = options.warn;
  disk.files = options.files;
  const CacheRoots roots = resolve_cache_roots(options.dir, options.environment);
  disk.root = roots.writable;
  if (!disk.root.empty()) disk_ = std::make_unique<DiskCache>(disk);
  for (const std::string& name : roots.read_only) layers_.push_back(open_layer(name, disk));
  for (const std::string& name : options.read_only_roots) {
    layers_.push_back(open_layer(name, disk));
  }
}

Cache::Result Cache::get_or_make(const CacheKey& key, const Make& make, bool* hit, bool* stored) {
  bool unused_hit = false;
  bool unused_stored = false;
  if (hit == nullptr) hit = &unused_hit;
  if (stored == nullptr) stored = &unused_stored;
  *hit = *stored = true;
  if (Result known = memory_.find(key)) return known;
  bool led = false;
  return flights_.run(
      key, [&] { return load_or_make(key, make, hit, stored); }, &led);
}

Cache::Result Cache::load_or_make(const CacheKey& key, const Make& make, bool* hit, bool* stored) {
  // The last flight for this key may have landed since the caller looked.
  if (Result known = find(key)) return known;
  KeyLock lock;
  if (disk_ != nullptr) {
    Result found;
    const auto made_by_other = [&] { return (found = find_on_disk(key)) != nullptr; };
    lock = disk_->lock(key, made_by_other);
    // Once more under the lock: its last holder may have stored the entry just before.
    if (found != nullptr || made_by_other()) return found;
  }
  *hit = false;
  return make_and_store(key, make, stored);
}

Cache::Result Cache::make_and_store(const CacheKey& key, const Make& make, bool* stored) {
  Result made = keep(key, make());
  *stored = disk_ != nullptr && disk_->store(key, *made);
  return made;
}

Cache::Result Cache::keep(const CacheKey& key, Binary binary) {
  auto kept = std::make_shared<const Binary>(std::move(binary));
  memory_.put(key, kept);
  return kept;
}

Cache::Result Cache::find(const CacheKey& key) {
  if (Result known = memory_.find(key)) return known;
  return find_on_disk(key);
}

Cache::Result Cache::find_on_disk(const CacheKey& key) {
  if (disk_ != nullptr) {
    if (auto binary = disk_->find(key)) return keep(key, *std::move(binary));
  }
  for (const auto& layer : layers_) {
    if (auto binary = layer->find(key)) return keep(key, *std::move(binary));
  }
  return nullptr;
}

Cache::Result Cache::find_any_compiler(const CacheKey& key) {
  CacheKey any = key;
  any.compiler.clear();
  if (Result known = memory_.find(any)) return known;
  std::optional<Binary> best;
  const auto consider = [&](CacheLayer& layer) {
    auto binary = layer.find_any_compiler(any);
    if (binary && (!best || later_compiler(binary->compiler, best->compiler))) {
      best = std::move(binary);
    }
  };
  if (disk_ != nullptr) consider(*disk_);
  for (const auto& layer : layers_) consider(*layer);
  return best ? keep(any, *std::move(best)) : nullptr;
}

Cache::Result Cache::remake(const CacheKey& key, const Result& refused, const Make& make) {
  bool stored = false;
  const auto work = [&] {
    const Result known = memory_.find(key);
    return known != nullptr && known != refused ? known : make_and_store(key, make, &stored);
  };
  // Again where this thread only joined a flight that found the refused one.
  bool led = false;
  Result result = flights_.run(key, work, &led);
  while (result == refused) result = flights_.run(key, work, &led);
  return result;
}

std::vector<VerifyReport::Problem> Cache::damaged() {
  std::vector<VerifyReport::Problem> all;
  const auto add = [&](CacheLayer& layer) {
    for (auto& problem : layer.verify().problems) all.push_back(std::move(problem));
  };
  if (disk_ != nullptr) add(*disk_);
  for (const auto& layer : layers_) add(*layer);
  return all;
}

std::vector<LayerTables> Cache::tuned_tables() {
  std::vector<LayerTables> all;
  for (const auto& layer : layers_) {
    LayerTables tables = layer->tuned_tables();
    if (!tables.texts.empty()) all.push_back(std::move(tables));
  }
  return all;
}

std::size_t Cache::clear() {
  memory_.clear();
  return disk_ == nullptr ? 0 : disk_->clear();
}

}  // namespace heddle
