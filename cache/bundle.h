// Bundle: a file with the kernels of a model for several architectures, as a read-only root.
#ifndef HEDDLE_CACHE_BUNDLE_H_
#define HEDDLE_CACHE_BUNDLE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cache/cache_layer.h"
#include "cache/encode_bundle.h"
#include "cache/file_io.h"
#include "cache/file_system.h"

namespace heddle {

class BundleContent;

// A read-only root of this name is taken to be a bundle: it ends in ".hdl".
bool is_bundle_name(std::string_view path);

// Writes encode_bundle()'s bytes as a NewFile (new_file.h). Everybody may read it, as far as the
// umask allows. 0 or -errno, for new_file_error_text().
int publish_bundle(const std::string& path, ByteView bytes,
                   FileSystem& files = posix_file_system());

// The rules for the files of a read-only folder hold here, too: owned by this user or by root, not
// writable by group or others, no link. The file is opened on the first use and stays open, so
// replacing it by rename disturbs nobody. A bundle that cannot be used is a miss and told to `warn`
// once. Thread-safe.
class Bundle final : public CacheLayer {
 public:
  explicit Bundle(std::string path, FileSystem& files = posix_file_system(),
                  std::function<void(std::string)> warn = {});
  ~Bundle() override;

  std::optional<Binary> find(const CacheKey& key) override;
  std::optional<Binary> find_any_compiler(const CacheKey& key) override;
  std::vector<EntryInfo> list() override { return list(nullptr); }
  // As above; adds entries that cannot be read to `unreadable`, if not null, by their ids.
  std::vector<EntryInfo> list(std::vector<VerifyReport::Problem>* unreadable);
  VerifyReport verify() override;
  LayerTables tuned_tables() override;

  // Why the file cannot be used; empty if it can.
  std::string problem();
  // The length of the file; 0 if it cannot be used.
  std::uint64_t bytes();
  // Calls visit(entry) for each entry that can be read and is sound in all of its parts, in the
  // order of the index, and returns what verify() does.
  VerifyReport for_each(const std::function<void(BundleEntry entry)>& visit);

 private:
  std::shared_ptr<const BundleContent> content(std::string* why);

  const std::string path_;
  FileSystem& files_;
  const std::function<void(std::string)> warn_;
  std::mutex mutex_;
  std::shared_ptr<const BundleContent> content_;  // guarded by mutex_, as is the next
  bool warned_ = false;
};

}  // namespace heddle

#endif  // HEDDLE_CACHE_BUNDLE_H_
