// The command of a wheel finds the NVRTC that another wheel has put beside it.
#include "tools/heddle/cache/wheel_nvrtc.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/temporary_folder.h"

namespace heddle {
namespace {

TEST(WheelNvrtc, IsBesideThePackage) {
  const TemporaryFolder folder;
  const std::string program = folder / "site-packages/heddle/bin/heddle";
  EXPECT_EQ(nvrtc_of_wheel(program), "");
  for (const char* package : {"cublas", "cu13", "cuda_runtime"}) {
    std::filesystem::create_directories(folder / ("site-packages/nvidia/" + std::string(package)) +
                                        "/lib");
  }
  EXPECT_EQ(nvrtc_of_wheel(program), "");
  const std::string lib = folder / "site-packages/nvidia/cu13/lib";
  std::ofstream(lib + "/libnvrtc-builtins.so.13.0").put(0);
  EXPECT_EQ(nvrtc_of_wheel(program), "");
  std::ofstream(lib + "/libnvrtc.so.13").put(0);
  EXPECT_EQ(nvrtc_of_wheel(program), lib);
}

TEST(WheelNvrtc, OfSeveralWheelsTheHighestVersionCounts) {
  const TemporaryFolder folder;
  const std::string program = folder / "site-packages/heddle/bin/heddle";
  const auto add = [&](const std::string& package, const std::string& version) {
    std::string lib = folder / ("site-packages/nvidia/" + package + "/lib");
    std::filesystem::create_directories(lib);
    std::ofstream(lib + "/libnvrtc.so." + version).put(0);
    return lib;
  };
  const std::string older = add("cuda_nvrtc", "12");
  EXPECT_EQ(nvrtc_of_wheel(program), older);
  const std::string newer = add("cu13", "13");
  EXPECT_EQ(nvrtc_of_wheel(program), newer);
  add("a_wheel", "9");  // a number, not a text
  add("z_wheel", "9");
  EXPECT_EQ(nvrtc_of_wheel(program), newer);
  add("no_wheel", "x99");
  EXPECT_EQ(nvrtc_of_wheel(program), newer);
}

// Only a program that lies in a Python package looks beside it.
TEST(WheelNvrtc, AProgramOutsideOfAPackageLooksNowhere) {
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe");
  ASSERT_FALSE(std::filesystem::exists(own.parent_path().parent_path() / "__init__.py"));
  EXPECT_EQ(nvrtc_of_wheel(), "");
}

}  // namespace
}  // namespace heddle
