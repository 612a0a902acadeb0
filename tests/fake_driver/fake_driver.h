// The controls and the books of the fake driver. Thread-safe.
#ifndef HEDDLE_TESTS_FAKE_DRIVER_FAKE_DRIVER_H_
#define HEDDLE_TESTS_FAKE_DRIVER_FAKE_DRIVER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/driver/cuda_abi.h"

namespace heddle::fake {

struct Device {
  std::string name = "Fake H200";
  std::map<int, int> attributes;  // by CUdevice_attribute
  std::size_t memory_bytes = std::size_t{141} << 30;
  int retained = 0;  // references to its primary context
};

// One that can be planned for.
Device device_of(const std::string& name, int major, int minor);

struct Launch {
  std::string kernel;
  cuda::CUlaunchConfig config{};
  bool captured = false;
  int carveout = -1;  // what the kernel prefers; negative: it said nothing
};

struct Failure {
  int result = 0;
  int skip = 0;   // calls that still succeed
  int times = 0;  // calls that then fail; negative: all
};

// What a cubin that was loaded turned into.
struct Library {
  std::string image;  // its first bytes, for telling them apart
  std::size_t image_bytes = 0;
};
struct LoadedFunction {
  Library* library = nullptr;
  std::string name;
  std::map<int, int> limits;     // of dynamic shared memory, by device
  std::map<int, int> carveouts;  // percent of shared memory that it prefers, by device
};
using Work = std::function<void()>;
struct FakeGraph {
  std::vector<Work> work;  // of its launches, in order
};
struct FakeStream {
  bool capturing = false;
  int mode = 0;                  // of the capture
  std::thread::id thread{};      // that has begun it
  std::uint64_t capture = 0;     // the number of the last one
  bool broken = false;           // the capture was broken by a forbidden call
  std::vector<Work> captured{};  // by the capture that goes on
};

struct FakeCopy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  cuda::CUstream stream = nullptr;
  std::uint64_t number = 0;
};
// Stands behind the copies of the stream that were asked for before number `end`.
struct FakeEvent {
  cuda::CUstream stream = nullptr;
  std::uint64_t end = 0;
  std::uint64_t replayed = 0;  // launches that graphs had replayed then
};

// The state behind the entry points. Lock `mutex` to look at it.
struct State {
  std::mutex mutex;
  std::vector<Device> devices;
  std::map<std::string, Failure> failures;
  std::vector<std::string> calls;  // in order
  std::vector<Launch> launches;
  std::set<Library*> libraries;
  std::set<LoadedFunction*> functions;
  std::set<FakeStream*> streams;
  std::set<FakeGraph*> graphs;  // those that can be launched are graphs of their own
  std::map<void*, std::size_t> device_memory;
  std::map<void*, std::size_t> host_memory;  // page-locked
  std::uint64_t replayed = 0;                // launches that graphs have replayed
  std::set<FakeEvent*> events;
  std::vector<FakeCopy> copies;   // asked for and not made yet
  std::uint64_t copy_count = 0;   // that were asked for
  std::uint64_t captures = 0;     // that have begun
  std::set<std::string> missing;  // functions that this driver does not have
  // What a launch with these parameters does. It is done in the stream's order: at once, or each
  // time that a graph is launched in which it was captured. Empty: nothing is done.
  std::function<Work(const Launch& launch, void** parameters)> work_of;
  // Where device memory comes from; empty: the process's own, filled with 0xFF.
  std::function<void*(std::size_t bytes)> allocate;
  // For counting allocations and time: launches succeed and are counted, the current context and
  // its device are told, and nothing else is done; no books, no failures.
  std::atomic<bool> quiet{false};
  std::atomic<int> quiet_launches{0};
};

State& state();
// Capture mode of the calling thread; 0, global, as in a new driver.
int& capture_mode();

// One device, nothing loaded, no failures, empty books, this thread's capture mode as at first, no
// work in launches.
void reset();
void fail(const std::string& call, int result, int skip = 0, int times = -1);
void heal();  // no failures
std::vector<std::string> calls();
int count(const std::string& call);
std::vector<Launch> launches();
int live_libraries();
int live_references();          // to primary contexts
std::size_t live_host_bytes();  // page-locked
std::size_t live_device_bytes();
int live_events();
int copies_under_way();
// A context of the device that is not its primary one, as cuCtxCreate() makes them.
cuda::CUcontext own_context(int device);

}  // namespace heddle::fake

#endif  // HEDDLE_TESTS_FAKE_DRIVER_FAKE_DRIVER_H_
