// BundleContent: an open bundle whose index was found right.
#ifndef HEDDLE_CACHE_BUNDLE_CONTENT_H_
#define HEDDLE_CACHE_BUNDLE_CONTENT_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cache/bundle_format.h"
#include "cache/entry.h"
#include "cache/file_system.h"

namespace heddle {

// Any thread may use it. Whatever cannot be read is empty, never an error; only the PTX of a binary
// throws, because there an empty text means that the bundle does not hold it.
class BundleContent : public std::enable_shared_from_this<BundleContent> {
 public:
  // Null, and `why`, for a file that cannot be used. `files` outlives the content, and so it does
  // the PTX of the binaries that come from it.
  static std::shared_ptr<const BundleContent> load(FileSystem& files, const std::string& path,
                                                   std::string* why);

  std::uint64_t file_bytes() const { return file_bytes_; }
  const std::vector<BundleItem>& items() const { return index_.items; }
  const std::vector<std::string>& tables() const { return tables_; }
  // The GPUs of an entry, by its number in the index.
  GpuNames gpus(std::size_t entry) const { return gpus_.empty() ? GpuNames() : gpus_[entry]; }

  // The bytes of one entry.
  Bytes entry(const BundleItem& item) const;
  // to_binary(), with the PTX of the bundle, which is read when it is first asked for; that throws
  // Error(kFile, "cache.unreadable_ptx") if the file cannot be read or the block is damaged.
  std::optional<Binary> binary(const BundleItem& item, const EntryView& view) const;

  // The block that the last text came from, which is kept for the next one.
  struct Reader {
    std::size_t block = static_cast<std::size_t>(-1);
    Bytes content;
    const char* why = nullptr;  // why there is no content: words that follow "its PTX "
  };
  // Empty, and `why` set, for a text that cannot be had; else `why` is null.
  std::string text(const BundleText& text, Reader* reader, const char** why) const;

 private:
  Bytes stored(std::uint64_t offset, std::uint64_t bytes) const;
  std::string ptx_of(const std::string& kernel, const BundleText& place) const;
  // Reads a block of tables or GPUs, if there is one; whether that went well.
  bool load_block(BlockKind kind, Bytes* content) const;
  std::string load_rest();

  FileSystem* files_ = nullptr;
  std::string path_;
  Fd fd_;
  std::uint64_t file_bytes_ = 0;
  BundleIndex index_;
  std::vector<std::string> tables_;
  std::vector<GpuNames> gpus_;
  mutable std::mutex ptx_mutex_;
  mutable Reader ptx_;  // guarded by ptx_mutex_; holds at most kBundleBlockBytes
};

}  // namespace heddle

#endif  // HEDDLE_CACHE_BUNDLE_CONTENT_H_
