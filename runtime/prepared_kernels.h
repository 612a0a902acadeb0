// PreparedKernels: the loaded kernels that a Runtime keeps, by device and spec.
#ifndef HEDDLE_RUNTIME_PREPARED_KERNELS_H_
#define HEDDLE_RUNTIME_PREPARED_KERNELS_H_

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "heddle/kernel.h"
#include "heddle/spec.h"
#include "runtime/cuda_abi.h"

namespace heddle {

// Whether a kernel of `general` computes what one of `wanted` does, for every M of it: they differ
// at most in tile, path, name, and a range of M that is wider. Pure.
bool serves(const Spec& general, const Spec& wanted);

// Thread-safe.
class PreparedKernels {
 public:
  std::optional<Kernel> find(cuda::CUdevice device, const Spec& spec) const;
  // Whether any device has it, so that a miss can be told without asking the driver for one.
  bool has(const Spec& spec) const;
  // Any that serves() the spec.
  std::optional<Kernel> find_general(cuda::CUdevice device, const Spec& spec) const;
  // The first one stays.
  Kernel put(cuda::CUdevice device, const Kernel& kernel);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::map<cuda::CUdevice, Kernel>> kernels_;  // by canonical text
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_PREPARED_KERNELS_H_
