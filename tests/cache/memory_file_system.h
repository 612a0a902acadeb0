// MemoryFileSystem: a file system in memory that can lose its power.
//
// It keeps two pictures of every file and folder: what the calls see, and what is on the disk for
// certain, that is, what was there at the last sync. lose_power() picks one of the states that a
// disk may be in after a power cut: of the bytes that were not synced any blocks, any length, and
// of the names that were not synced any, each drawn by a seed. So the order of calls that makes
// writing safe is put to the test, and nothing that happens to be true of one real file system.
//
// For one thread. Also holds what a test cannot make on a real disk: files of other users, devices.
#ifndef HEDDLE_TESTS_CACHE_MEMORY_FILE_SYSTEM_H_
#define HEDDLE_TESTS_CACHE_MEMORY_FILE_SYSTEM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cache/bytes.h"
#include "cache/file_system.h"

namespace heddle::testing {

class MemoryFileSystem : public FileSystem {
 public:
  struct Node {
    mode_t mode = 0;  // with the kind, as in FileInfo
    uid_t owner = 0;
    std::uint64_t links = 1;
    std::uint64_t id = 0;
    std::int64_t modified_ns = 0;
    bool locked = false;
    // A file has:
    Bytes bytes;
    Bytes synced_bytes;
    // A folder has these. A change with a null node removes the name.
    std::map<std::string, std::shared_ptr<Node>> names;
    std::map<std::string, std::shared_ptr<Node>> synced_names;
    std::vector<std::pair<std::string, std::shared_ptr<Node>>> changes;  // since the last sync
  };
  using NodePtr = std::shared_ptr<Node>;

  MemoryFileSystem();

  // The power goes off after so many more calls: from then on every call fails with EIO and does
  // nothing. Negative: never.
  int calls_left = -1;
  std::int64_t calls = 0;
  uid_t current_user = 1000;
  std::int64_t clock_ns = std::int64_t{1'000'000} * 1'000'000'000;
  bool sync_is_a_lie = false;  // sync() says that it is done and does nothing

  // Draws what is left on the disk and turns the power on again. Every descriptor is gone.
  void lose_power(std::uint64_t seed);

  void sync_everything();
  int open_files() const;
  // By absolute path; nullptr if there is none. For looking and for meddling.
  NodePtr at(const std::string& path);
  // Every path whose name ends so.
  std::vector<std::string> paths_ending(const std::string& suffix) const;

  int open(int folder, const std::string& path, int flags, mode_t mode) override;
  int close(int fd) override;
  // NewFile alone does it, which writes no file of the cache.
  int duplicate(int /*fd*/) override { return -ENOTSUP; }
  ssize_t read(int fd, void* data, std::size_t bytes, std::uint64_t offset) override;
  ssize_t write(int fd, const void* data, std::size_t bytes, std::uint64_t offset) override;
  int sync(int fd) override;
  int stat(int fd, FileInfo* info) override;
  int stat_at(int folder, const std::string& path, FileInfo* info) override;
  int rename(int folder, const std::string& from, const std::string& to) override;
  int unlink(int folder, const std::string& path) override;
  // The cache itself has no files without a name.
  int link(int /*fd*/, int /*folder*/, const std::string& /*path*/) override { return -ENOTSUP; }
  int make_folder(int folder, const std::string& path, mode_t mode) override;
  int list(int folder, std::vector<std::string>* names) override;
  int lock(int fd) override;
  int unlock(int fd) override;
  int touch(int fd) override;
  uid_t user() override { return current_user; }
  std::int64_t now_ns() override { return clock_ns += 1000; }
  void sleep_ms(int ms) override { clock_ns += std::int64_t{ms} * 1'000'000; }

 private:
  struct Open {
    NodePtr node;
    bool holds_lock = false;
  };
  struct Place {
    NodePtr folder;  // null if the path leads nowhere
    std::string name;
    int error = 0;
  };

  bool power_is_off();
  NodePtr new_node(mode_t mode);
  Place find(int folder, const std::string& path);
  static NodePtr child(const Place& place);
  static void set_name(const NodePtr& folder, const std::string& name, const NodePtr& node);
  NodePtr survivor(const NodePtr& node, std::mt19937_64* random,
                   std::map<const Node*, NodePtr>* known);

  NodePtr root_;
  std::map<int, Open> open_;
  std::uint64_t next_id_ = 1;
};

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_CACHE_MEMORY_FILE_SYSTEM_H_
