// Which folders are used, and what happens where none can be.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <utility>

#include "cache/cache.h"
#include "cache/cache_roots.h"
#include "cache/usable_roots.h"
#include "faulty_file_system.h"
#include "heddle/error.h"
#include "test_util.h"

namespace heddle {
namespace {

using testing::expect_equal;
using testing::FaultyFileSystem;
using testing::sample_binary;
using testing::sample_key;
using testing::TempFolder;

std::string resolve(const std::string& dir, const std::map<std::string, std::string>& variables) {
  const auto environment = [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  return resolve_cache_roots(dir, environment).writable;
}

TEST(CacheRoots, Order) {
  const std::map<std::string, std::string> all = {
      {"HEDDLE_CACHE", "/h"}, {"XDG_CACHE_HOME", "/x"}, {"HOME", "/home/u"}};
  EXPECT_EQ(resolve("/d", all), "/d");
  EXPECT_EQ(resolve("", all), "/h");
  EXPECT_EQ(resolve("", {{"XDG_CACHE_HOME", "/x"}, {"HOME", "/home/u"}}), "/x/heddle");
  EXPECT_EQ(resolve("", {{"HOME", "/home/u"}}), "/home/u/.cache/heddle");
  EXPECT_EQ(resolve("", {}), "");
}

TEST(CacheRoots, TheProcessesOwnEnvironment) {
  ASSERT_EQ(::setenv("HEDDLE_CACHE", "/from/the/environment", 1), 0);
  EXPECT_EQ(resolve_cache_roots("").writable, "/from/the/environment");
  ::unsetenv("HEDDLE_CACHE");
}

TEST(CacheRoots, EmptyAndRelativeValues) {
  EXPECT_EQ(resolve("", {{"HEDDLE_CACHE", ""}, {"XDG_CACHE_HOME", "x"}, {"HOME", "/u"}}),
            "/u/.cache/heddle");
  EXPECT_EQ(resolve("", {{"HOME", "u"}}), "");
  EXPECT_EQ(resolve("sub", {}), (std::filesystem::current_path() / "sub").string());
}

TEST(CacheRoots, Layers) {
  const CacheRoots roots = parse_cache_roots("rw:/w:ro:/image/layer:ro:/image/model.hdl");
  EXPECT_EQ(roots.writable, "/w");
  EXPECT_EQ(roots.read_only, (std::vector<std::string>{"/image/layer", "/image/model.hdl"}));
  EXPECT_EQ(parse_cache_roots("ro:/l:rw:/w").writable, "/w") << "in any order";
  EXPECT_EQ(parse_cache_roots("ro:/l").writable, "");
  EXPECT_EQ(resolve("", {{"HEDDLE_CACHE", "rw:/h:ro:/l"}, {"HOME", "/u"}}), "/h");
}

TEST(CacheRoots, ColonsInPaths) {
  EXPECT_EQ(parse_cache_roots("/a:ro:/b").writable, "/a:ro:/b") << "a plain path is one path";
  const CacheRoots roots = parse_cache_roots("rw:/a:b:ro:/c:d:");
  EXPECT_EQ(roots.writable, "/a:b");
  EXPECT_EQ(roots.read_only, std::vector<std::string>{"/c:d:"});
}

TEST(CacheRoots, MalformedLayers) {
  for (const char* text : {"rw:", "ro:", "rw:/a:ro:", "rw::ro:/b", "rw:/a:rw:/b"}) {
    try {
      parse_cache_roots(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::kUsage);
      EXPECT_EQ(error.code(), "cache.roots");
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }
}

TEST(CacheRoots, MarksThatAreNone) {
  for (const auto& [text, mark] :
       {std::pair("rx:dir", "\"rx:\""), std::pair("rx:/dir", "\"rx:\""),
        std::pair("RO:/dir", "\"RO:\""), std::pair("wr:/a:ro:/b", "\"wr:\""),
        std::pair("readonly:/dir", "\"readonly:\""), std::pair("rw:/a:rx:/b", "\"rx:\""),
        std::pair("ro:/a:rO:/b", "\"rO:\"")}) {
    try {
      parse_cache_roots(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "cache.roots");
      EXPECT_NE(std::string(error.what()).find(mark), std::string::npos) << error.what();
    }
  }
  const std::filesystem::path here = std::filesystem::current_path();
  EXPECT_EQ(parse_cache_roots("./rx:dir").writable, (here / "./rx:dir").string());
  EXPECT_EQ(parse_cache_roots("./a:b").writable, (here / "./a:b").string());
  EXPECT_EQ(parse_cache_roots("rw:./rx:dir").writable, (here / "./rx:dir").string());
  EXPECT_EQ(parse_cache_roots("sub/a:b").writable, (here / "sub/a:b").string());
  EXPECT_EQ(parse_cache_roots(":a").writable, (here / ":a").string());
}

// Uses a cache on `root` and expects right results from memory and one warning in all.
void expect_memory_only(const std::string& root, const std::string& reason,
                        FileSystem* files = &posix_file_system()) {
  std::vector<std::string> warnings;
  CacheOptions options;
  options.dir = root;
  options.files = files;
  options.warn = [&](const std::string& why) { warnings.push_back(why); };
  Cache cache(options);
  for (int number = 0; number < 2; ++number) {
    bool hit = true;
    const auto make = [&] { return sample_binary(number); };
    expect_equal(*cache.get_or_make(sample_key(number), make, &hit), sample_binary(number));
    EXPECT_FALSE(hit);
    expect_equal(*cache.get_or_make(sample_key(number), make, &hit), sample_binary(number));
    EXPECT_TRUE(hit);
  }
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find(reason), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[0].find(root), std::string::npos) << warnings[0];
}

TEST(CacheRoot, WritableByOthers) {
  const TempFolder folder;
  for (const mode_t mode : {0777, 0770, 0702}) {
    ASSERT_EQ(::chmod(folder.path().c_str(), mode), 0);
    expect_memory_only(folder.path(), "may write to it");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(CacheRoot, FormatFolderWritableByOthers) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "v1");
  ASSERT_EQ(::chmod((folder / "v1").c_str(), 0777), 0);
  expect_memory_only(folder.path(), "may write to it");
}

TEST(CacheRoot, SymbolicLink) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "real");
  std::filesystem::create_directory_symlink(folder / "real", folder / "link");
  expect_memory_only(folder / "link", "symbolic link");
  expect_memory_only(folder / "link/", "symbolic link");
  EXPECT_TRUE(std::filesystem::is_empty(folder / "real"));
}

TEST(CacheRoot, BelowAFile) {
  const TempFolder folder;
  testing::write_bytes(folder / "file", as_bytes("x"));
  expect_memory_only(folder / "file/sub", "not a folder");
  expect_memory_only(folder / "file", "not a folder");
}

TEST(CacheRoot, CannotBeMade) {
  const TempFolder folder;
  testing::FaultyFileSystem files;
  files.fault = [](const std::string& call, int) { return call == "make_folder" ? EROFS : 0; };
  expect_memory_only(folder / "a/b", "Read-only file system", &files);
  EXPECT_TRUE(files.open_files.empty());
}

class ForeignFileSystem : public testing::FaultyFileSystem {
 public:
  uid_t user() override { return FaultyFileSystem::user() + 1; }
};

TEST(CacheRoot, OfAnotherUser) {
  const TempFolder folder;
  ForeignFileSystem files;
  expect_memory_only(folder.path(), "belongs to user", &files);
}

TEST(CacheRoot, NoneNamed) {
  CacheOptions options;
  options.environment = [](const char*) { return nullptr; };
  options.warn = [](const std::string& why) { ADD_FAILURE() << why; };
  Cache cache(options);
  EXPECT_EQ(cache.disk(), nullptr);
  expect_equal(*cache.get_or_make(sample_key(), [] { return sample_binary(); }), sample_binary());
}

// What expect_usable_roots() says; empty where the roots are of use.
std::string fault_of(const std::string& roots, FileSystem& files, bool writes = true) {
  try {
    expect_usable_roots(parse_cache_roots(roots), writes, files);
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kFile);
    EXPECT_EQ(error.code(), "cache.unusable");
    return error.what();
  }
}

