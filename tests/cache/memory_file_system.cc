#include "memory_file_system.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace heddle::testing {
namespace {

constexpr int kFirstFd = 1000;  // real descriptors are not among them

bool is_folder(const MemoryFileSystem::Node& node) { return S_ISDIR(node.mode); }

void fill(const MemoryFileSystem::Node& node, FileInfo* info) {
  info->mode = node.mode;
  info->owner = node.owner;
  info->links = node.links;
  info->size = node.bytes.size();
  info->device = 1;
  info->inode = node.id;
  info->modified_ns = node.modified_ns;
}

}  // namespace

MemoryFileSystem::MemoryFileSystem() : root_(new_node(S_IFDIR | 0755)) {}

MemoryFileSystem::NodePtr MemoryFileSystem::new_node(mode_t mode) {
  auto node = std::make_shared<Node>();
  node->mode = mode;
  node->owner = current_user;
  node->id = next_id_++;
  node->modified_ns = clock_ns;
  return node;
}

bool MemoryFileSystem::power_is_off() {
  ++calls;
  if (calls_left == 0) return true;
  if (calls_left > 0) --calls_left;
  return false;
}

// O_NOFOLLOW of the last name is the caller's affair; no other may be a link here.
MemoryFileSystem::Place MemoryFileSystem::find(int folder, const std::string& path) {
  Place place;
  NodePtr at = root_;
  if (path.empty() || path.front() != '/') {
    const auto found = open_.find(folder);
    if (found == open_.end()) return {nullptr, {}, EBADF};
    at = found->second.node;
  }
  std::size_t begin = path.find_first_not_of('/');
  if (begin == std::string::npos || path == ".") return {at, ".", 0};
  for (;;) {
    if (!is_folder(*at)) return {nullptr, {}, ENOTDIR};
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    begin = path.find_first_not_of('/', end);
    if (begin == std::string::npos) return {at, name, 0};
    const auto next = at->names.find(name);
    if (next == at->names.end()) return {nullptr, {}, ENOENT};
    at = next->second;
  }
}

MemoryFileSystem::NodePtr MemoryFileSystem::child(const Place& place) {
  if (place.folder == nullptr) return nullptr;
  if (place.name == ".") return place.folder;
  const auto found = place.folder->names.find(place.name);
  return found == place.folder->names.end() ? nullptr : found->second;
}

void MemoryFileSystem::set_name(const NodePtr& folder, const std::string& name,
                                const NodePtr& node) {
  if (node == nullptr) {
    folder->names.erase(name);
  } else {
    folder->names[name] = node;
  }
  folder->changes.emplace_back(name, node);
}

