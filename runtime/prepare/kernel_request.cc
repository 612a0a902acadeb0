#include "runtime/prepare/kernel_request.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "heddle/error.h"
#include "runtime/driver/context.h"
#include "runtime/driver/driver.h"

namespace heddle {

bool KernelRequest::State::has_ended() const {
  return result.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

bool KernelRequest::State::has_failed() const {
  if (!has_ended()) return false;
  try {
    result.get();
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

KernelRequest::KernelRequest(std::shared_ptr<State> state) : state_(std::move(state)) {}

bool KernelRequest::ready() const { return state_->has_ended(); }

Kernel KernelRequest::wait() const {
  cuda::refuse_forked();  // the child has no thread that would end it
  return state_->result.get();
}

Kernel KernelRequest::kernel(Stream stream) const {
  cuda::refuse_forked();
  State& state = *state_;
  if (!state.stand_in) {
    if (ready()) return state.result.get();
    throw Error(ErrorCategory::kMissing, "runtime.not_ready",
                "the kernel is still being made, and no prepared one can stand in for it");
  }
  {
    const std::shared_lock lock(*state.mutex);
    if (state.adopted && state.captures->empty()) return state.result.get();
  }
  const std::optional<std::uint64_t> capture = cuda::capture_of(stream);
  const std::lock_guard lock(*state.mutex);
  if (capture) {
    const auto known = std::find_if(state.captures->begin(), state.captures->end(),
                                    [&](const StandInCapture& one) { return one.id == *capture; });
    if (known != state.captures->end()) return known->kernel;
  }
  // Which capture kSomeCapture is cannot be told: it may be one that has begun with the stand-in.
  // A request that has failed never takes over; wait() tells why.
  const bool may_begin = state.adopted || capture != cuda::kSomeCapture;
  if (may_begin && ready() && !state.has_failed()) {
    state.adopted = true;
    return state.result.get();
  }
  if (capture) state.captures->push_back({*capture, *state.stand_in});
  return *state.stand_in;
}

}  // namespace heddle
