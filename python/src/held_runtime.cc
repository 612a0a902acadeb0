#include "held_runtime.h"

#include <nanobind/nanobind.h>

#include <chrono>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "errors.h"

namespace heddle::python {
namespace {

constexpr auto kMostWait = std::chrono::seconds(60);
constexpr auto kLook = std::chrono::milliseconds(5);

// Never destroyed, because threads may outlive static objects.
struct Registry {
  std::mutex mutex;
  std::set<HeldRuntime*> runtimes;
};
Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

}  // namespace

HeldRuntime::HeldRuntime(RuntimeOptions options)
    : runtime_(std::make_shared<Runtime>(std::move(options))) {
  const std::lock_guard lock(registry().mutex);
  registry().runtimes.insert(this);
}

HeldRuntime::~HeldRuntime() {
  // The background is waited for, and its callbacks need the GIL.
  const nanobind::gil_scoped_release release;
  {
    const std::lock_guard lock(registry().mutex);
    registry().runtimes.erase(this);
  }
  take().reset();
}

std::shared_ptr<Runtime> HeldRuntime::operator->() const {
  const std::lock_guard lock(mutex_);
  if (!runtime_) refuse("runtime.ended", "the interpreter is ending, and all runtimes with it");
  return runtime_;
}

std::shared_ptr<Runtime> HeldRuntime::take() {
  const std::lock_guard lock(mutex_);
  return std::move(runtime_);
}

void end_runtimes() {
  std::vector<std::weak_ptr<Runtime>> in_use;
  {
    const std::lock_guard lock(registry().mutex);
    for (HeldRuntime* const one : registry().runtimes) in_use.emplace_back(one->take());
  }
  const auto end = std::chrono::steady_clock::now() + kMostWait;
  for (const std::weak_ptr<Runtime>& one : in_use) {
    while (!one.expired() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(kLook);
    }
  }
}

}  // namespace heddle::python
