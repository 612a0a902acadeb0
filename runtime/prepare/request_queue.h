// RequestQueue: one thread that makes kernels in the background.
#ifndef HEDDLE_RUNTIME_PREPARE_REQUEST_QUEUE_H_
#define HEDDLE_RUNTIME_PREPARE_REQUEST_QUEUE_H_

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "heddle/kernel.h"
#include "heddle/runtime.h"
#include "runtime/driver/cuda_abi.h"

namespace heddle {

// Captures that have got a kernel that stands in for another, and which. A request that takes the
// place of a failed one shares its captures, so they get the same kernel from either.
struct StandInCaptures {
  struct Capture {
    std::uint64_t id = 0;
    Kernel kernel;
  };

  std::mutex mutex;               // also guards KernelRequest::State::adopted
  std::vector<Capture> captures;  // guarded by mutex
};

struct KernelRequest::State {
  std::shared_future<Kernel> special;
  std::optional<Kernel> general;
  // Never null, and never another one once threads share the request.
  std::shared_ptr<StandInCaptures> stood_in_captures = std::make_shared<StandInCaptures>();
  // `special` has taken over. Guarded by the mutex of `stood_in_captures`.
  bool adopted = false;
  // Ranges of M that `general` does not serve by the kernels of `special`. Never changes.
  std::vector<MRange> stood_in{};

  bool has_ended() const;
  // Whether it has ended without a kernel.
  bool has_failed() const;
};

std::shared_future<Kernel> ready_future(const Kernel& kernel);

// The request of a kernel that is there.
KernelRequest ready_request(const Kernel& kernel);
// What takes the place of a request that has failed, with the same stand-in: captures go on with
// what it gave them.
std::shared_ptr<KernelRequest::State> retried(const KernelRequest::State& failed,
                                              std::shared_future<Kernel> special);

// Thread-safe. The thread starts with the first request.
class RequestQueue {
 public:
  using Make = std::function<Kernel()>;

  RequestQueue() = default;
  // Waits for what is being made; what has not begun fails with Error(kCancelled).
  ~RequestQueue();
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;

  // Runs make() in `context`, without breaking the captures of other threads.
  std::shared_future<Kernel> add(cuda::CUcontext context, Make make);
  // Whether it is being destroyed: what runs may then end early, by throwing.
  bool stopping() const noexcept { return shared_->stop; }

 private:
  struct Job {
    cuda::CUcontext context = nullptr;
    Make make;
    std::promise<Kernel> promise;
  };
  // What the thread and the others share; `mutex` guards all of it, but `stop` may be read without.
  struct Shared {
    std::mutex mutex;
    std::condition_variable wake;
    std::deque<Job> jobs;
    std::atomic<bool> stop{false};
  };

  static void work(Shared* shared);

  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  std::thread thread_;  // guarded by shared_->mutex, as is the next
  pid_t owner_ = -1;    // the process that the thread runs in
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_PREPARE_REQUEST_QUEUE_H_
