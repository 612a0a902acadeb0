// KernelRequest::State: one attempt at making a kernel, and what serves until it has succeeded.
#ifndef HEDDLE_RUNTIME_PREPARE_KERNEL_REQUEST_H_
#define HEDDLE_RUNTIME_PREPARE_KERNEL_REQUEST_H_

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "heddle/kernel.h"
#include "heddle/runtime.h"

namespace heddle {

// A capture that has got a stand-in, and goes on with it.
struct StandInCapture {
  std::uint64_t id = 0;
  Kernel kernel;
};

struct KernelRequest::State {
  std::shared_future<Kernel> result;
  std::optional<Kernel> stand_in;
  // Ranges of M that `stand_in` does not serve by the kernels of `result`.
  std::vector<MRange> stood_in;
  // That of the KernelTable, which the request may outlive: guards the members below.
  std::shared_ptr<std::shared_mutex> mutex;
  // Never null. A request that takes the place of a failed one shares it, so that captures get the
  // same kernel from either.
  std::shared_ptr<std::vector<StandInCapture>> captures =
      std::make_shared<std::vector<StandInCapture>>();
  // Launches outside of captures have got `result`.
  bool adopted = false;

  bool has_ended() const;
  // Whether it has ended without a kernel.
  bool has_failed() const;
};

using Request = std::shared_ptr<KernelRequest::State>;

std::shared_future<Kernel> ready_future(const Kernel& kernel);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_PREPARE_KERNEL_REQUEST_H_
