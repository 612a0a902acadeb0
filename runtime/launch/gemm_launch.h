// What a launch of a GEMM is: its arguments' contract, which needs no GPU, and the launch.
#ifndef HEDDLE_RUNTIME_LAUNCH_GEMM_LAUNCH_H_
#define HEDDLE_RUNTIME_LAUNCH_GEMM_LAUNCH_H_

#include <cstddef>

#include "heddle/inspect/plan.h"
#include "heddle/operations.h"
#include "runtime/driver/driver.h"
#include "runtime/launch/argument_list.h"
#include "steps/weight_shape.h"

namespace heddle {

// Throws Error(kUsage) with the code "launch.m", "launch.missing", "launch.unexpected",
// "launch.misaligned", "launch.too_small" or "launch.workspace" if `args` break the contract of
// GemmArgs. `workspace_bytes` is what the launch needs. Follows no pointer, and allocates nothing
// unless it throws. Precondition: a plan of a gemm.
void validate(const Plan& plan, std::size_t workspace_bytes, const GemmArgs& args);

// What GemmKernel does. Precondition: a plan, or a kernel, of a gemm.
std::size_t gemm_workspace_bytes(const Plan& plan, std::int64_t m);
std::size_t gemm_workspace_bytes(const Kernel::State& state, std::int64_t m);
void launch(const Kernel::State& state, const GemmArgs& args, Stream stream);

// The arguments of a GEMM's kernels. Lives on the caller's stack for one launch; `args` must live
// as long. Allocates nothing unless it throws.
class GemmArguments {
 public:
  // Precondition: a plan of a gemm.
  GemmArguments(const Plan& plan, const GemmArgs& args) noexcept;
  GemmArguments(const GemmArguments&) = delete;
  GemmArguments& operator=(const GemmArguments&) = delete;

  // The kernels before that of M write the gathered tokens here.
  void gather_to(void* gathered) noexcept;
  // From now on the arguments are those of the plan's kernel for M, which reads the gathered
  // tokens, if there are any, else args.x: as a tensor map if it takes one. Throws Error(kDriver).
  void read_tokens(const cuda::Driver& driver, const Plan& plan, const PlannedKernel& kernel);

  ArgumentList& list() noexcept { return list_; }

 private:
  const GemmArgs& args_;
  device::WeightShape shape_;
  int m_;
  void* gathered_ = nullptr;
  ArgumentList list_;
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_LAUNCH_GEMM_LAUNCH_H_
