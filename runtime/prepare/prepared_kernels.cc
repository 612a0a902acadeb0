#include "runtime/prepare/prepared_kernels.h"

#include <mutex>
#include <utility>

#include "generator/operations/operation.h"
#include "generator/spec/canonical.h"
#include "heddle/inspect/plan.h"

namespace heddle {
namespace {

// The spec's text without what only says how it is computed.
std::string meaning(const Spec& spec) {
  const Operation& operation = operation_of(spec);
  const std::shared_ptr<void> fields = operation.copy(spec.fields());
  operation.generalise(fields.get());
  return canonical_text(operation.fields(), fields.get());
}

}  // namespace

bool serves(const Spec& general, const Spec& wanted) {
  if (general.op() != wanted.op() || meaning(general) != meaning(wanted)) return false;
  if (!wanted.has_m()) return true;
  const MRange wide = general.m_range();
  const MRange narrow = wanted.m_range();
  return wide.min <= narrow.min && narrow.max <= wide.max;
}

std::shared_ptr<const PreparedKernels::ByDevice> PreparedKernels::of(const Spec& spec) const {
  const std::shared_lock lock(mutex_);
  const auto found = kernels_.find(spec);
  return found == kernels_.end() ? nullptr : found->second;
}

std::optional<Kernel> PreparedKernels::find(cuda::CUdevice device, const Spec& spec) const {
  const std::shared_ptr<const ByDevice> of_spec = of(spec);
  if (of_spec == nullptr) return std::nullopt;
  const auto found = of_spec->find(device);
  if (found == of_spec->end()) return std::nullopt;
  return found->second;
}

std::optional<Kernel> PreparedKernels::find_general(cuda::CUdevice device, const Spec& spec) const {
  const std::shared_lock lock(mutex_);
  for (const auto& [general, by_device] : kernels_) {
    const auto found = by_device->find(device);
    if (found != by_device->end() && serves(general, spec)) return found->second;
  }
  return std::nullopt;
}

Kernel PreparedKernels::put(cuda::CUdevice device, const Kernel& kernel) {
  return put(device, kernel, Stays::kFirst);
}

Kernel PreparedKernels::replace(cuda::CUdevice device, const Kernel& kernel) {
  return put(device, kernel, Stays::kLast);
}

Kernel PreparedKernels::put(cuda::CUdevice device, const Kernel& kernel, Stays stays) {
  const Spec& spec = kernel.plan().spec;
  const std::lock_guard lock(mutex_);
  const auto known = kernels_.find(spec);
  auto grown = known == kernels_.end() ? std::make_shared<ByDevice>()
                                       : std::make_shared<ByDevice>(*known->second);
  if (stays == Stays::kLast) grown->erase(device);
  Kernel staying = grown->emplace(device, kernel).first->second;
  kernels_.insert_or_assign(spec, std::move(grown));
  return staying;
}

}  // namespace heddle
