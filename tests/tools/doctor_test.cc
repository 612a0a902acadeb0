// What the doctor makes of facts that a test machine does not have.
#include <gtest/gtest.h>

#include <filesystem>
#include <new>
#include <stdexcept>
#include <vector>

#include "tests/temporary_folder.h"
#include "tools/heddle/doctor/diagnosis.h"

namespace heddle {
namespace {

TEST(Doctor, NoDriverIsAFaultOnlyWhereThereIsAGpu) {
  for (const char* code : {"driver.missing", "driver.CUDA_ERROR_NO_DEVICE"}) {
    Diagnosis builds;
    judge_driver_error(code, "no library", false, &builds);
    EXPECT_TRUE(builds.problems.empty());
    ASSERT_EQ(builds.notes.size(), 1U);
    Diagnosis runs;
    judge_driver_error(code, "no library", true, &runs);
    EXPECT_TRUE(runs.notes.empty());
    ASSERT_EQ(runs.problems.size(), 1U);
    EXPECT_FALSE(runs.problems[0].advice.empty());
  }
}

TEST(Doctor, ADriverThatDoesNotWorkIsAlwaysAFault) {
  for (const char* code : {"driver.too_old", "driver.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}) {
    Diagnosis diagnosis;
    judge_driver_error(code, "it fails", false, &diagnosis);
    ASSERT_EQ(diagnosis.problems.size(), 1U);
    EXPECT_FALSE(diagnosis.problems[0].advice.empty());
  }
}

TEST(Doctor, ACompilerThatDoesNotKnowTheGpuIsAFault) {
  Diagnosis diagnosis;
  diagnosis.devices = {target_from_name("rtx4090"), target_from_name("sm_120")};
  diagnosis.driver_version = 12080;
  const std::vector<int> archs = {80, 89, 90};
  judge_compiler({12, 4}, archs, &diagnosis);
  ASSERT_EQ(diagnosis.problems.size(), 1U);
  EXPECT_NE(diagnosis.problems[0].text.find("sm_120"), std::string::npos);
  EXPECT_FALSE(diagnosis.problems[0].advice.empty());
  EXPECT_TRUE(diagnosis.notes.empty());
}

TEST(Doctor, ACompilerThatIsNewerThanTheDriverGetsANote) {
  Diagnosis diagnosis;
  judge_compiler({13, 0}, {}, &diagnosis);
  EXPECT_TRUE(diagnosis.notes.empty());
  diagnosis.driver_version = 12080;
  judge_compiler({13, 0}, {}, &diagnosis);
  EXPECT_EQ(diagnosis.notes.size(), 1U);
  EXPECT_TRUE(diagnosis.problems.empty());
}

TEST(Doctor, WhatAProbeThrowsIsALine) {
  Diagnosis diagnosis;
  examine("cache", "repair it", &diagnosis, [] { throw std::runtime_error("one\ntwo"); });
  examine("cache", "buy more", &diagnosis, [] { throw std::bad_alloc(); });
  ASSERT_EQ(diagnosis.problems.size(), 2U);
  EXPECT_EQ(diagnosis.problems[0].text, "one; two");
  EXPECT_EQ(diagnosis.problems[0].advice, "repair it");
}

TEST(Doctor, ProgramsOfThePathGoBeforeThoseOfWheels) {
  const TemporaryFolder folder;
  const auto add = [&](const std::string& place) {
    std::filesystem::create_directories(folder / place);
    std::string path = folder.write(place + "/nvdisasm", "");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  };
  const std::string list = folder / "absent" + ":" + (folder / "bin");
  const std::string packages = folder / "site-packages";
  EXPECT_EQ(find_program("nvdisasm", list, packages), "");
  EXPECT_EQ(find_program("nvdisasm", "", ""), "");
  const std::string of_triton = add("site-packages/triton/backends/nvidia/bin");
  EXPECT_EQ(find_program("nvdisasm", list, packages), of_triton);
  std::filesystem::remove(of_triton);
  const std::string of_wheel = add("site-packages/nvidia/cu13/bin");
  EXPECT_EQ(find_program("nvdisasm", list, packages), of_wheel);
  EXPECT_EQ(find_program("cuobjdump", list, packages), "");
  const std::string of_path = add("bin");
  EXPECT_EQ(find_program("nvdisasm", list, packages), of_path);
}

TEST(Doctor, APlaceBelowAFileCannotBeMade) {
  const TemporaryFolder folder;
  EXPECT_EQ(why_not_makable(folder / "new/deep"), "");
  EXPECT_NE(why_not_makable(folder.write("file", "") + "/deep"), "");
  EXPECT_EQ(why_not_makable("new"), "");
}

}  // namespace
}  // namespace heddle
