// Files that are complete or absent, whatever ends the process that writes them.
#include "cache/new_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/file_io.h"
#include "tests/cache/faulty_file_system.h"
#include "tests/cache/test_util.h"

namespace heddle {
namespace {

using testing::read_bytes;
using testing::TempFolder;
using testing::write_bytes;

// Some file systems have no files without a name.
class WithoutUnnamed : public testing::FaultyFileSystem {
 public:
  int open(int folder, const std::string& path, int flags, mode_t mode) override {
    if ((flags & O_TMPFILE) == O_TMPFILE) return -EOPNOTSUPP;
    return FaultyFileSystem::open(folder, path, flags, mode);
  }
};

const Bytes kText = {'t', 'e', 'x', 't'};

std::vector<std::string> names_in(const TempFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    names.push_back(entry.path().filename());
  }
  return names;
}

int write_text(NewFile& file, mode_t mode = 0666) {
  const int error = file.open(mode);
  return error != 0 ? error : file.write(0, kText.data(), kText.size());
}

class NewFileTest : public ::testing::TestWithParam<bool> {
 protected:
  FileSystem& files() {
    if (GetParam()) return posix_file_system();
    return without_;
  }
  WithoutUnnamed without_;
  TempFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(UnnamedOrNot, NewFileTest, ::testing::Bool());

TEST_P(NewFileTest, TakesItsPlaceWhenItIsComplete) {
  for (int again = 0; again < 2; ++again) {  // also that of a file which is there
    if (again == 1) write_bytes(folder_ / "new", Bytes(100));
    NewFile file(folder_ / "new", files());
    ASSERT_EQ(write_text(file), 0);
    if (again == 1) {
      EXPECT_EQ(read_bytes(folder_ / "new").size(), 100U);
    }
    ASSERT_EQ(file.publish(), 0);
    EXPECT_EQ(read_bytes(folder_ / "new"), kText);
    EXPECT_EQ(names_in(folder_), std::vector<std::string>{"new"});
  }
}

TEST_P(NewFileTest, TheUmaskApplies) {
  const mode_t before = ::umask(027);
  NewFile file(folder_ / "new", files());
  ASSERT_EQ(write_text(file), 0);
  ASSERT_EQ(file.publish(), 0);
  ::umask(before);
  struct stat info = {};
  ASSERT_EQ(::stat((folder_ / "new").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0640U);
}

TEST_P(NewFileTest, LeavesNothingWithoutBeingPublished) {
  {
    NewFile file(folder_ / "new", files());
    ASSERT_EQ(write_text(file), 0);
  }
  EXPECT_TRUE(names_in(folder_).empty());
}

TEST_P(NewFileTest, TakesThePlaceOfRegularFilesAlone) {
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/null", folder_ / "link");
  for (const std::string& path :
       {folder_ / "fifo", folder_ / "link", std::string("/dev/full"), folder_ / "."}) {
    NewFile file(path, files());
    EXPECT_EQ(file.open(0666), -ENODEV) << path;
  }
  for (const std::string& path : {std::string(), folder_ / ""}) {
    NewFile file(path, files());
    EXPECT_LT(file.open(0666), 0) << path;
  }
  NewFile nowhere(folder_ / "none/new", files());
  EXPECT_EQ(nowhere.open(0666), -ENOENT);
}

// A child that is killed while it writes.
void kill_writer(const std::string& path, FileSystem& files, int signal) {
  const pid_t child = ::fork();
  if (child == 0) {
    NewFile file(path, files);
    if (write_text(file) == 0) ::raise(signal);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), signal);
}

TEST(NewFile, OfAKilledProcessNothingIsLeft) {
  const TempFolder folder;
  NewFile probe(folder / "probe");
  ASSERT_EQ(probe.open(0600), 0);
  if (!names_in(folder).empty()) GTEST_SKIP() << "this file system has no files without a name";
  for (const int signal : {SIGKILL, SIGTERM}) {
    kill_writer(folder / "new", posix_file_system(), signal);
    EXPECT_TRUE(names_in(folder).empty());
  }
}

TEST(NewFile, WhatAKilledProcessLeftGoesWithTheNextFileOfThatName) {
  const TempFolder folder;
  WithoutUnnamed files;
  kill_writer(folder / "new", files, SIGKILL);
  ASSERT_EQ(names_in(folder).size(), 1U);
  NewFile other(folder / "ne", files);
  ASSERT_EQ(write_text(other), 0);
  EXPECT_EQ(names_in(folder).size(), 2U);
  NewFile file(folder / "new", files);
  ASSERT_EQ(write_text(file), 0);
  EXPECT_EQ(names_in(folder).size(), 2U);
  // That of a process which still writes stays.
  NewFile second(folder / "new", files);
  ASSERT_EQ(write_text(second), 0);
  EXPECT_EQ(names_in(folder).size(), 3U);
  EXPECT_EQ(file.publish(), 0);
  EXPECT_EQ(second.publish(), 0);
  EXPECT_EQ(names_in(folder).size(), 2U);
}

TEST(NewFile, AHandlerOfASignalCanRemoveTemporaryNames) {
  const TempFolder folder;
  WithoutUnnamed files;
  NewFile file(folder / "new", files);
  ASSERT_EQ(write_text(file), 0);
  ASSERT_EQ(names_in(folder).size(), 1U);
  unlink_new_files();
  EXPECT_TRUE(names_in(folder).empty());
  unlink_new_files();
  EXPECT_LT(file.publish(), 0);
}

// Each file has a name of its own to be removed, whoever was listed there before.
TEST(NewFile, WhatAHandlerRemovedIsForgottenAlone) {
  const TempFolder folder;
  WithoutUnnamed files;
  std::optional<NewFile> removed(std::in_place, folder / "removed", files);
  ASSERT_EQ(write_text(*removed), 0);
  unlink_new_files();
  NewFile file(folder / "new", files);
  ASSERT_EQ(write_text(file), 0);
  removed.reset();
  unlink_new_files();
  EXPECT_TRUE(names_in(folder).empty());
}

// A signal may come right after a file without a name has got one.
TEST(NewFile, AHandlerOfASignalCanRemoveTheNameOfALink) {
  struct SignalAfterLink : testing::FaultyFileSystem {
    int link(int fd, int at, const std::string& path) override {
      const int error = FaultyFileSystem::link(fd, at, path);
      if (error == 0) unlink_new_files();
      return error;
    }
  };
  const TempFolder folder;
  write_bytes(folder / "new", Bytes(10));
  SignalAfterLink files;
  NewFile file(folder / "new", files);
  ASSERT_EQ(write_text(file), 0);
  if (names_in(folder).size() != 1) GTEST_SKIP() << "no files without a name here";
  EXPECT_EQ(file.publish(), -ENOENT);
  EXPECT_EQ(names_in(folder), std::vector<std::string>{"new"});
  EXPECT_EQ(read_bytes(folder / "new").size(), 10U);
}

// Another one of that name removes what nobody holds, at any moment of this one.
TEST_P(NewFileTest, AnotherOfThatNameMayBeginWhileItIsPublished) {
  for (const std::string moment : {"sync", "lock", "link", "close", "rename"}) {
    write_bytes(folder_ / "new", Bytes(10));
    WithoutUnnamed without;
    testing::FaultyFileSystem with;
    testing::FaultyFileSystem& own_files = GetParam() ? with : without;
    NewFile file(folder_ / "new", own_files);
    ASSERT_EQ(write_text(file), 0);
    own_files.fault = [&](const std::string& call, int) {
      if (call == moment) {
        NewFile other(folder_ / "new", files());
        EXPECT_EQ(other.open(0666), 0);
      }
      return 0;
    };
    EXPECT_EQ(file.publish(), 0) << moment;
    EXPECT_EQ(read_bytes(folder_ / "new"), kText) << moment;
    EXPECT_EQ(names_in(folder_), std::vector<std::string>{"new"}) << moment;
  }
}

// A file system may have no locks.
TEST_P(NewFileTest, WithoutLocksItTakesItsPlace) {
  write_bytes(folder_ / "new", Bytes(10));
  WithoutUnnamed without;
  testing::FaultyFileSystem with;
  testing::FaultyFileSystem& own_files = GetParam() ? with : without;
  own_files.fault = [](const std::string& call, int) { return call == "lock" ? ENOLCK : 0; };
  NewFile file(folder_ / "new", own_files);
  ASSERT_EQ(write_text(file), 0);
  EXPECT_EQ(file.publish(), 0);
  EXPECT_EQ(read_bytes(folder_ / "new"), kText);
  EXPECT_EQ(names_in(folder_), std::vector<std::string>{"new"});
}

TEST_P(NewFileTest, AnyCallThatFailsLeavesWhatWasThere) {
  std::vector<std::string> calls = {"write", "sync", "duplicate", "close", "rename"};
  if (GetParam()) calls.emplace_back("link");
  for (const std::string& failing : calls) {
    for (const bool is_there : {true, false}) {
      if (GetParam() && !is_there && failing == "rename") continue;  // it gets its name at once
      SCOPED_TRACE(failing + (is_there ? ", replaced" : ", new"));
      std::filesystem::remove(folder_ / "new");
      if (is_there) write_bytes(folder_ / "new", Bytes(10));
      WithoutUnnamed without;
      testing::FaultyFileSystem with;
      testing::FaultyFileSystem& failing_files = GetParam() ? with : without;
      failing_files.fault = [&](const std::string& call, int) {
        return call == failing ? ENOSPC : 0;
      };
      {
        NewFile file(folder_ / "new", failing_files);
        int error = write_text(file);
        if (error == 0) error = file.publish();
        EXPECT_EQ(error, -ENOSPC);
        EXPECT_TRUE(is_storage_error(-error));
      }
      if (is_there) {
        EXPECT_EQ(read_bytes(folder_ / "new").size(), 10U);
      }
      EXPECT_EQ(names_in(folder_).size(), is_there ? 1U : 0U);
      EXPECT_TRUE(failing_files.open_files.empty());
    }
  }
}

}  // namespace
}  // namespace heddle
