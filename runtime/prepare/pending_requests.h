// PendingRequests: the specs whose kernels prepare() has begun to make in the background.
#ifndef HEDDLE_RUNTIME_PREPARE_PENDING_REQUESTS_H_
#define HEDDLE_RUNTIME_PREPARE_PENDING_REQUESTS_H_

#include <functional>
#include <map>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "heddle/runtime.h"
#include "heddle/spec.h"
#include "runtime/driver/cuda_abi.h"
#include "runtime/prepare/spec_meaning.h"

namespace heddle {

// Thread-safe. A spec stays after its kernels are there: a capture that began with the stand-in
// must go on with it.
class PendingRequests {
 public:
  using Request = std::shared_ptr<KernelRequest::State>;

  // Whether any device has one, told without the driver.
  bool has(const Spec& spec) const;
  // Null if there is none.
  Request find(cuda::CUdevice device, const Spec& spec) const;
  // Makes the request that takes the place of a failed one, or of none: then `failed` is null.
  using Begin = std::function<Request(const KernelRequest::State* failed)>;
  // The request of the spec that is there and has not failed; else what begin() returns. begin() is
  // called by at most one thread at a time and calls no function of this object. Of several callers
  // only the first begins any work.
  Request find_or_begin(cuda::CUdevice device, const Spec& spec, const Begin& begin);

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Spec, std::map<cuda::CUdevice, Request>, MeaningHash, SameMeaning> requests_;
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_PREPARE_PENDING_REQUESTS_H_
