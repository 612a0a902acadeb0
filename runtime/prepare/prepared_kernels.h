// PreparedKernels: the loaded kernels that a Runtime keeps, by device and spec.
#ifndef HEDDLE_RUNTIME_PREPARE_PREPARED_KERNELS_H_
#define HEDDLE_RUNTIME_PREPARE_PREPARED_KERNELS_H_

#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

#include "heddle/kernel.h"
#include "heddle/spec.h"
#include "runtime/driver/cuda_abi.h"
#include "runtime/prepare/spec_meaning.h"

namespace heddle {

// Whether a kernel of `general` computes what one of `wanted` does, for every M of it: they differ
// at most in tile, path, name, and a range of M that is wider. Pure.
bool serves(const Spec& general, const Spec& wanted);

// Thread-safe. One lock for each call, held over no other work than finding the spec.
class PreparedKernels {
 public:
  using ByDevice = std::map<cuda::CUdevice, Kernel>;

  // The kernels of one spec, by device; nullptr if no device has one, so that a miss can be told
  // without asking the driver for the device.
  std::shared_ptr<const ByDevice> of(const Spec& spec) const;
  std::optional<Kernel> find(cuda::CUdevice device, const Spec& spec) const;
  // Any that serves() the spec.
  std::optional<Kernel> find_general(cuda::CUdevice device, const Spec& spec) const;
  // The first one stays, and is returned.
  Kernel put(cuda::CUdevice device, const Kernel& kernel);
  // The last one stays, and is returned: the same code, for users that also launch a stand-in.
  Kernel replace(cuda::CUdevice device, const Kernel& kernel);

 private:
  enum class Stays { kFirst, kLast };
  Kernel put(cuda::CUdevice device, const Kernel& kernel, Stays stays);

  mutable std::shared_mutex mutex_;
  // What is pointed to never changes: put() and replace() make it anew.
  std::unordered_map<Spec, std::shared_ptr<const ByDevice>, MeaningHash, SameMeaning> kernels_;
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_PREPARE_PREPARED_KERNELS_H_
