#include "runtime/prepare/request_queue.h"

#include <exception>
#include <utility>

#include "heddle/error.h"
#include "runtime/driver/context.h"
#include "runtime/driver/driver.h"

namespace heddle {
namespace {

// Makes a context current for a scope, on a thread that has none. Other threads may capture
// meanwhile.
class PushedContext {
 public:
  explicit PushedContext(cuda::CUcontext context) : relaxed_(cuda::driver()) {
    relaxed_.check();
    cuda::check(cuda::driver().cuCtxPushCurrent(context), "cuCtxPushCurrent");
  }
  ~PushedContext() {
    cuda::CUcontext popped = nullptr;
    cuda::driver().cuCtxPopCurrent(&popped);
  }
  PushedContext(const PushedContext&) = delete;
  PushedContext& operator=(const PushedContext&) = delete;

 private:
  cuda::RelaxedCaptures relaxed_;
};

}  // namespace

RequestQueue::~RequestQueue() {
  if (!thread_.joinable()) return;
  if (owner_ != ::getpid()) {
    // A forked child has the object, but not the thread: to destroy what that waited on would wait
    // for it for ever.
    thread_.detach();
    static_cast<void>(shared_.release());
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(shared_->mutex);
    shared_->stop = true;
  }
  shared_->wake.notify_one();
  thread_.join();
  const Error cancelled(ErrorCategory::kCancelled, "runtime.cancelled",
                        "the Runtime was destroyed before the kernel was made");
  for (Job& job : shared_->jobs) job.promise.set_exception(std::make_exception_ptr(cancelled));
}

std::shared_future<Kernel> RequestQueue::add(cuda::CUcontext context, Make make) {
  Job job{context, std::move(make), {}};
  std::shared_future<Kernel> future = job.promise.get_future().share();
  {
    const std::lock_guard<std::mutex> lock(shared_->mutex);
    if (!thread_.joinable()) {
      thread_ = std::thread(work, shared_.get());
      owner_ = ::getpid();
    }
    shared_->jobs.push_back(std::move(job));
  }
  shared_->wake.notify_one();
  return future;
}

void RequestQueue::work(Shared* shared) {
  for (;;) {
    Job job;
    {
      std::unique_lock<std::mutex> lock(shared->mutex);
      shared->wake.wait(lock, [shared] { return shared->stop || !shared->jobs.empty(); });
      if (shared->stop) return;
      job = std::move(shared->jobs.front());
      shared->jobs.pop_front();
    }
    try {
      const PushedContext context(job.context);
      job.promise.set_value(job.make());
    } catch (...) {
      job.promise.set_exception(std::current_exception());
    }
  }
}

}  // namespace heddle
