// RequestQueue: one thread that makes kernels in the background.
#ifndef HEDDLE_RUNTIME_REQUEST_QUEUE_H_
#define HEDDLE_RUNTIME_REQUEST_QUEUE_H_

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
#include "runtime/cuda_abi.h"

namespace heddle {

struct KernelRequest::State {
  std::shared_future<Kernel> special;
  std::optional<Kernel> general;
  std::mutex mutex;
  // Guarded by mutex: `special` has taken over; captures that have got `general`.
  bool adopted = false;
  std::vector<std::uint64_t> general_captures;
  // Ranges of M that `general` does not serve by the kernels of `special`. Never changes.
  std::vector<MRange> stood_in{};

  bool has_ended() const;
  // Whether it has ended without a kernel.
  bool has_failed() const;
};

std::shared_future<Kernel> ready_future(const Kernel& kernel);

// The request of a kernel that is there.
KernelRequest ready_request(const Kernel& kernel);
// What takes the place of a request that has failed: captures go on with what it gave them.
std::shared_ptr<KernelRequest::State> retried(KernelRequest::State* failed,
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

#endif  // HEDDLE_RUNTIME_REQUEST_QUEUE_H_
