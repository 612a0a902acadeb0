// MemoryCache: the binaries that this process has already found or made.
#ifndef HEDDLE_CACHE_MEMORY_CACHE_H_
#define HEDDLE_CACHE_MEMORY_CACHE_H_

#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "cache/key.h"
#include "heddle/inspect/binary.h"

namespace heddle {

// Hashes what is short and differs between kernels; equality compares the whole key, so a hash
// that collides costs a comparison and never gives the wrong kernel.
struct CacheKeyHash {
  std::size_t operator()(const CacheKey& key) const {
    const std::hash<std::string> hash;
    std::size_t result = hash(key.kernel_name);
    for (const std::string* field : {&key.file_name, &key.arch, &key.options, &key.compiler}) {
      result = result * 1'000'003 ^ hash(*field);
    }
    return result ^ key.source_text.size();
  }
};

// Thread-safe. No cap: a process holds what its models need.
class MemoryCache {
 public:
  std::shared_ptr<const Binary> find(const CacheKey& key) const {
    const std::shared_lock guard(mutex_);
    const auto found = binaries_.find(key);
    return found == binaries_.end() ? nullptr : found->second;
  }

  void put(const CacheKey& key, std::shared_ptr<const Binary> binary) {
    const std::lock_guard guard(mutex_);
    binaries_.insert_or_assign(key, std::move(binary));
  }

  void clear() {
    const std::lock_guard guard(mutex_);
    binaries_.clear();
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<CacheKey, std::shared_ptr<const Binary>, CacheKeyHash> binaries_;
};

}  // namespace heddle

#endif  // HEDDLE_CACHE_MEMORY_CACHE_H_
