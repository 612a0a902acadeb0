// Every call of the driver failing, with results that it knows and that it does not.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "tests/runtime/fake_device.h"

namespace heddle {
namespace {

using testing::code_of;
using testing::dequantize_args;
using testing::dequantize_spec;

class DriverCallsTest : public testing::FakeDevice {
 protected:
  // Every way into the driver: without a context and in one, prepared, requested, launched.
  void use() {
    Runtime runtime(options_);
    const Spec spec = dequantize_spec();
    std::string ignored;
    runtime.has_device(&ignored);
    runtime.kernel(spec);
    cuda::CUcontext context = nullptr;
    cuda::check(cuda::driver().cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    struct Release {
      ~Release() { cuda::driver().cuDevicePrimaryCtxRelease(0); }
    } release;
    cuda::check(cuda::driver().cuCtxPushCurrent(context), "cuCtxPushCurrent");
    struct Pop {
      ~Pop() {
        cuda::CUcontext popped = nullptr;
        cuda::driver().cuCtxPopCurrent(&popped);
      }
    } pop;
    runtime.request(spec).wait();
    const Kernel kernel = runtime.prepare({spec})[0];
    runtime.kernel<DequantizeKernel>(spec, nullptr).launch(dequantize_args(), nullptr);
    runtime.kernel(dequantize_spec(128), nullptr);
  }
};

std::vector<std::string> all_calls() {
  std::vector<std::string> names;
#define HEDDLE_NAME(name, version, parameters) names.emplace_back(#name);
  HEDDLE_CUDA_FUNCTIONS(HEDDLE_NAME)
#undef HEDDLE_NAME
  return names;
}

TEST_F(DriverCallsTest, EachMayFail) {
  use();  // the cache is warm from here on
  std::set<std::string> failed;
  for (const std::string& call : all_calls()) {
    for (const int result : {2, 987654}) {
      for (int skip = 0; skip < 4; ++skip) {
        for (const int times : {1, -1}) {
          SCOPED_TRACE(fmt::format("{} gives {} after {} calls", call, result, skip));
          fake::fail(call, result, skip, times);
          std::string what;
          const std::string code = code_of([&] { use(); }, &what);
          fake::heal();
          if (!code.empty()) {
            failed.insert(call);
            EXPECT_EQ(code, result == 2 ? "driver.CUDA_ERROR_OUT_OF_MEMORY" : "driver.987654");
            EXPECT_NE(what.find(call), std::string::npos) << what;
          }
          EXPECT_EQ(fake::live_libraries(), 0);
          EXPECT_EQ(fake::live_references(), 0);
          cuda::CUcontext context = nullptr;
          cuda::driver().cuCtxGetCurrent(&context);
          EXPECT_EQ(context, nullptr);
        }
      }
    }
  }
  for (const char* call :
       {"cuCtxGetCurrent", "cuCtxGetDevice", "cuCtxPushCurrent", "cuDeviceGet", "cuDeviceGetName",
        "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain", "cuLibraryLoadData",
        "cuLibraryGetKernel", "cuKernelSetAttribute", "cuLaunchKernelEx", "cuStreamGetCaptureInfo",
        "cuThreadExchangeStreamCaptureMode"}) {
    EXPECT_EQ(failed.count(call), 1U) << call << " may fail unseen";
  }
  EXPECT_EQ(code_of([&] { use(); }), "") << "as if nothing had been";
}

// Run by the test below with a driver that starts badly.
TEST(DriverStart, DISABLED_Report) {
  std::string why;
  Runtime runtime;
  std::printf("has device: %d %s\n", runtime.has_device(&why) ? 1 : 0, why.c_str());
  std::string what;
  const std::string code = code_of([&] { runtime.device_target(); }, &what);
  std::printf("%s: %s\n", code.c_str(), what.c_str());
  EXPECT_EQ(code_of([&] { runtime.device_target(); }), code) << "the same every time";
  if (code.empty()) return;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(code_of([&] { runtime.device_target(); }) == code ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "what never started did not get lost in a fork";
}

std::string start_with(const std::string& environment) {
  const std::string command =
      environment + " " + std::filesystem::read_symlink("/proc/self/exe").string() +
      " --gtest_also_run_disabled_tests --gtest_filter=DriverStart.DISABLED_Report";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string output;
  char buffer[4096];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) {
    output.append(buffer, count);
  }
  EXPECT_EQ(::pclose(pipe), 0) << output;
  return output;
}

TEST(DriverStart, TellsWhatIsWrong) {
  EXPECT_NE(start_with("X=1").find("has device: 1"), std::string::npos);
  const std::string missing = start_with("FAKE_DRIVER_MISSING='cuLaunchKernelEx cuLibraryUnload'");
  EXPECT_NE(missing.find("driver.too_old: the NVIDIA driver lacks cuLibraryUnload, "
                         "cuLaunchKernelEx"),
            std::string::npos)
      << missing;
  const std::string broken = start_with("FAKE_DRIVER_INIT=100");
  EXPECT_NE(broken.find("driver.CUDA_ERROR_NO_DEVICE: cuInit failed"), std::string::npos) << broken;
  EXPECT_NE(broken.find("has device: 0"), std::string::npos) << broken;
}

}  // namespace
}  // namespace heddle
