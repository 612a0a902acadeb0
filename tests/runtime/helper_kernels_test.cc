#include "tools/gpu_harness/device/helper_kernels.h"

#include <gtest/gtest.h>

#include "heddle/error.h"
#include "runtime/compile/nvrtc.h"

namespace heddle {
namespace {

TEST(HelperKernelsTest, CompileWithoutWarningsFromTheOldestArchitectureOn) {
  Nvrtc nvrtc;
  try {
    nvrtc.identity();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  for (const char* arch : {"sm_75", "sm_90"}) {
    std::string warnings;
    const Binary binary = nvrtc.compile(helper_source(arch), &warnings);
    EXPECT_FALSE(binary.cubin.empty()) << arch;
    EXPECT_EQ(warnings, "") << arch;
    for (const char* name :
         {"reference_gemm", "round_weights", "fill_normal", "compare", "copy_words", "stream_read",
          "stream_copy_1", "stream_copy_2", "stream_copy_4"}) {
      EXPECT_NE(binary.ptx.str().find(std::string(".entry ") + name + "("), std::string::npos)
          << name;
    }
  }
}

}  // namespace
}  // namespace heddle
