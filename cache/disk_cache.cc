#include "cache/disk_cache.h"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>
#include <utility>

#include "cache/file_io.h"
#include "cache/file_names.h"
#include "cache/tidy.h"
#include "cache/usage.h"

namespace heddle {
namespace {

constexpr std::size_t kMaxSpareBytes = std::size_t{1} << 20;
constexpr std::int64_t kTouchAfterNs = std::int64_t{60} * 1'000'000'000;

// Errors of a folder that was deleted, or that a file server has forgotten.
bool is_stale(int error) { return error == ENOENT || error == ESTALE; }

}  // namespace

KeyLock& KeyLock::operator=(KeyLock&& other) noexcept {
  lock_ = std::move(other.lock_);  // lets go of the old lock while its folder is open
  shard_ = std::move(other.shard_);
  return *this;
}

DiskCache::DiskCache(DiskCacheOptions options)
    : options_(std::move(options)),
      files_(*options_.files),
      trust_{files_.user(), options_.read_only},
      root_(files_, options_.root, options_.read_only) {}

std::optional<Binary> DiskCache::find(const CacheKey& key) {
  const KeyDigests digests = key.digests();
  for (int tries = 0; tries < 2; ++tries) {
    const auto folder = base(false);
    if (folder == nullptr) return std::nullopt;
    bool stale = false;
    auto found = find_in(folder->get(), digests, &stale);
    if (!stale) return found;
    root_.forget();
  }
  return std::nullopt;
}

std::optional<Binary> DiskCache::find_in(int base, const KeyDigests& key, bool* stale) {
  const std::string id = key.id();
  const std::string name = id + kEntrySuffix;
  // On its own, because O_NOFOLLOW looks at the last name of a path only.
  const Fd shard = open_folder(files_, base, shard_of(id));
  *stale = shard.error() == ESTALE;
  if (!shard) return std::nullopt;
  FileContent content = read_file(files_, shard.get(), name, trust_, kEntryMaxBytes, take_spare());
  *stale = content.status == ReadStatus::kFailed && content.error == ESTALE;
  if (content.status != ReadStatus::kOk) return std::nullopt;
  const EntryView view = parse_entry(content.bytes(), key);
  std::optional<Binary> binary;
  if (view.status == EntryStatus::kOk) binary = to_binary(view);
  const bool damaged = view.status == EntryStatus::kOk && !binary;
  if (damaged || view.status == EntryStatus::kDamaged) heal(shard.get(), name, content.info);
  if (!binary) return std::nullopt;
  touch(content.fd.get(), content.info);
  return_spare(std::move(content.buffer));
  return binary;
}

// One buffer is kept from hit to hit: to fault in the pages of a new one takes several times as
// long as all the rest of a hit. Threads that come while it is out use their own.
ReadBuffer DiskCache::take_spare() {
  const std::lock_guard guard(spare_mutex_);
  return std::exchange(spare_, {});
}

void DiskCache::return_spare(ReadBuffer buffer) {
  const std::lock_guard guard(spare_mutex_);
  if (buffer.capacity <= kMaxSpareBytes && buffer.capacity > spare_.capacity) {
    spare_ = std::move(buffer);
  }
}

void DiskCache::touch(int fd, const FileInfo& info) {
  if (options_.read_only) return;
  const std::int64_t age = files_.now_ns() - info.modified_ns;
  if (age > kTouchAfterNs || age < 0) files_.touch(fd);
}

// Deletes a damaged entry, unless somebody has just replaced it by another.
void DiskCache::heal(int shard, const std::string& name, const FileInfo& read) {
  FileInfo now;
  if (options_.read_only || files_.stat_at(shard, name, &now) < 0) return;
  if (now.device == read.device && now.inode == read.inode) files_.unlink(shard, name);
}

bool DiskCache::store(const CacheKey& key, const Binary& binary) {
  if (options_.read_only) return false;
  const SerialKey serial = serialize(key);
  Bytes bytes;
  try {
    bytes = encode_entry(serial, binary);
  } catch (const std::length_error& error) {
    warn(fmt::format("cannot store {}: {}", binary.kernel_name, error.what()));
    return false;
  }
  return store(serial.digests, bytes);
}

bool DiskCache::has_texts(const KeyDigests& key) {
  const auto folder = base(false);
  if (folder == nullptr) return false;
  const std::string id = key.id();
  const Fd shard = open_folder(files_, folder->get(), shard_of(id));
  if (!shard) return false;
  const FileContent content =
      read_file(files_, shard.get(), id + kEntrySuffix, trust_, kEntryMaxBytes);
  if (content.status != ReadStatus::kOk) return false;
  const EntryView view = parse_entry(content.bytes(), key);
  return view.status == EntryStatus::kOk && view.has_source() && view.ptx.length > 0 &&
         problem_of_parts(view).empty();
}

bool DiskCache::store(const KeyDigests& key, const Bytes& bytes) {
  if (options_.read_only || bytes.size() > cap() || bytes.size() > kEntryMaxBytes) return false;
  int error = store_in(key.id(), bytes);
  if (is_stale(-error)) {
    root_.forget();
    error = store_in(key.id(), bytes);
  }
  if (error < 0) warn("cannot store an entry: " + error_text(-error));
  return error == 0;
}

int DiskCache::store_in(const std::string& id, const Bytes& bytes) {
  int error = 0;
  const auto folder = shard(id, &error);
  if (folder == nullptr) return error;
  if (const auto root = base(true)) reserve_bytes(files_, root->get(), bytes.size(), cap());
  return publish_file(files_, folder->get(), id, id + kEntrySuffix, bytes);
}

KeyLock DiskCache::lock(const CacheKey& key, const std::function<bool()>& give_up) {
  KeyLock lock;
  if (options_.read_only) return lock;
  const std::string id = key.id();
  for (int tries = 0; tries < 2; ++tries) {
    int error = 0;
    lock.shard_ = shard(id, &error);
    if (lock.shard_ != nullptr) {
      lock.lock_ = FileLock::wait(files_, lock.shard_->get(), id + kLockSuffix,
                                  FileLock::AtRelease::kDelete, options_.lock_wait_ms, give_up);
      if (lock.lock_.status() != LockStatus::kUnavailable) return lock;
      error = -lock.lock_.error();
    }
    if (!is_stale(-error)) return lock;
    root_.forget();
  }
  return lock;
}

std::size_t DiskCache::clear() {
  const auto folder = options_.read_only ? nullptr : base(false);
  if (folder == nullptr) return 0;
  const std::size_t deleted = clear_folder(files_, folder->get());
  recount_bytes(files_, folder->get(), cap());
  return deleted;
}

std::uint64_t DiskCache::tidy() {
  const auto folder = options_.read_only ? nullptr : base(false);
  return folder == nullptr ? 0 : recount_bytes(files_, folder->get(), cap());
}

std::shared_ptr<const Fd> DiskCache::base(bool create) {
  const RootFolder folder = root_.folder(create);
  const bool missing = folder.status == RootStatus::kAbsent && (create || options_.read_only);
  if (folder.status == RootStatus::kRefused || missing) warn(folder.why);
  return folder.base;
}

// The folder of an entry, made if it is missing.
std::shared_ptr<const Fd> DiskCache::shard(const std::string& id, int* error) {
  const auto folder = base(true);
  if (folder == nullptr) {
    *error = -EACCES;
    return nullptr;
  }
  const std::string name = shard_of(id);
  Fd fd = open_folder(files_, folder->get(), name);
  if (fd.error() == ENOENT) {
    files_.make_folder(folder->get(), name, 0700);
    fd = open_folder(files_, folder->get(), name);
  }
  *error = -fd.error();
  if (!fd) return nullptr;
  return std::make_shared<const Fd>(std::move(fd));
}

void DiskCache::warn(const std::string& why) {
  if (warned_.exchange(true) || !options_.warn) return;
  options_.warn(fmt::format("cache folder {}: {}", options_.root, why));
}

std::uint64_t DiskCache::cap() const {
  if (options_.max_bytes <= 0) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(options_.max_bytes);
}

}  // namespace heddle
