// What the launches of one kernel of a plan are, looked up rather than computed.
#ifndef HEDDLE_RUNTIME_LAUNCH_LAUNCH_TABLE_H_
#define HEDDLE_RUNTIME_LAUNCH_LAUNCH_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/inspect/plan.h"

namespace heddle {

// Immutable once made. Holds the launches of all usual sizes where they depend on the size alone,
// because computing one can be slow: which tiles thread blocks share is a search.
class LaunchTable {
 public:
  // The table of plan.kernel(index).
  LaunchTable(const Plan& plan, std::size_t index);
  // `plan` is the same one. Precondition: the kernel serves the size.
  KernelLaunch at(const Plan& plan, const LaunchSize& size) const noexcept;

 private:
  std::size_t index_;
  std::int64_t step_;       // 0: launches depend on more than the size
  std::int64_t first_ = 0;  // steps of the least size
  std::vector<KernelLaunch> launches_;
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_LAUNCH_LAUNCH_TABLE_H_
