// fake_driver: the tests' libcuda.so.1 under Python. Importing it loads that library under its
// name, so that Heddle takes it; tests/fake_driver tells what it does.
#include "tests/fake_driver/fake_driver.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "heddle/operations.h"
#include "heddle/runtime.h"
#include "runtime/driver/driver.h"

namespace nb = nanobind;

namespace heddle {
namespace {

using nb::arg;

void reset() { fake::reset(); }

void add_device(const std::string& name, int major, int minor) {
  const std::lock_guard lock(fake::state().mutex);
  fake::state().devices.push_back(fake::device_of(name, major, minor));
}

void set_current(int device) {
  cuda::CUcontext context = nullptr;
  cuda::check(cuda::driver().cuDevicePrimaryCtxRetain(&context, device), "retain");
  cuda::check(cuda::driver().cuCtxPushCurrent(context), "push");
}

void drop_current(int device) {
  cuda::CUcontext popped = nullptr;
  cuda::driver().cuCtxPopCurrent(&popped);
  cuda::driver().cuDevicePrimaryCtxRelease(device);
}

std::uintptr_t make_stream() {
  cuda::CUstream stream = nullptr;
  cuda::check(cuda::driver().cuStreamCreate(&stream, 0), "create");
  return reinterpret_cast<std::uintptr_t>(stream);
}

// The kernels that were launched and the streams they went to.
nb::list launches() {
  nb::list all;
  for (const fake::Launch& launch : fake::launches()) {
    all.append(
        nb::make_tuple(launch.kernel, reinterpret_cast<std::uintptr_t>(launch.config.hStream)));
  }
  return all;
}

void set_quiet(bool quiet) { fake::state().quiet = quiet; }

// Nanoseconds of a launch of a gemm without epilogue in C++, on the quiet driver: the least of the
// rounds, each of so many launches.
double launch_ns(const std::string& spec, std::int64_t m, int times, int rounds) {
  Runtime runtime;
  const auto kernel = runtime.kernel<GemmKernel>(Spec::parse(spec));
  const auto memory = [](std::uintptr_t address) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): only the values matter.
    return DeviceOutput{reinterpret_cast<void*>(address), PTRDIFF_MAX};
  };
  GemmArgs args;
  args.x = memory(0x1000);
  args.weights = memory(0x2000);
  args.y = memory(0x3000);
  args.workspace = memory(0x4000);
  args.m = m;
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) kernel.launch(args, nullptr);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    least = std::min(least, took.count() / times);
  }
  return least;
}

}  // namespace
}  // namespace heddle

NB_MODULE(fake_driver, m) {
  using namespace heddle;
  m.def("reset", &reset, "One device, an H200, nothing loaded, empty books.");
  m.def("add_device", &add_device, arg("name"), arg("major"), arg("minor"));
  m.def("set_current", &set_current, arg("device"), "Makes its primary context current.");
  m.def("drop_current", &drop_current, arg("device"));
  m.def("make_stream", &make_stream);
  m.def("launches", &launches);
  m.def(
      "fail", [](const std::string& call, int result) { fake::fail(call, result); }, arg("call"),
      arg("result"));
  m.def("heal", &fake::heal);
  m.def("live_libraries", &fake::live_libraries);
  m.def("live_host_bytes", &fake::live_host_bytes);
  m.def("set_quiet", &set_quiet, arg("quiet"), "Launches then succeed and keep no books.");
  m.def("launch_ns", &launch_ns, arg("spec"), arg("m"), arg("times"), arg("rounds"),
        nb::call_guard<nb::gil_scoped_release>());
  m.def("allocate", [](std::size_t bytes) {
    cuda::CUdeviceptr memory{};
    cuda::check(cuda::driver().cuMemAlloc(&memory, bytes), "alloc");
    return static_cast<std::uintptr_t>(memory);
  });
  m.def("read", [](std::uintptr_t memory, std::size_t bytes) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): what allocate() returned.
    return nb::bytes(reinterpret_cast<const void*>(memory), bytes);
  });
}
