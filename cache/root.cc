#include "cache/root.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include "cache/file_names.h"

namespace heddle {
namespace {

constexpr mode_t kFolderMode = 0700;

// mkdir -p. 0 or -errno; -EEXIST is for the caller to judge.
int make_folders(FileSystem& files, int parent, const std::string& path) {
  const int error = files.make_folder(parent, path, kFolderMode);
  const std::size_t slash = path.find_last_of('/');
  if (error != -ENOENT || slash == std::string::npos || slash == 0) return error;
  const int above = make_folders(files, parent, path.substr(0, slash));
  if (above < 0 && above != -EEXIST) return above;
  return files.make_folder(parent, path, kFolderMode);
}

std::string without_trailing_slashes(std::string path) {
  // O_NOFOLLOW looks at the last component only, and "link/" is not one.
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

RootFolder refused(std::string why) { return {RootStatus::kRefused, nullptr, std::move(why)}; }

}  // namespace

CacheRoot::CacheRoot(FileSystem& files, std::string path, bool read_only)
    : files_(files), path_(without_trailing_slashes(std::move(path))), read_only_(read_only) {}

RootFolder CacheRoot::folder(bool create) {
  const std::lock_guard guard(mutex_);
  if (base_ != nullptr) return {RootStatus::kOk, base_, {}};
  RootFolder folder = open(create && !read_only_);
  base_ = folder.base;
  return folder;
}

void CacheRoot::forget() {
  const std::lock_guard guard(mutex_);
  base_ = nullptr;
}

RootFolder CacheRoot::open(bool create) {
  RootFolder root = open_checked(AT_FDCWD, path_, create);
  if (root.status != RootStatus::kOk) return root;
  return open_checked(root.base->get(), kFormatFolder, create);
}

RootFolder CacheRoot::open_checked(int parent, const std::string& path, bool create) {
  Fd fd = open_folder(files_, parent, path);
  if (fd.error() == ENOENT && create) {
    const int error = make_folders(files_, parent, path);
    if (error < 0 && error != -EEXIST) return refused("cannot make it: " + error_text(-error));
    fd = open_folder(files_, parent, path);
  }
  if (!fd) {
    if (fd.error() == ENOENT) return {RootStatus::kAbsent, nullptr, "it does not exist"};
    const bool odd = fd.error() == ENOTDIR || fd.error() == ELOOP;
    return refused(odd ? "not a folder, or a symbolic link" : error_text(fd.error()));
  }
  FileInfo info;
  const int error = files_.stat(fd.get(), &info);
  if (error < 0) return refused(error_text(-error));
  std::string why = distrust(info);
  if (!why.empty()) return refused(std::move(why));
  return {RootStatus::kOk, std::make_shared<const Fd>(std::move(fd)), {}};
}

std::string CacheRoot::distrust(const FileInfo& info) {
  if (!S_ISDIR(info.mode)) return "it is not a folder";
  const bool trusted = info.owner == files_.user() || (read_only_ && info.owner == 0);
  if (!trusted) return fmt::format("it belongs to user {}", info.owner);
  if ((info.mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fmt::format("group or others may write to it (mode {:04o})", info.mode & 07777);
  }
  return {};
}

}  // namespace heddle
