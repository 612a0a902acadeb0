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
  const auto of_spec = kernels_.find(text);
  if (of_spec == kernels_.end()) return std::nullopt;
  const auto found = of_spec->second.find(device);
  if (found == of_spec->second.end()) return std::nullopt;
  return found->second;
}

bool PreparedKernels::has(const Spec& spec) const {
  const std::string text = spec.canonical_json();
  const std::lock_guard<std::mutex> lock(mutex_);
  return kernels_.count(text) != 0;
}

std::optional<Kernel> PreparedKernels::find_general(cuda::CUdevice device, const Spec& spec) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [text, by_device] : kernels_) {
    const auto found = by_device.find(device);
    if (found != by_device.end() && serves(found->second.plan().spec, spec)) return found->second;
  }
  return std::nullopt;
}

Kernel PreparedKernels::put(cuda::CUdevice device, const Kernel& kernel) {
  const std::string text = kernel.plan().spec.canonical_json();
  const std::lock_guard<std::mutex> lock(mutex_);
  return kernels_[text].emplace(device, kernel).first->second;
}

}  // namespace heddle
