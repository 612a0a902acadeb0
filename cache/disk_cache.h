// DiskCache: the entries below one root folder.
#ifndef HEDDLE_CACHE_DISK_CACHE_H_
#define HEDDLE_CACHE_DISK_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cache/cache_layer.h"
#include "cache/entry.h"
#include "cache/file_io.h"
#include "cache/file_lock.h"
#include "cache/file_system.h"
#include "cache/key.h"
#include "cache/root.h"
#include "heddle/inspect/binary.h"

namespace heddle {

struct DiskCacheOptions {
  std::string root;
  bool read_only = false;                          // a shared layer: nothing in it is ever changed
  std::int64_t max_bytes = std::int64_t{1} << 30;  // 0 or less: no cap
  int lock_wait_ms = 10'000;                       // how long lock() waits for another maker
  std::function<void(std::string)> warn;     // called at most once, from any thread; may be empty
  FileSystem* files = &posix_file_system();  // outlives the cache
};

// The right to make one entry. Keeps others from making the same until it dies; without a held
// lock its owner makes the entry all the same.
class KeyLock {
 public:
  KeyLock() = default;
  KeyLock(KeyLock&& other) noexcept = default;
  KeyLock& operator=(KeyLock&& other) noexcept;
  bool held() const { return lock_.status() == LockStatus::kHeld; }

 private:
  friend class DiskCache;
  std::shared_ptr<const Fd> shard_;  // declared first: released after the lock
  FileLock lock_;
};

// Whatever is wrong with the disk or an entry is a miss, never an error; the first reason why the
// root is of no use goes to `warn`. Thread-safe, and safe beside any number of other processes.
class DiskCache final : public CacheLayer {
 public:
  explicit DiskCache(DiskCacheOptions options);

  // A hit costs six calls: the shard's open and close, the file's with fstat and one read. A
  // damaged entry is deleted.
  std::optional<Binary> find(const CacheKey& key) override;
  std::optional<Binary> find_any_compiler(const CacheKey& key) override;

  // Publishes the entry atomically, replacing what is there. False if it could not be stored, also
  // if encode_entry() refuses it.
  bool store(const CacheKey& key, const Binary& binary);
  // As above, for encode_entry()'s bytes.
  bool store(const KeyDigests& key, const Bytes& bytes);

  // Whether there is a sound entry of this key that holds source and PTX: one without them must not
  // replace it, because it would be a hit, so that nobody would compile them again.
  bool has_texts(const KeyDigests& key);

  // Waits at most lock_wait_ms for the makers of this key in other threads and processes; between
  // the tries asks `give_up` (may be empty). One thread may hold one lock at a time.
  KeyLock lock(const CacheKey& key, const std::function<bool()>& give_up = {});

  std::vector<EntryInfo> list() override { return list(nullptr); }
  // As above; adds files that are no readable entry to `unreadable`, if not null, by their names.
  std::vector<EntryInfo> list(std::vector<VerifyReport::Problem>* unreadable);
  VerifyReport verify() override;
  // Deletes every entry; returns how many.
  std::size_t clear();
  // Removes strays, evicts down to the cap. Returns the bytes in use.
  std::uint64_t tidy();

  const std::string& root() const { return root_.path(); }
  bool read_only() const { return options_.read_only; }

 private:
  std::shared_ptr<const Fd> base(bool create);
  std::shared_ptr<const Fd> shard(const std::string& id, int* error);
  std::optional<Binary> find_in(int base, const KeyDigests& key, bool* stale);
  int store_in(const std::string& id, const Bytes& bytes);
  ReadBuffer take_spare();
  void return_spare(ReadBuffer buffer);
  void touch(int fd, const FileInfo& info);
  void heal(int shard, const std::string& name, const FileInfo& read);
  void warn(const std::string& why);
  std::uint64_t cap() const;

  const DiskCacheOptions options_;
  FileSystem& files_;
  const Trust trust_;  // the user is asked for once: a hit is to cost no call more than needed
  CacheRoot root_;
  std::atomic<bool> warned_{false};
  std::mutex spare_mutex_;
  ReadBuffer spare_;  // guarded by spare_mutex_
};

}  // namespace heddle

#endif  // HEDDLE_CACHE_DISK_CACHE_H_
