// PendingRequests: the specs whose kernels prepare() has begun to make in the background.
#ifndef HEDDLE_RUNTIME_PENDING_REQUESTS_H_
#define HEDDLE_RUNTIME_PENDING_REQUESTS_H_

#include <map>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "heddle/runtime.h"
#include "heddle/spec.h"
#include "runtime/cuda_abi.h"
#include "runtime/spec_meaning.h"

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
  // The first one stays, unless it has failed. Returns the one that stays.
  Request put(cuda::CUdevice device, const Spec& spec, const Request& request);

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Spec, std::map<cuda::CUdevice, Request>, MeaningHash, SameMeaning> requests_;
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_PENDING_REQUESTS_H_
