#include "tools/gpu_harness/helper_kernels.h"

#include <fmt/core.h>

#include "heddle/binary.h"
#include "runtime/device.h"
#include "runtime/nvrtc.h"

namespace heddle {
namespace {

constexpr unsigned int kThreads = 256;
constexpr unsigned int kBlocksPerSm = 8;

}  // namespace

Source helper_source(const std::string& arch) {
  Source source;
  source.kernel_name = "helper_kernels";
  source.file_name = "helper_kernels.cu";
  source.text = kHelperKernelsText;
  source.arch = arch;
  source.threads = static_cast<int>(kThreads);
  return source;
}

HelperKernels::HelperKernels() {
  const cuda::Driver& cu = cuda::driver();
  cuda::CUdevice device = 0;
  cuda::check(cu.cuCtxGetDevice(&device), "cuCtxGetDevice");
  const Target target = target_of_device(device);
  sm_count_ = static_cast<unsigned int>(target.sm_count);
  const Binary binary = Nvrtc().compile(helper_source(fmt::format("sm_{}", target.arch())));
  cuda::check(cu.cuLibraryLoadData(&library_, binary.cubin.data(), nullptr, nullptr, 0, nullptr,
                                   nullptr, 0),
              "cuLibraryLoadData");
}

HelperKernels::~HelperKernels() { cuda::try_driver(nullptr)->cuLibraryUnload(library_); }

cuda::CUkernel HelperKernels::kernel(const char* name) const {
  cuda::CUkernel kernel = nullptr;
  cuda::check(cuda::driver().cuLibraryGetKernel(&kernel, library_, name), "cuLibraryGetKernel");
  return kernel;
}

void HelperKernels::launch(const char* name, unsigned int blocks, void** parameters,
                           const OwnedStream& stream) const {
  cuda::CUlaunchConfig config{};
  config.gridDimX = blocks;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = kThreads;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream.get();
  cuda::check(cuda::driver().cuLaunchKernelEx(
                  &config, reinterpret_cast<cuda::CUfunction>(kernel(name)), parameters, nullptr),
              name);
}

void HelperKernels::reference_gemm(const ReferenceWeights& weights, const void* x, const void* bias,
                                   const void* residual, void* y, int m, bool bf16, int activation,
                                   const OwnedStream& stream) const {
  ReferenceWeights w = weights;
  int is_bf16 = bf16 ? 1 : 0;
  void* parameters[] = {&w, &x, &bias, &residual, &y, &m, &is_bf16, &activation};
  const auto outputs = static_cast<std::uint64_t>(m) * static_cast<std::uint64_t>(w.n);
  launch("reference_gemm", static_cast<unsigned int>((outputs + kThreads - 1) / kThreads),
         parameters, stream);
}

void HelperKernels::round_weights(const ReferenceWeights& weights, void* rounded, bool bf16,
                                  const OwnedStream& stream) const {
  ReferenceWeights w = weights;
  int is_bf16 = bf16 ? 1 : 0;
  void* parameters[] = {&w, &rounded, &is_bf16};
  launch("round_weights", sm_count_ * kBlocksPerSm, parameters, stream);
}

void HelperKernels::fill_normal(void* out, std::uint64_t count, std::uint32_t seed, float scale,
                                bool bf16, const OwnedStream& stream) const {
  int is_bf16 = bf16 ? 1 : 0;
  void* parameters[] = {&out, &count, &seed, &scale, &is_bf16};
  launch("fill_normal", sm_count_ * kBlocksPerSm, parameters, stream);
}

void HelperKernels::compare(const void* y, const void* reference, std::uint64_t count, bool bf16,
                            void* sums, const OwnedStream& stream) const {
  int is_bf16 = bf16 ? 1 : 0;
  void* parameters[] = {&y, &reference, &count, &is_bf16, &sums};
  launch("compare", sm_count_, parameters, stream);
}

void HelperKernels::stream_read(const void* data, std::uint64_t bytes, void* out,
                                const OwnedStream& stream) const {
  std::uint64_t words = bytes / 16;
  void* parameters[] = {&data, &words, &out};
  launch("stream_read", sm_count_ * kBlocksPerSm, parameters, stream);
}

void HelperKernels::stream_copy(const void* from, std::uint64_t read_bytes, void* to,
                                std::uint64_t written_bytes, const OwnedStream& stream) const {
  std::uint64_t reads = read_bytes / 16;
  std::uint64_t writes = written_bytes / 16;
  void* parameters[] = {&from, &reads, &to, &writes};
  launch("stream_copy", sm_count_ * kBlocksPerSm, parameters, stream);
}

}  // namespace heddle
