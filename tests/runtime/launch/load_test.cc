// From a spec to a launch, on the fake driver.
#include <gtest/gtest.h>

#include <algorithm>

#include "cache/disk_cache.h"
#include "generator/operations/kernel_argument.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "runtime/compile/builder.h"
#include "tests/runtime/allocation_counter.h"
#include "tests/runtime/fake_device.h"

namespace heddle {
namespace {

using testing::code_of;
using testing::dequantize_args;
using testing::dequantize_spec;
using testing::EngineContext;
using testing::EngineStream;
using testing::gemm_spec;

class LoadTest : public testing::FakeDevice {};

TEST_F(LoadTest, LoadsOnceAndLaunches) {
  Runtime runtime(options_);
  const EngineContext context;
  const auto kernel = runtime.kernel<DequantizeKernel>(dequantize_spec());
  EXPECT_EQ(compilations_, 1);
  EXPECT_EQ(fake::count("cuLibraryLoadData"), 1);
  const EngineStream stream;
  kernel.launch(dequantize_args(), stream.get());
  const auto launches = fake::launches();
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_EQ(launches[0].kernel, kernel.plan().kernels[0].name);
  EXPECT_EQ(launches[0].config.hStream, stream.get());
  EXPECT_EQ(launches[0].config.blockDimX, static_cast<unsigned>(kernel.plan().kernels[0].threads));
}

TEST_F(LoadTest, ALaunchIsOneCallAndNoAllocation) {
  Runtime runtime(options_);
  const EngineContext context;
  GemmSpec of_ampere = gemm_spec().gemm();
  of_ampere.path = Path::kAmpere;
  const auto gemm = runtime.kernel<GemmKernel>(Spec::from_gemm(of_ampere));
  const auto mapped = runtime.kernel<GemmKernel>(gemm_spec(64));
  const auto dequantize = runtime.kernel<DequantizeKernel>(dequantize_spec());
  GemmArgs args;
  args.x = testing::memory(0x1000);
  args.weights = testing::memory(0x2000);
  args.y = testing::memory(0x3000);
  args.workspace = testing::memory(0x4000, gemm.max_workspace_bytes());
  args.m = 8;
  const std::size_t before = fake::calls().size();
  gemm.launch(args, nullptr);
  EXPECT_EQ(fake::calls().size(), before + 1);
  GemmArgs many = args;
  many.workspace.bytes = mapped.max_workspace_bytes();
  many.m = 64;
  const PlannedKernel& kernel = mapped.plan().kernels[mapped.plan().kernel_for(64)];
  ASSERT_EQ(kernel.arguments.front(), KernelArgument::kTokenMap);
  mapped.launch(many, nullptr);  // encodes its tensor map
  mapped.launch(many, nullptr);
  EXPECT_EQ(fake::calls().size(), before + 4);
  fake::state().quiet = true;
  const long allocations = testing::allocations();
  for (int i = 0; i < 1000; ++i) {
    gemm.launch(args, nullptr);
    mapped.launch(many, nullptr);
    dequantize.launch(dequantize_args(), nullptr);
  }
  EXPECT_EQ(testing::allocations(), allocations);
  fake::state().quiet = false;
  EXPECT_EQ(fake::state().quiet_launches, 3000);
  EXPECT_GT(testing::allocations(), 0) << "the counter counts nothing";
}

TEST_F(LoadTest, ContextIsLeftAsFound) {
  Runtime runtime(options_);
  const auto current = [] {
    cuda::CUcontext context = nullptr;
    cuda::driver().cuCtxGetCurrent(&context);
    return context;
  };
  runtime.kernel(dequantize_spec());
  EXPECT_EQ(current(), nullptr);
  const EngineContext context;
  const auto before = current();
  runtime.kernel(dequantize_spec());
  EXPECT_EQ(current(), before);
}

TEST_F(LoadTest, ContextsThatOthersMadeServeAsWell) {
  Runtime runtime(options_);
  const cuda::Driver& cu = cuda::driver();
  ASSERT_EQ(cu.cuCtxPushCurrent(fake::own_context(0)), cuda::CUDA_SUCCESS);
  const DequantizeKernel kernel(runtime.prepare({dequantize_spec()})[0]);
  kernel.launch(dequantize_args(), nullptr);
  EXPECT_EQ(fake::live_references(), 0) << "the primary context is not asked for";
  cuda::CUcontext popped = nullptr;
  ASSERT_EQ(cu.cuCtxPopCurrent(&popped), cuda::CUDA_SUCCESS);
  EXPECT_EQ(popped, fake::own_context(0));
  const EngineContext primary;
  EXPECT_NO_THROW(
      runtime.kernel<DequantizeKernel>(dequantize_spec()).launch(dequantize_args(), nullptr))
      << "in another context of the device";
  EXPECT_EQ(fake::count("cuLibraryLoadData"), 1);
  EXPECT_EQ(fake::launches().size(), 2U);
}

// The checksum is right, the key is right, and the driver still says no.
TEST_F(LoadTest, ACubinThatTheDriverRefusesIsCompiledAnewOnce) {
  const Spec spec = dequantize_spec();
  const auto store_refused = [&](std::size_t cubin_bytes) {
    Runtime runtime(options_);
    const Source source = render(resolve(spec, runtime.device_target()), 0);
    const std::string compiler = runtime.compiler_identity();
    Binary binary;
    binary.kernel_name = source.kernel_name;
    binary.arch = source.arch;
    binary.compiler = compiler;
    binary.cubin.assign(cubin_bytes, 'x');
    DiskCache disk({.root = options_.cache_dir, .warn = {}});
    ASSERT_TRUE(disk.store(cache_key(source, compiler), binary));
  };
  store_refused(1000);
  {
    const Kernel kernel = Runtime(options_).kernel(spec);
    EXPECT_EQ(compilations_, 1);
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_NE(warnings_[0].find("INVALID_IMAGE"), std::string::npos) << warnings_[0];
  }
  {
    const Kernel kernel = Runtime(options_).kernel(spec);
    EXPECT_EQ(compilations_, 1) << "healed on disk";
    EXPECT_EQ(warnings_.size(), 1U);
  }
  store_refused(1000);
  options_.strict = true;
  EXPECT_EQ(code_of([&] { Runtime(options_).kernel(spec); }), "driver.CUDA_ERROR_INVALID_IMAGE");
  EXPECT_EQ(compilations_, 1) << "strict mode compiles nothing";
}

// What is wrong with the device and not with the cubin must not cost a compilation.
TEST_F(LoadTest, OutOfMemoryIsNoReasonToCompile) {
  const Spec spec = dequantize_spec();
  Runtime(options_).kernel(spec);
  ASSERT_EQ(compilations_, 1);
  fake::fail("cuLibraryLoadData", 2);
  EXPECT_EQ(code_of([&] { Runtime(options_).kernel(spec); }), "driver.CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(compilations_, 1);
}

TEST_F(LoadTest, SeveralDevicesOfDifferentKinds) {
  {
    const std::lock_guard<std::mutex> lock(fake::state().mutex);
    fake::state().devices.push_back(fake::device_of("Fake A100", 8, 0));
  }
  Runtime runtime(options_);
  const Spec spec = dequantize_spec();
  for (const bool prepared : {false, true}) {
    for (const int device : {1, 0}) {
      const EngineContext context(device);
      const Kernel kernel = prepared ? runtime.prepare({spec})[0] : runtime.kernel(spec);
      EXPECT_EQ(kernel.plan().target.arch(), device == 0 ? 90 : 80);
      EXPECT_EQ(kernel.device(), device);
      EXPECT_EQ(runtime.kernel(spec).plan().target.arch(), device == 0 ? 90 : 80);
      DequantizeKernel(kernel).launch(dequantize_args(), nullptr);
    }
  }
  EXPECT_EQ(compilations_, 2);
  const Plan plan = resolve(spec, target_from_name("sm_90"));
  const EngineContext other(1);
  EXPECT_EQ(code_of([&] { runtime.load(plan); }), "runtime.wrong_device");
}

TEST_F(LoadTest, ActOrderGathersFirst) {
  Runtime runtime(options_);
  const EngineContext context;
  GemmSpec gemm;
  gemm.shape = {256, 512, 1, 8};
  gemm.act_order = true;
  const auto kernel = runtime.kernel<GemmKernel>(Spec::from_gemm(gemm));
  GemmArgs args;
  args.x = testing::memory(0x1000);
  args.weights = testing::memory(0x2000);
  args.y = testing::memory(0x3000);
  args.permutation = testing::memory(0x4000);
  args.m = 3;
  args.workspace = testing::memory(0x5000, kernel.workspace_bytes(args.m));
  ASSERT_LT(args.workspace.bytes, kernel.max_workspace_bytes());
  kernel.launch(args, nullptr);
  const auto launches = fake::launches();
  ASSERT_EQ(launches.size(), 2U);
  for (const auto& launch : launches) {
    EXPECT_EQ(launch.carveout, 100) << launch.kernel << " may wait for SMs to be empty";
  }
  EXPECT_EQ(launches[0].kernel, kernel.plan().before[0].name);
  EXPECT_EQ(launches[1].kernel, kernel.plan().kernels[kernel.plan().kernel_for(args.m)].name);
  --args.workspace.bytes;
  EXPECT_EQ(code_of([&] { kernel.launch(args, nullptr); }), "launch.workspace");
  args.m = 9;
  EXPECT_EQ(code_of([&] { kernel.launch(args, nullptr); }), "launch.m");
  EXPECT_EQ(fake::launches().size(), 2U);
}

TEST_F(LoadTest, WhatIsKnownOfADeviceByItsNameIsAdded) {
  const auto target_of = [](const fake::Device& device) {
    {
      const std::lock_guard<std::mutex> lock(fake::state().mutex);
      fake::state().devices = {device};
    }
    return Runtime().device_target();
  };
  fake::Device device = fake::device_of("NVIDIA H200", 9, 0);
  EXPECT_GT(target_of(device).tensor_tflops, 0);
  EXPECT_NEAR(target_of(device).memory_gb_per_s, 4800, 50);
  device.attributes.erase(cuda::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  EXPECT_EQ(target_of(device).memory_gb_per_s, 4800) << "which newer drivers do not say";
  EXPECT_EQ(target_of(device).sm_mhz, target_from_name("h200").sm_mhz);
  device.name = "Another";
  EXPECT_EQ(target_of(device).memory_gb_per_s, 0);
  EXPECT_GT(target_of(device).sm_mhz, 0);
  EXPECT_EQ(target_of(device).tensor_tflops, 0);
}

TEST_F(LoadTest, NoDevice) {
  {
    const std::lock_guard<std::mutex> lock(fake::state().mutex);
    fake::state().devices.clear();
  }
  std::string why;
  Runtime runtime(options_);
  EXPECT_FALSE(runtime.has_device(&why));
  EXPECT_NE(why.find("no device"), std::string::npos);
  EXPECT_EQ(code_of([&] { runtime.kernel(dequantize_spec()); }).rfind("driver.", 0), 0U);
}

}  // namespace
}  // namespace heddle
