#include "runtime/prepared_kernels.h"

namespace heddle {
namespace {

// The spec without what only says how it is computed.
std::string meaning(const Spec& spec) {
  if (spec.op() != Op::kGemm) return spec.canonical_json();
  GemmSpec gemm = spec.gemm();
  gemm.shape.m_min = 1;
  gemm.shape.m_max = kDefaultMaxM;
  gemm.tile = {};
  gemm.path = Path::kAuto;
  return Spec::from_gemm(gemm).canonical_json();
}

}  // namespace

bool serves(const Spec& general, const Spec& wanted) {
  if (general.op() != wanted.op() || meaning(general) != meaning(wanted)) return false;
  if (wanted.op() != Op::kGemm) return true;
  const GemmShape& wide = general.gemm().shape;
  const GemmShape& narrow = wanted.gemm().shape;
  return wide.m_min <= narrow.m_min && narrow.m_max <= wide.m_max;
}

std::optional<Kernel> PreparedKernels::find(cuda::CUdevice device, const Spec& spec) const {
  const std::string text = spec.canonical_json();
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = kernels_.find({device, text});
  if (found == kernels_.end()) return std::nullopt;
  return found->second;
}

std::optional<Kernel> PreparedKernels::find_general(cuda::CUdevice device, const Spec& spec) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [key, kernel] : kernels_) {
    if (key.first == device && serves(kernel.plan().spec, spec)) return kernel;
  }
  return std::nullopt;
}

Kernel PreparedKernels::put(cuda::CUdevice device, const Kernel& kernel) {
  const std::string text = kernel.plan().spec.canonical_json();
  const std::lock_guard<std::mutex> lock(mutex_);
  return kernels_.emplace(std::pair(device, text), kernel).first->second;
}

}  // namespace heddle