int MemoryFileSystem::open(int folder, const std::string& path, int flags, mode_t mode) {
  if (power_is_off()) return -EIO;
  const Place place = find(folder, path);
  if (place.folder == nullptr) return -place.error;
  NodePtr node = child(place);
  if (node != nullptr && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return -EEXIST;
  if (node == nullptr) {
    if ((flags & O_CREAT) == 0) return -ENOENT;
    node = new_node(S_IFREG | mode);
    set_name(place.folder, place.name, node);
  }
  if (S_ISLNK(node->mode)) return (flags & O_DIRECTORY) != 0 ? -ENOTDIR : -ELOOP;
  if ((flags & O_DIRECTORY) != 0 && !is_folder(*node)) return -ENOTDIR;
  if (is_folder(*node) && (flags & O_ACCMODE) != O_RDONLY) return -EISDIR;
  if (S_ISSOCK(node->mode)) return -ENXIO;
  int fd = kFirstFd;
  while (open_.count(fd) != 0) ++fd;
  open_[fd] = {node, false};
  return fd;
}

int MemoryFileSystem::close(int fd) {
  const auto found = open_.find(fd);
  if (found == open_.end()) return -EBADF;
  if (found->second.holds_lock) found->second.node->locked = false;
  open_.erase(found);
  return power_is_off() ? -EIO : 0;
}

ssize_t MemoryFileSystem::read(int fd, void* data, std::size_t bytes, std::uint64_t offset) {
  if (power_is_off()) return -EIO;
  if (open_.count(fd) == 0) return -EBADF;
  const Node& node = *open_[fd].node;
  if (!S_ISREG(node.mode)) return S_ISDIR(node.mode) ? -EISDIR : -ESPIPE;
  const std::size_t begin = std::min<std::size_t>(offset, node.bytes.size());
  const std::size_t count = std::min(bytes, node.bytes.size() - begin);
  std::copy_n(node.bytes.begin() + static_cast<std::ptrdiff_t>(begin), count,
              static_cast<std::uint8_t*>(data));
  return static_cast<ssize_t>(count);
}

ssize_t MemoryFileSystem::write(int fd, const void* data, std::size_t bytes, std::uint64_t offset) {
  if (power_is_off()) return -EIO;
  if (open_.count(fd) == 0) return -EBADF;
  Node& node = *open_[fd].node;
  if (!S_ISREG(node.mode)) return -ESPIPE;
  if (node.bytes.size() < offset + bytes) node.bytes.resize(offset + bytes);
  std::copy_n(static_cast<const std::uint8_t*>(data), bytes,
              node.bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  node.modified_ns = now_ns();
  return static_cast<ssize_t>(bytes);
}

int MemoryFileSystem::sync(int fd) {
  if (power_is_off()) return -EIO;
  if (open_.count(fd) == 0) return -EBADF;
  if (sync_is_a_lie) return 0;
  Node& node = *open_[fd].node;
  node.synced_bytes = node.bytes;
  node.synced_names = node.names;
  node.changes.clear();
  return 0;
}

int MemoryFileSystem::stat(int fd, FileInfo* info) {
  if (power_is_off()) return -EIO;
  if (open_.count(fd) == 0) return -EBADF;
  fill(*open_[fd].node, info);
  return 0;
}

int MemoryFileSystem::stat_at(int folder, const std::string& path, FileInfo* info) {
  if (power_is_off()) return -EIO;
  const Place place = find(folder, path);
  if (place.folder == nullptr) return -place.error;
  const NodePtr node = child(place);
  if (node == nullptr) return -ENOENT;
  fill(*node, info);
  return 0;
}

int MemoryFileSystem::rename(int folder, const std::string& from, const std::string& to) {
  if (power_is_off()) return -EIO;
  const Place source = find(folder, from);
  const Place target = find(folder, to);
  const NodePtr node = child(source);
  if (node == nullptr || target.folder == nullptr) return -ENOENT;
  const NodePtr old = child(target);
  if (old != nullptr && is_folder(*old)) return -EISDIR;
  set_name(target.folder, target.name, node);
  set_name(source.folder, source.name, nullptr);
  return 0;
}

int MemoryFileSystem::unlink(int folder, const std::string& path) {
  if (power_is_off()) return -EIO;
  const Place place = find(folder, path);
  const NodePtr node = child(place);
  if (node == nullptr) return -ENOENT;
  if (is_folder(*node)) return -EISDIR;
  set_name(place.folder, place.name, nullptr);
  return 0;
}

int MemoryFileSystem::make_folder(int folder, const std::string& path, mode_t mode) {
  if (power_is_off()) return -EIO;
  const Place place = find(folder, path);
  if (place.folder == nullptr) return -place.error;
  if (child(place) != nullptr) return -EEXIST;
  set_name(place.folder, place.name, new_node(S_IFDIR | mode));
  return 0;
}

int MemoryFileSystem::list(int folder, std::vector<std::string>* names) {
  if (power_is_off()) return -EIO;
  if (open_.count(folder) == 0) return -EBADF;
  for (const auto& item : open_[folder].node->names) names->push_back(item.first);
  return 0;
}

int MemoryFileSystem::lock(int fd) {
  if (power_is_off()) return -EIO;
  if (open_.count(fd) == 0) return -EBADF;
  Open& file = open_[fd];
  if (file.node->locked && !file.holds_lock) return -EWOULDBLOCK;
  file.node->locked = file.holds_lock = true;
  return 0;
}

int MemoryFileSystem::unlock(int fd) {
  if (power_is_off()) return -EIO;
  if (open_.count(fd) == 0) return -EBADF;
  Open& file = open_[fd];
  if (file.holds_lock) file.node->locked = file.holds_lock = false;
  return 0;
}

int MemoryFileSystem::touch(int fd) {
  if (power_is_off()) return -EIO;
  if (open_.count(fd) == 0) return -EBADF;
  open_[fd].node->modified_ns = now_ns();
  return 0;
}

void MemoryFileSystem::sync_everything() {
  const std::function<void(Node*)> visit = [&](Node* node) {
    node->synced_bytes = node->bytes;
    node->synced_names = node->names;
    node->changes.clear();
    for (const auto& item : node->names) visit(item.second.get());
  };
  visit(root_.get());
}

int MemoryFileSystem::open_files() const { return static_cast<int>(open_.size()); }

MemoryFileSystem::NodePtr MemoryFileSystem::at(const std::string& path) {
  return child(find(-1, path));
}

std::vector<std::string> MemoryFileSystem::paths_ending(const std::string& suffix) const {
  std::vector<std::string> found;
  const std::function<void(const Node&, const std::string&)> visit = [&](const Node& folder,
                                                                         const std::string& path) {
    for (const auto& [name, node] : folder.names) {
      if (name.ends_with(suffix)) found.push_back(path + "/" + name);
      visit(*node, path + "/" + name);
    }
  };
  visit(*root_, "");
  return found;
}

}  // namespace heddle::testing
