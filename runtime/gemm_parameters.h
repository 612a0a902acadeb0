// The arguments of a GEMM's entry point, as the driver wants them.
#ifndef HEDDLE_RUNTIME_GEMM_PARAMETERS_H_
#define HEDDLE_RUNTIME_GEMM_PARAMETERS_H_

#include "heddle/kernel.h"
#include "heddle/plan.h"
#include "runtime/driver.h"

namespace heddle {

// Lives on the caller's stack for one launch, where it stays: `list` points into it. One at a time
// on each thread.
class GemmParameters {
 public:
  // `args` must live as long. `shared_tiles`: of gemm_blocks(). `x`: what the kernel reads, args.x
  // or the gathered tokens. The driver copies the values during the launch and writes to none of
  // them. Throws Error(kDriver). Allocates nothing unless it does.
  GemmParameters(const cuda::Driver& driver, const Plan& plan, const GemmVariant& variant,
                 int shared_tiles, const GemmArgs& args, const void* x);
  GemmParameters(const GemmParameters&) = delete;
  GemmParameters& operator=(const GemmParameters&) = delete;

  void** list() noexcept { return list_; }

 private:
  const void* x_;
  int m_;
  int shared_tiles_;
  void* list_[8];
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_GEMM_PARAMETERS_H_
