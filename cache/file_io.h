// Whole files: read one that may be hostile, publish one so that nobody sees half of it.
#ifndef HEDDLE_CACHE_FILE_IO_H_
#define HEDDLE_CACHE_FILE_IO_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cache/bytes.h"
#include "cache/file_system.h"

namespace heddle {

enum class ReadStatus {
  kOk,
  kAbsent,
  kRefused,  // not a regular file, or somebody else's, or others may write to it
  kFailed,   // a call failed
};

// Memory to read into; grows, never shrinks.
struct ReadBuffer {
  std::unique_ptr<std::uint8_t[]> data;
  std::size_t capacity = 0;
};

struct FileContent {
  ReadStatus status = ReadStatus::kFailed;
  std::string why;  // for kRefused and kFailed
  int error = 0;    // errno, for kFailed
  FileInfo info;
  Fd fd;  // still open, for kOk
  ReadBuffer buffer;
  std::size_t size = 0;

  ByteView bytes() const { return {buffer.data.get(), size}; }
};

// Whose files are read.
struct Trust {
  uid_t user = 0;
  bool shared = false;  // a read-only layer: files may also be of root, and have hard links
};

// The same file whatever folder the process changes to later; as it is where the working folder
// cannot be told.
std::string absolute_path(std::string_view path);

// Opens and stats without reading: fd and info are set for kOk.
FileContent open_trusted(FileSystem& files, int folder, const std::string& path,
                         const Trust& trust);

// Opens, stats and reads `path` at once, without following a link. A file above max_bytes counts as
// failed. Reads into `spare` if it is large enough.
FileContent read_file(FileSystem& files, int folder, const std::string& path, const Trust& trust,
                      std::uint64_t max_bytes, ReadBuffer spare = {});

// "<stem>.<16 hex digits>.tmp"; O_EXCL makes sure that it is ours, this only makes a clash
// unlikely.
std::string temporary_name(FileSystem& files, const std::string& stem);

// All or nothing: 0, or -errno. Interruptions and short transfers are continued.
int read_all(FileSystem& files, int fd, void* data, std::size_t bytes, std::uint64_t offset = 0);
int write_all(FileSystem& files, int fd, ByteView bytes);

// Writes a new file beside `name` in `folder`, syncs it and renames it to `name`. 0 or -errno; on
// failure `name` is as it was, and no temporary is left unless deleting it fails too.
int publish_file(FileSystem& files, int folder, const std::string& stem, const std::string& name,
                 ByteView bytes, mode_t mode = 0600);

}  // namespace heddle

#endif  // HEDDLE_CACHE_FILE_IO_H_