TEST(UsableRoots, AFolderThatIsMadeIsOfUse) {
  const TempFolder folder;
  FaultyFileSystem files;
  EXPECT_EQ(fault_of(folder.path() + "/new/deep", files), "");
  EXPECT_TRUE(std::filesystem::is_directory(folder.path() + "/new/deep/v1"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() + "/new/deep/v1")) << "no probe is left";
  EXPECT_TRUE(files.open_files.empty());
}

TEST(UsableRoots, NothingIsMadeForWhoOnlyReads) {
  const TempFolder folder;
  FaultyFileSystem files;
  EXPECT_EQ(fault_of(folder.path() + "/new", files, /*writes=*/false), "");
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/new"));
}

TEST(UsableRoots, AFullOrReadOnlyDiskIsNot) {
  const TempFolder folder;
  const std::string root = folder.path() + "/root";
  for (const auto& [call, error] :
       {std::pair<std::string, int>{"write", ENOSPC}, {"make_folder", EROFS}}) {
    FaultyFileSystem files;
    files.fault = [&call = call, error = error](const std::string& name, int /*number*/) {
      return name == call ? error : 0;
    };
    const std::string fault = fault_of(call == "write" ? root : root + "/below", files);
    EXPECT_NE(fault.find(error_text(error)), std::string::npos) << fault;
    EXPECT_TRUE(files.open_files.empty());
  }
  EXPECT_TRUE(std::filesystem::is_empty(root + "/v1"));
}

TEST(UsableRoots, EveryLayerIsNamed) {
  const TempFolder folder;
  FaultyFileSystem files;
  const std::string fault = fault_of(
      "rw:/proc:ro:" + folder.path() + "/absent:ro:" + folder.path() + "/absent.hdl", files);
  for (const char* name : {"/proc:", "/absent:", "/absent.hdl:"}) {
    EXPECT_NE(fault.find(name), std::string::npos) << fault;
  }
}

TEST(UsableRoots, TheCacheSaysWhetherWhatWasMadeIsStored) {
  const TempFolder folder;
  FaultyFileSystem files;
  CacheOptions options;
  options.dir = folder.path() + "/root";
  options.files = &files;
  const auto is_stored = [&](int number) {
    bool hit = false;
    bool stored = false;
    Cache(options).get_or_make(
        sample_key(number), [&] { return sample_binary(number); }, &hit, &stored);
    EXPECT_FALSE(hit);
    return stored;
  };
  EXPECT_TRUE(is_stored(1));
  files.fault = [](const std::string& name, int /*number*/) {
    return name == "write" ? ENOSPC : 0;
  };
  EXPECT_FALSE(is_stored(2));
  files.fault = {};
  options.max_bytes = 1;
  EXPECT_FALSE(is_stored(3)) << "larger than the cap";
  options.disk = false;
  EXPECT_FALSE(is_stored(4));
}

}  // namespace
}  // namespace heddle
