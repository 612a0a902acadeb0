// The harness's own kernels, compiled by NVRTC for the device at hand.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_DEVICE_HELPER_KERNELS_H_
#define HEDDLE_TOOLS_GPU_HARNESS_DEVICE_HELPER_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "heddle/inspect/source.h"
#include "heddle/spec.h"
#include "runtime/driver/driver.h"
#include "tools/gpu_harness/device/device_memory.h"

namespace heddle {

extern const char* const kHelperKernelsText;

// A way to stream: which is the fastest depends on the device.
struct StreamShape {
  int words = 1;  // of 16 bytes that a thread reads at once: 1, 2 or 4
  // 0: a block for each tile. Else this many blocks to an SM go from tile to tile.
  unsigned int blocks_per_sm = 0;
};

// `struct Weights` of helper_kernels.cu, field by field.
struct ReferenceWeights {
  const void* codes = nullptr;
  const void* values = nullptr;
  const void* scales = nullptr;
  const void* zeros = nullptr;
  double tensor_scale = 1;
  int n = 0;
  int k = 0;
  int group_size = 0;
  int group_offset = 0;
  int groups = 0;
  int code_bytes = 1;
};

// `struct Epilogue`.
struct ReferenceEpilogue {
  const void* bias = nullptr;
  const void* residual = nullptr;
  int activation = 0;
  int gated = 0;
  int limit = 0;
  int gate_limit = 0;
  int type = 0;
  int bias_type = 0;
};

// What follows the sums of a spec, without bias and residual; nothing, with Y of X's type.
ReferenceEpilogue reference_epilogue(const GemmSpec& spec);
ReferenceEpilogue no_epilogue(const GemmSpec& spec);

// `struct Columns`.
struct ReferenceColumns {
  const void* permutation = nullptr;
  const void* factors = nullptr;
  const void* token_scales = nullptr;
};

// The source of all helper kernels for one architecture ("sm_90").
Source helper_source(const std::string& arch);

// Everything is enqueued on the stream. Needs a current context.
class HelperKernels {
 public:
  // Compiles and loads for the current context's device. Throws Error.
  HelperKernels();
  ~HelperKernels();
  HelperKernels(const HelperKernels&) = delete;
  HelperKernels& operator=(const HelperKernels&) = delete;

  void reference_gemm(const ReferenceWeights& weights, const ReferenceColumns& columns,
                      const void* x, const ReferenceEpilogue& epilogue, void* y, int m, bool bf16,
                      const OwnedStream& stream) const;
  void arrange_columns(const ReferenceColumns& columns, const void* x, void* arranged,
                       std::uint64_t m, int k, bool bf16, const OwnedStream& stream) const;
  void round_weights(const ReferenceWeights& weights, void* rounded, bool bf16,
                     const OwnedStream& stream) const;
  // Types: FP16, BF16 and FP32.
  void fill_normal(void* out, std::uint64_t count, std::uint32_t seed, float scale, DType type,
                   const OwnedStream& stream) const;
  // `sums` are two doubles that it adds to.
  void compare(const void* y, const void* reference, std::uint64_t count, DType type, void* sums,
               const OwnedStream& stream) const;
  void stream_read(const void* data, std::uint64_t bytes, void* out,
                   const OwnedStream& stream) const;
  // Reads and writes so many bytes, both multiples of 16, once.
  void stream_copy(const void* data, std::uint64_t read, void* out, std::uint64_t written,
                   const StreamShape& shape, const OwnedStream& stream) const;
  // Each SM's clock and time to `clocks`: pairs of 64-bit numbers, as many as `count`, by SM.
  void read_clocks(void* clocks, std::uint32_t count, const OwnedStream& stream) const;
  // Copies 32-bit words by a kernel, so that in a graph launches on both sides of it are launches
  // behind a kernel, which may start early.
  void copy_words(const void* from, void* to, std::uint64_t words, const OwnedStream& stream) const;
  // Copies 32-bit words, but not before the kernel behind it may have started, if it is launched to
  // start early.
  void copy_late(const void* from, void* to, std::uint64_t words, const OwnedStream& stream) const;

 private:
  cuda::CUkernel kernel(const char* name) const;
  void launch(const char* name, unsigned int blocks, void** parameters,
              const OwnedStream& stream) const;

  cuda::CUlibrary library_ = nullptr;
  unsigned int sm_count_ = 0;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_DEVICE_HELPER_KERNELS_H_
