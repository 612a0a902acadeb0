// The arguments of an entry point in the order of its plan, as the driver wants them.
#ifndef HEDDLE_RUNTIME_LAUNCH_ARGUMENT_LIST_H_
#define HEDDLE_RUNTIME_LAUNCH_ARGUMENT_LIST_H_

#include "generator/operations/kernel_argument.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// Lives on the caller's stack for one launch. The driver copies the values during the launch and
// writes to none of them.
class ArgumentList {
 public:
  // `value` stays where it is until the launch: a pointer, a number or a tensor map.
  void set(KernelArgument argument, const void* value) noexcept {
    values_[static_cast<int>(argument)] = const_cast<void*>(value);
  }
  // Precondition: every argument of the kernel has been set.
  void** of(const PlannedKernel& kernel) noexcept {
    void** place = list_;
    for (const KernelArgument argument : kernel.arguments) {
      *place++ = values_[static_cast<int>(argument)];
    }
    return list_;
  }

 private:
  void* values_[kKernelArguments] = {};
  void* list_[kKernelArguments] = {};
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_LAUNCH_ARGUMENT_LIST_H_
