// The command of a wheel finds the NVRTC that another wheel has put beside it.
#include "tools/heddle/wheel_nvrtc.h"

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
  // A program that no package has brought looks nowhere.
  EXPECT_EQ(nvrtc_of_wheel(), "");
}

}  // namespace
}  // namespace heddle
