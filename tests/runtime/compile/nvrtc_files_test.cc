#include "runtime/compile/nvrtc_files.h"

#include <gtest/gtest.h>

#include "heddle/error.h"
#include "tests/temporary_folder.h"

namespace heddle {
namespace {

using Names = std::vector<std::string>;

TEST(NvrtcFilesTest, PrefersTheHighestVersionAndThePlainNameLast) {
  EXPECT_EQ(nvrtc_names({"libnvrtc.so", "libnvrtc.so.9", "libnvrtc-builtins.so.13.0",
                         "libnvrtc.so.12", "libnvrtc.alt.so.13", "libnvrtc.so.12.4.127",
                         "libnvrtc.so.13", "libnvrtc.so.x", "libnvrtc.so.", "libnvrtc.so.13."}),
            (Names{"libnvrtc.so.13", "libnvrtc.so.12.4.127", "libnvrtc.so.12", "libnvrtc.so.9",
                   "libnvrtc.so"}));
}

std::string code_and_text(std::string* text) {
  try {
    find_nvrtc();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kDriver);
    *text = error.what();
    return error.code();
  }
  return "found";
}

TEST(NvrtcFilesTest, AnEnvironmentThatLeadsNowhereIsAnErrorAndNoFallBack) {
  const TemporaryFolder empty;
  for (const std::string& value :
       {empty.path().string(), std::string("/nonexistent/libnvrtc.so")}) {
    const ScopedEnvironment environment("HEDDLE_NVRTC", value.c_str());
    std::string text;
    EXPECT_EQ(code_and_text(&text), "nvrtc.environment");
    EXPECT_NE(text.find(value), std::string::npos) << text;
  }
}

TEST(NvrtcFilesTest, RefusesAFileThatIsNoLibrary) {
  const TemporaryFolder folder;
  const std::string file = folder.write("libnvrtc.so.13", "not a library");
  for (const std::string& value : {file, folder.path().string()}) {
    const ScopedEnvironment environment("HEDDLE_NVRTC", value.c_str());
    std::string text;
    EXPECT_EQ(code_and_text(&text), "nvrtc.unreadable");
    EXPECT_NE(text.find(file), std::string::npos) << text;
  }
}

TEST(NvrtcFilesTest, TheLastFolderIsTakenOnlyWhereNothingElseIsThere) {
  const TemporaryFolder folder;
  const std::string file = folder.write("libnvrtc.so.99", "not a library");
  try {
    EXPECT_NE(find_nvrtc(folder.path().string()).library, file);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "nvrtc.unreadable");
    EXPECT_NE(std::string(error.what()).find(file), std::string::npos) << error.what();
  }
}

// The environment's own NVRTC, reached by a folder of links, as a wheel or an image would have it.
TEST(NvrtcFilesTest, FindsTheBuiltinsBesideTheLibraryAndTheirVersion) {
  NvrtcFiles here;
  try {
    here = find_nvrtc();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_EQ(here.library_build_id.size(), 40U);
  EXPECT_EQ(here.builtins_build_id.size(), 40U);
  EXPECT_NE(here.library_build_id, here.builtins_build_id);
  EXPECT_GE(here.major, 12);
  EXPECT_NE(here.identity().find(here.library_build_id), std::string::npos);
  EXPECT_NE(here.identity().find(here.builtins_build_id), std::string::npos);

  const TemporaryFolder folder;
  std::filesystem::create_symlink(here.library, folder.path() / "libnvrtc.so.99");
  const ScopedEnvironment environment("HEDDLE_NVRTC", folder.path().c_str());
  EXPECT_EQ(find_nvrtc().library_build_id, here.library_build_id);
}

}  // namespace
}  // namespace heddle
