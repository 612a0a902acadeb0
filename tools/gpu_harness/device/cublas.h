// cuBLAS, opened at run time, as the baseline: a 16-bit GEMM with FP32 accumulation.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_DEVICE_CUBLAS_H_
#define HEDDLE_TOOLS_GPU_HARNESS_DEVICE_CUBLAS_H_

#include <memory>
#include <string>

#include "tools/gpu_harness/device/device_memory.h"

namespace heddle {

class Cublas {
 public:
  // Null where there is no cuBLAS; `why_not` says so. Needs a current context.
  static std::unique_ptr<Cublas> open(const OwnedStream& stream, std::string* why_not);
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  // y[m, n] = x[m, k] * w[n, k]^T, all row-major 16-bit floats. Enqueues on the stream of open();
  // may be captured, because the workspace is a fixed one.
  void gemm(const void* x, const void* w, void* y, int m, int n, int k, bool bf16) const;

 private:
  struct Functions;
  Cublas(std::unique_ptr<Functions> functions, const OwnedStream& stream);

  std::unique_ptr<Functions> functions_;
  void* handle_ = nullptr;
  DeviceBuffer workspace_;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_DEVICE_CUBLAS_H_
