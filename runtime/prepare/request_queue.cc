#include "runtime/prepare/request_queue.h"

#include <algorithm>
#include <chrono>
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

bool KernelRequest::State::has_ended() const {
  return special.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

bool KernelRequest::State::has_failed() const {
  if (!has_ended()) return false;
  try {
    special.get();
    return false;
  } catch (...) {
    return true;
  }
}

std::shared_future<Kernel> ready_future(const Kernel& kernel) {
  std::promise<Kernel> promise;
  promise.set_value(kernel);
  return promise.get_future().share();
}

KernelRequest ready_request(const Kernel& kernel) {
  auto state = std::make_shared<KernelRequest::State>();
  state->special = ready_future(kernel);
  return KernelRequest(std::move(state));
}

std::shared_ptr<KernelRequest::State> retried(const KernelRequest::State& failed,
                                              std::shared_future<Kernel> special) {
  auto state = std::make_shared<KernelRequest::State>();
  state->special = std::move(special);
  state->general = failed.general;
  state->stood_in_captures = failed.stood_in_captures;
  state->stood_in = failed.stood_in;
  return state;
}

KernelRequest::KernelRequest(std::shared_ptr<State> state) : state_(std::move(state)) {}

bool KernelRequest::ready() const { return state_->has_ended(); }

Kernel KernelRequest::wait() const {
  cuda::refuse_forked();  // the child has no thread that would end it
  return state_->special.get();
}

Kernel KernelRequest::kernel(Stream stream) const {
  cuda::refuse_forked();
  const std::lock_guard<std::mutex> lock(state_->stood_in_captures->mutex);
  std::vector<StandInCaptures::Capture>& captures = state_->stood_in_captures->captures;
  if (state_->adopted && captures.empty()) return state_->special.get();
  const bool done = ready();
  if (!state_->general) {
    if (done) return state_->special.get();
    throw Error(ErrorCategory::kMissing, "runtime.not_ready",
                "the kernel is still being made, and no prepared one can stand in for it");
  }
  const std::optional<std::uint64_t> capture = cuda::capture_of(stream);
  if (capture) {
    const auto known = std::find_if(captures.begin(), captures.end(),
                                    [&](const auto& one) { return one.id == *capture; });
    if (known != captures.end()) return known->kernel;
  }
  if (done && (state_->adopted || capture != cuda::kSomeCapture)) {
    try {
      Kernel kernel = state_->special.get();
      state_->adopted = true;
      return kernel;
    } catch (const Error&) {
      // wait() tells why. It never takes over, but what is tried in its place may: see retried().
    }
  }
  if (capture) captures.push_back({*capture, *state_->general});
  return *state_->general;
}

}  // namespace heddle
