#include "cache/usage.h"

#include <fcntl.h>

#include <algorithm>

#include "cache/bytes.h"
#include "cache/digest.h"
#include "cache/file_io.h"
#include "cache/file_lock.h"
#include "cache/file_names.h"
#include "cache/tidy.h"

namespace heddle {
namespace {

constexpr int kWaitMs = 2000;
constexpr std::size_t kNumberBytes = 16;
constexpr std::size_t kRecordBytes = kNumberBytes + sizeof(Digest);

struct Record {
  std::uint64_t total = 0;
  std::uint64_t stores = 0;
};

bool read_record(FileSystem& files, int fd, Record* record) {
  Bytes bytes(kRecordBytes);
  if (read_all(files, fd, bytes.data(), bytes.size()) < 0) return false;
  if (!std::ranges::equal(ByteView(bytes).last(sizeof(Digest)),
                          digest(bytes.data(), kNumberBytes))) {
    return false;
  }
  ByteReader reader(bytes);
  record->total = reader.u64();
  record->stores = reader.u64();
  return true;
}

// A torn or failed write fails the check of the next read, which then counts anew.
void write_record(FileSystem& files, int fd, const Record& record) {
  Bytes bytes;
  ByteWriter writer(&bytes);
  writer.u64(record.total);
  writer.u64(record.stores);
  writer.bytes(digest(bytes.data(), bytes.size()));
  write_all(files, fd, bytes);
}

// A count that is not to be trusted is repeated by the next store.
Record after(const TidyResult& tidied) { return {tidied.bytes, tidied.complete ? 0 : kTidyEvery}; }

// The file of the count, locked where the file system has locks. Without them what several
// processes write at once is lost but for one, and the count too low until the next one.
class UsageFile {
 public:
  UsageFile(FileSystem& files, int base)
      : lock_(FileLock::wait(files, base, kUsageFile, FileLock::AtRelease::kKeep, kWaitMs, {})) {
    if (lock_.status() == LockStatus::kUnavailable) {
      unlocked_ = open_file(files, base, kUsageFile, O_RDWR | O_CREAT, 0600);
    }
  }
  // Negative while somebody else holds it, and where there can be no such file.
  int fd() const { return lock_.status() == LockStatus::kHeld ? lock_.fd() : unlocked_.get(); }

 private:
  FileLock lock_;
  Fd unlocked_;
};

}  // namespace

void reserve_bytes(FileSystem& files, int base, std::uint64_t bytes, std::uint64_t cap) {
  const UsageFile usage(files, base);
  // Busy for so long: the holder is tidying, and one entry more does no harm.
  if (usage.fd() < 0) return;
  Record record;
  const bool known = read_record(files, usage.fd(), &record);
  if (!known || record.total > cap - bytes || ++record.stores >= kTidyEvery) {
    record = after(tidy_folder(files, base, cap - bytes));
  }
  record.total += bytes;
  write_record(files, usage.fd(), record);
}

std::uint64_t recount_bytes(FileSystem& files, int base, std::uint64_t cap) {
  const UsageFile usage(files, base);
  const TidyResult tidied = tidy_folder(files, base, cap);
  if (usage.fd() >= 0) write_record(files, usage.fd(), after(tidied));
  return tidied.bytes;
}

}  // namespace heddle
