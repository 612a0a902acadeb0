#include "tools/gpu_harness/device/helper_kernels.h"

#include <fmt/core.h>

#include <algorithm>

#include "heddle/inspect/binary.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/driver/device.h"

namespace heddle {
namespace {

constexpr unsigned int kThreads = 256;
constexpr unsigned int kBlocksPerSm = 8;

// As helper_kernels.cu counts them.
int type_code(DType type) {
  if (type == DType::kFp32) return 2;
  return type == DType::kBf16 ? 1 : 0;
}

int activation_code(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      return 1;
    case Activation::kGelu:
      return 2;
    case Activation::kGeluTanh:
      return 3;
    case Activation::kSilu:
      return 4;
    case Activation::kRelu2:
      return 5;
    case Activation::kClampedSwiglu:
      return 6;
    case Activation::kSitu:
      return 7;
  }
  return 0;
}

}  // namespace

ReferenceEpilogue reference_epilogue(const GemmSpec& spec) {
  ReferenceEpilogue epilogue;
  epilogue.activation = activation_code(spec.epilogue.activation);
  epilogue.gated = spec.epilogue.gated ? 1 : 0;
  epilogue.limit = spec.epilogue.limit;
  epilogue.gate_limit = spec.epilogue.gate_limit;
  epilogue.type = type_code(spec.residual_dtype());
  epilogue.bias_type = type_code(spec.bias_dtype());
  return epilogue;
}

ReferenceEpilogue no_epilogue(const GemmSpec& spec) {
  ReferenceEpilogue epilogue;
  epilogue.type = type_code(spec.activation);
  return epilogue;
}

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

void HelperKernels::reference_gemm(const ReferenceWeights& weights, const ReferenceColumns& columns,
                                   const void* x, const ReferenceEpilogue& epilogue, void* y, int m,
                                   bool bf16, const OwnedStream& stream) const {
  ReferenceWeights w = weights;
  ReferenceColumns c = columns;
  ReferenceEpilogue e = epilogue;
  int is_bf16 = bf16 ? 1 : 0;
  void* parameters[] = {&w, &c, &x, &e, &y, &m, &is_bf16};
  const auto outputs = static_cast<std::uint64_t>(m) * static_cast<std::uint64_t>(w.n);
  launch("reference_gemm", static_cast<unsigned int>((outputs + kThreads - 1) / kThreads),
         parameters, stream);
}

void HelperKernels::arrange_columns(const ReferenceColumns& columns, const void* x, void* arranged,
                                    std::uint64_t m, int k, bool bf16,
                                    const OwnedStream& stream) const {
  ReferenceColumns c = columns;
  int is_bf16 = bf16 ? 1 : 0;
  void* parameters[] = {&c, &x, &arranged, &m, &k, &is_bf16};
  launch("arrange_columns", sm_count_ * kBlocksPerSm, parameters, stream);
}

void HelperKernels::round_weights(const ReferenceWeights& weights, void* rounded, bool bf16,
                                  const OwnedStream& stream) const {
  ReferenceWeights w = weights;
  int is_bf16 = bf16 ? 1 : 0;
  void* parameters[] = {&w, &rounded, &is_bf16};
  launch("round_weights", sm_count_ * kBlocksPerSm, parameters, stream);
}

void HelperKernels::fill_normal(void* out, std::uint64_t count, std::uint32_t seed, float scale,
                                DType type, const OwnedStream& stream) const {
  int code = type_code(type);
  void* parameters[] = {&out, &count, &seed, &scale, &code};
  launch("fill_normal", sm_count_ * kBlocksPerSm, parameters, stream);
}

void HelperKernels::compare(const void* y, const void* reference, std::uint64_t count, DType type,
                            void* sums, const OwnedStream& stream) const {
  int code = type_code(type);
  void* parameters[] = {&y, &reference, &count, &code, &sums};
  launch("compare", sm_count_, parameters, stream);
}

void HelperKernels::stream_read(const void* data, std::uint64_t bytes, void* out,
                                const OwnedStream& stream) const {
  std::uint64_t words = bytes / 16;
  void* parameters[] = {&data, &words, &out};
  launch("stream_read", sm_count_ * kBlocksPerSm, parameters, stream);
}

void HelperKernels::stream_copy(const void* data, std::uint64_t read, void* out,
                                std::uint64_t written, const StreamShape& shape,
                                const OwnedStream& stream) const {
  constexpr std::uint64_t kWord = 16;
  constexpr std::uint64_t kLine = 128 / kWord;
  std::uint64_t read_words = read / kWord;
  std::uint64_t written_words = written / kWord;
  const std::uint64_t per_tile = static_cast<std::uint64_t>(shape.words) * kThreads;
  const std::uint64_t tiles = (read_words + per_tile - 1) / per_tile;
  // Whole lines, so that no two tiles share one.
  std::uint64_t written_per_tile =
      ((written_words + tiles - 1) / tiles + kLine - 1) / kLine * kLine;
  void* parameters[] = {&data, &read_words, &out, &written_words, &written_per_tile};
  const std::uint64_t blocks =
      shape.blocks_per_sm == 0
          ? tiles
          : std::min<std::uint64_t>(tiles, std::uint64_t{sm_count_} * shape.blocks_per_sm);
  const char* name = shape.words == 1   ? "stream_copy_1"
                     : shape.words == 2 ? "stream_copy_2"
                                        : "stream_copy_4";
  launch(name, static_cast<unsigned int>(blocks), parameters, stream);
}

void HelperKernels::read_clocks(void* clocks, std::uint32_t count,
                                const OwnedStream& stream) const {
  void* parameters[] = {&clocks, &count};
  launch("read_clocks", sm_count_ * kBlocksPerSm, parameters, stream);
}

void HelperKernels::copy_words(const void* from, void* to, std::uint64_t words,
                               const OwnedStream& stream) const {
  void* parameters[] = {&from, &to, &words};
  const std::uint64_t blocks = (words + kThreads - 1) / kThreads;
  launch("copy_words",
         static_cast<unsigned int>(std::clamp<std::uint64_t>(blocks, 1, sm_count_ * kBlocksPerSm)),
         parameters, stream);
}

void HelperKernels::copy_late(const void* from, void* to, std::uint64_t words,
                              const OwnedStream& stream) const {
  void* parameters[] = {&from, &to, &words};
  launch("copy_late", 1, parameters, stream);
}

}  // namespace heddle
