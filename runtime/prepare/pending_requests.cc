#include "runtime/prepare/pending_requests.h"

#include <mutex>

#include "runtime/prepare/request_queue.h"

namespace heddle {

bool PendingRequests::has(const Spec& spec) const {
  const std::shared_lock lock(mutex_);
  return !requests_.empty() && requests_.find(spec) != requests_.end();
}

PendingRequests::Request PendingRequests::find(cuda::CUdevice device, const Spec& spec) const {
  const std::shared_lock lock(mutex_);
  const auto of_spec = requests_.find(spec);
  if (of_spec == requests_.end()) return nullptr;
  const auto found = of_spec->second.find(device);
  return found == of_spec->second.end() ? nullptr : found->second;
}

PendingRequests::Request PendingRequests::find_or_begin(cuda::CUdevice device, const Spec& spec,
                                                        const Begin& begin) {
  const std::lock_guard lock(mutex_);
  Request& place = requests_[spec][device];
  if (place == nullptr || place->has_failed()) place = begin(place.get());
  return place;
}

}  // namespace heddle
