// RequestQueue: one thread that makes kernels in the background.
#ifndef HEDDLE_RUNTIME_PREPARE_REQUEST_QUEUE_H_
#define HEDDLE_RUNTIME_PREPARE_REQUEST_QUEUE_H_

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "heddle/kernel.h"
#include "runtime/driver/cuda_abi.h"

namespace heddle {

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
