// FirstSpec: a spec whose urgent kernels prepare() makes, and whose others the background makes.
#ifndef HEDDLE_RUNTIME_PREPARE_FIRST_SPEC_H_
#define HEDDLE_RUNTIME_PREPARE_FIRST_SPEC_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "generator/planner/stand_in.h"
#include "heddle/inspect/source.h"
#include "runtime/prepare/preparation.h"
#include "runtime/runtime_impl.h"

namespace heddle {

using Code = std::shared_ptr<const LoadedKernel>;

// `built` and `code` are of its plan's kernels, in their order.
struct FirstSpec {
  std::size_t number = 0;  // in the caller's list
  Plan plan;
  std::vector<Source> sources;
  std::vector<bool> is_first;      // needed before prepare() returns
  std::vector<BuildResult> built;  // without a binary: left to the background
  std::vector<Code> code;          // null: the same
  // What serves meanwhile, if anything is left to the background.
  std::optional<StandIn> stand_in;
  std::optional<Source> general;
  BuildResult general_built;
  std::optional<Kernel> meanwhile;

  std::size_t missing() const {
    return static_cast<std::size_t>(std::count(code.begin(), code.end(), nullptr));
  }
  // The ranges of M whose final kernels are left to the background.
  std::vector<MRange> stood_in() const;
};

// Makes what the background has been left, on its thread and in the context of the device. Logs
// what it throws: Error(kCancelled) once the work is cancelled or the runtime is being destroyed.
Kernel make_rest(Runtime::Impl* impl, FirstSpec* spec, cuda::CUdevice device, BackgroundWork* work);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_PREPARE_FIRST_SPEC_H_
