#include "runtime/prepare/preparation.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace heddle {

Preparation::Preparation(std::shared_ptr<State> state) : state_(std::move(state)) {}

const std::vector<KernelRequest>& Preparation::requests() const noexcept {
  return state_->requests;
}

PreparationStatus Preparation::status() const {
  PreparationStatus status;
  const auto& requests = state_->requests;
  // Asked first, so that whoever sees the end sees all that was done.
  status.ended = std::all_of(requests.begin(), requests.end(),
                             [](const KernelRequest& request) { return request.ready(); });
  status.done = state_->work->done;
  status.total = state_->work->total;
  return status;
}

void Preparation::wait() const {
  std::exception_ptr first;
  for (const KernelRequest& request : state_->requests) {
    try {
      request.wait();
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

void Preparation::cancel() const { state_->work->cancelled = true; }

}  // namespace heddle
