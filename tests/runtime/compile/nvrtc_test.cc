#include "runtime/compile/nvrtc.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "heddle/target.h"
#include "runtime/compile/compiler_facts.h"

namespace heddle {
namespace {

constexpr const char* kGood = R"(
extern "C" __global__ void __launch_bounds__(64) copy(const float4* x, float4* y) {
  __shared__ float4 tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[63 - threadIdx.x];
}
)";

Source copy_source(std::string text, std::string arch = "sm_80") {
  Source source;
  source.kernel_name = "copy";
  source.file_name = "copy.cu";
  source.text = std::move(text);
  source.arch = std::move(arch);
  source.threads = 64;
  source.dynamic_shared_bytes = 128;
  return source;
}

class NvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      nvrtc_.identity();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  Nvrtc nvrtc_;
};

TEST_F(NvrtcTest, CompilesForEveryArchitectureFrom75Up) {
  int compiled = 0;
  for (const int arch : nvrtc_.archs()) {
    if (arch < 75) continue;
    const std::string name = "sm_" + std::to_string(arch) + (arch >= 90 ? "a" : "");
    const Binary binary = nvrtc_.compile(copy_source(kGood, name));
    EXPECT_GT(binary.cubin.size(), 1000U) << name;
    EXPECT_EQ(std::string(binary.cubin.begin() + 1, binary.cubin.begin() + 4), "ELF") << name;
    EXPECT_NE(binary.ptx.str().find(".entry copy("), std::string::npos) << name;
    EXPECT_NE(binary.ptx.str().find(".target " + name), std::string::npos) << name;
    EXPECT_GT(binary.registers, 4) << name;
    EXPECT_EQ(binary.spill_bytes, 0) << name;
    EXPECT_EQ(binary.local_bytes, 0) << name;
    EXPECT_EQ(binary.static_shared_bytes, 1024) << name;
    EXPECT_EQ(binary.dynamic_shared_bytes, 128) << name;
    EXPECT_EQ(binary.threads, 64) << name;
    EXPECT_EQ(binary.arch, name);
    EXPECT_EQ(binary.compiler, nvrtc_.identity()) << name;
    EXPECT_GT(binary.compile_ms, 0) << name;
    ++compiled;
  }
  EXPECT_GE(compiled, 6);
}

TEST_F(NvrtcTest, EqualSourcesGiveEqualBytes) {
  const Binary first = nvrtc_.compile(copy_source(kGood));
  const Binary second = nvrtc_.compile(copy_source(kGood));
  EXPECT_EQ(first.cubin, second.cubin);
  EXPECT_EQ(first.ptx, second.ptx);
}

TEST_F(NvrtcTest, ReportsSpills) {
  const std::string text = R"(
extern "C" __global__ void __launch_bounds__(1024, 2) copy(const float* x, float* y) {
  float v[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) v[i] = x[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 96; ++i) y[i * 1024 + threadIdx.x] = v[95 - i] * v[(i * 7) % 96];
}
)";
  EXPECT_GT(nvrtc_.compile(copy_source(text)).spill_bytes, 0);
}

TEST_F(NvrtcTest, AnErrorHoldsTheLogAndTheNumberedSource) {
  try {
    nvrtc_.compile(copy_source("extern \"C\" __global__ void copy() {\n  undeclared = 1;\n}\n"));
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kCompile);
    EXPECT_EQ(error.code(), "nvrtc.compile");
    EXPECT_NE(error.log().find("copy.cu(2): error"), std::string::npos) << error.log();
    EXPECT_NE(error.log().find("   2 |   undeclared = 1;"), std::string::npos) << error.log();
  }
}

TEST_F(NvrtcTest, GivesWarningsButNotTheAssemblersReport) {
  std::string warnings;
  nvrtc_.compile(copy_source(kGood), &warnings);
  EXPECT_EQ(warnings, "");
  nvrtc_.compile(copy_source("extern \"C\" __global__ void copy() { int unused; }"), &warnings);
  EXPECT_NE(warnings.find("unused"), std::string::npos) << warnings;
  EXPECT_EQ(warnings.find("ptxas"), std::string::npos) << warnings;
}

// NVRTC sets the limit back when it ends, so it must be watched while it works.
TEST_F(NvrtcTest, NeverChangesTheStackLimit) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_STACK, &before), 0);
  if (before.rlim_cur == before.rlim_max) GTEST_SKIP() << "the limit cannot be raised";
  std::atomic<bool> done{false};
  bool changed = false;
  std::thread watcher([&] {
    while (!done) {
      rlimit now{};
      getrlimit(RLIMIT_STACK, &now);
      changed |= now.rlim_cur != before.rlim_cur;
    }
  });
  nvrtc_.compile(copy_source(kGood));
  EXPECT_THROW(nvrtc_.compile(copy_source("not C++")), Error);
  done = true;
  watcher.join();
  EXPECT_FALSE(changed);
}

// The kernel of the most tokens, on a thread with a 32nd of the usual stack.
TEST_F(NvrtcTest, NeedsLittleStack) {
  struct Work {
    Nvrtc& nvrtc;
    Source source;
    std::size_t cubin_bytes = 0;
  };
  const Spec spec = Spec::parse(R"({"heddle": 1, "op": "gemm", "shape": {"n": 8192, "k": 8192},
      "weight": {"bits": 4, "group_size": 128}, "activation": {"dtype": "fp16"}})");
  Work work{nvrtc_, render_all(resolve(spec, target_from_name("sm_90"))).back()};
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 << 10), 0);
  pthread_t thread{};
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* argument) -> void* {
                  Work& job = *static_cast<Work*>(argument);
                  job.cubin_bytes = job.nvrtc.compile(job.source).cubin.size();
                  return nullptr;
                },
                &work),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_GT(work.cubin_bytes, 1000U);
}

TEST_F(NvrtcTest, HasTheArchitecturesThatTheTableSays) {
  int major = 0;
  int minor = 0;
  ASSERT_EQ(std::sscanf(nvrtc_.identity().c_str(), "nvrtc %d.%d", &major, &minor), 2);
  const std::vector<int> archs = nvrtc_.archs();
  for (const Target& target : known_targets()) {
    const auto first = first_compiler_of(target.arch());
    ASSERT_TRUE(first) << target.name;
    const bool expected = std::pair(major, minor) >= std::pair(first->major, first->minor);
    EXPECT_EQ(std::find(archs.begin(), archs.end(), target.arch()) != archs.end(), expected)
        << target.name;
  }
}

TEST_F(NvrtcTest, RefusesAVirtualArchitecture) {
  EXPECT_THROW(nvrtc_.compile(copy_source(kGood, "compute_80")), Error);
}

TEST_F(NvrtcTest, RefusesAnArchitectureThatItLacksInOneLine) {
  try {
    nvrtc_.compile(copy_source(kGood, "sm_1"));
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kUnsupported);
    EXPECT_EQ(error.code(), "nvrtc.architecture");
    EXPECT_EQ(error.log(), "");
    const std::string text = error.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_NE(text.find("cannot compile for sm_1"), std::string::npos) << text;
    EXPECT_NE(text.find("libnvrtc"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace heddle
