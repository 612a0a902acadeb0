// Cache: finds a compiled kernel in memory, then on disk, else makes it once.
#ifndef HEDDLE_CACHE_CACHE_H_
#define HEDDLE_CACHE_CACHE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cache/cache_roots.h"
#include "cache/disk_cache.h"
#include "cache/key.h"
#include "cache/memory_cache.h"
#include "cache/single_flight.h"
#include "heddle/inspect/binary.h"

namespace heddle {

struct CacheOptions {
  std::string dir;  // as in resolve_cache_roots()
  bool disk = true;
  // Searched in this order, after the roots of `dir`. A name that ends in ".hdl" is a bundle.
  std::vector<std::string> read_only_roots;
  std::int64_t max_bytes = std::int64_t{1} << 30;  // of the writable root; 0 or less: no cap
  int lock_wait_ms = 10'000;
  // Told at most once per root, from any thread, why the root is of no use.
  std::function<void(std::string)> warn;
  FileSystem* files = &posix_file_system();
  Environment environment = process_environment;  // asked only while constructing
};

// Thread-safe. Creating one touches no file.
class Cache {
 public:
  using Make = std::function<Binary()>;
  using Result = std::shared_ptr<const Binary>;

  // Throws what resolve_cache_roots() throws.
  explicit Cache(const CacheOptions& options);

  // `hit` (may be null) says whether this was served without a call of this call's `make`. For one
  // key, make() runs in one thread of this process at a time, and in one process at a time as long
  // as it takes less than lock_wait_ms. What make() throws reaches every thread that waited for
  // it; nothing is kept, so the next call tries again. Disk trouble never throws.
  //
  // `stored` (may be null) says of what this call's make() made whether the disk has it now, too;
  // true for a hit.
  Result get_or_make(const CacheKey& key, const Make& make, bool* hit = nullptr,
                     bool* stored = nullptr);

  // Nullptr on a miss.
  Result find(const CacheKey& key);

  // For when no compiler is there: key.compiler is ignored, the latest compiler of all roots wins.
  Result find_any_compiler(const CacheKey& key);

  // For a binary that the driver refused: makes and stores it anew, unless another thread has done
  // so already. Never returns `refused`.
  Result remake(const CacheKey& key, const Result& refused, const Make& make);

  // What verify() of all layers finds wrong.
  std::vector<VerifyReport::Problem> damaged();

  // One for each read-only layer that has some, in the order in which kernels are looked for.
  std::vector<LayerTables> tuned_tables();

  // Forgets what is in memory and deletes all entries of the writable root; returns how many.
  std::size_t clear();

  // The writable root, or nullptr.
  DiskCache* disk() { return disk_.get(); }

 private:
  Result find_on_disk(const CacheKey& key);
  Result load_or_make(const CacheKey& key, const Make& make, bool* hit, bool* stored);
  Result make_and_store(const CacheKey& key, const Make& make, bool* stored);
  Result keep(const CacheKey& key, Binary binary);

  MemoryCache memory_;
  SingleFlight flights_;
  std::unique_ptr<DiskCache> disk_;
  std::vector<std::unique_ptr<CacheLayer>> layers_;  // read-only
};

}  // namespace heddle

#endif  // HEDDLE_CACHE_CACHE_H_
