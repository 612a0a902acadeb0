#include "fake_driver.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace heddle::fake {

State& state() {
  // Never destroyed: kernels are released while the process exits.
  static State& state = *[] {
    auto* made = new State;
    const char* const name = std::getenv("FAKE_GPU_NAME");
    const char* const count = std::getenv("FAKE_GPU_COUNT");
    made->devices.assign(count != nullptr ? std::strtoul(count, nullptr, 10) : 1,
                         device_of(name != nullptr ? name : "Fake H200", 9, 0));
    // For a program that is started anew to see a driver without some functions.
    if (const char* missing = std::getenv("FAKE_DRIVER_MISSING")) {
      std::istringstream names(missing);
      for (std::string name; names >> name;) made->missing.insert(name);
    }
    if (const char* result = std::getenv("FAKE_DRIVER_INIT")) {
      made->failures["cuInit"] = {std::atoi(result), 0, -1};
    }
    // A child must not find the books locked by a thread that it lacks.
    pthread_atfork([] { fake::state().mutex.lock(); }, [] { fake::state().mutex.unlock(); },
                   [] { fake::state().mutex.unlock(); });
    return made;
  }();
  return state;
}

Device device_of(const std::string& name, int major, int minor) {
  Device device;
  device.name = name;
  device.attributes = {
      {cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, major},
      {cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, minor},
      {cuda::CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1'980'000},
      {cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
      {cuda::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, major >= 9 ? 232448 : 166912},
      {cuda::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
       major >= 9 ? 233472 : 167936},
      {cuda::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
      {cuda::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
      {cuda::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 50 << 20},
      {cuda::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 3'201'000},
      {cuda::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 6016},
  };
  return device;
}

int& capture_mode() {
  static thread_local int mode = 0;
  return mode;
}

void reset() {
  capture_mode() = 0;
  State& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  s.devices = {device_of("Fake H200", 9, 0)};
  s.failures.clear();
  s.calls.clear();
  s.launches.clear();
  s.work_of = nullptr;
  s.allocate = nullptr;
}

void fail(const std::string& call, int result, int skip, int times) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().failures[call] = {result, skip, times};
}

void heal() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().failures.clear();
}

std::vector<std::string> calls() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().calls;
}

int count(const std::string& call) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return static_cast<int>(std::count(state().calls.begin(), state().calls.end(), call));
}

std::vector<Launch> launches() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().launches;
}

int live_libraries() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return static_cast<int>(state().libraries.size());
}

std::size_t live_device_bytes() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  std::size_t sum = 0;
  for (const auto& [memory, bytes] : state().device_memory) sum += bytes;
  return sum;
}

std::size_t live_host_bytes() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  std::size_t sum = 0;
  for (const auto& [memory, bytes] : state().host_memory) sum += bytes;
  return sum;
}

int live_events() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return static_cast<int>(state().events.size());
}

int copies_under_way() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return static_cast<int>(state().copies.size());
}

int live_references() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  int sum = 0;
  for (const Device& device : state().devices) sum += device.retained;
  return sum;
}

}  // namespace heddle::fake
