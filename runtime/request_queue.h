// RequestQueue: one thread that makes kernels in the background.
#ifndef HEDDLE_RUNTIME_REQUEST_QUEUE_H_
#define HEDDLE_RUNTIME_REQUEST_QUEUE_H_

#include <unistd.h>

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
};

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

 private:
  struct Job {
    cuda::CUcontext context = nullptr;
    Make make;
    std::promise<Kernel> promise;
  };
  // What the thread and the others share; `mutex` guards all of it.
  struct Shared {
    std::mutex mutex;
    std::condition_variable wake;
    std::deque<Job> jobs;
    bool stop = false;
  };

  static void work(Shared* shared);

  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  std::thread thread_;  // guarded by shared_->mutex, as is the next
  pid_t owner_ = -1;    // the process that the thread runs in
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_REQUEST_QUEUE_H_
