#include "runtime/prepare/kernel_table.h"

#include <mutex>
#include <utility>

#include "generator/operations/operation.h"
#include "generator/spec/canonical.h"
#include "runtime/driver/context.h"
#include "runtime/launch/kernel_state.h"

namespace heddle {
namespace {

// The spec's text without what only says how it is computed.
std::string meaning(const Spec& spec) {
  const Operation& operation = operation_of(spec);
  const std::shared_ptr<void> fields = operation.copy(spec.fields());
  operation.generalise(fields.get());
  return canonical_text(operation.fields(), fields.get());
}

bool is_usable(const Request& request) { return request != nullptr && !request->has_failed(); }

}  // namespace

bool serves(const Spec& general, const Spec& wanted) {
  if (general.op() != wanted.op() || meaning(general) != meaning(wanted)) return false;
  if (!wanted.has_m()) return true;
  const MRange wide = general.m_range();
  const MRange narrow = wanted.m_range();
  return wide.min <= narrow.min && narrow.max <= wide.max;
}

bool KernelTable::has(const Spec& spec) const {
  const std::shared_lock lock(*mutex_);
  return entries_.find(spec) != entries_.end();
}

KernelTable::Entry KernelTable::find(cuda::CUdevice device, const Spec& spec) const {
  const std::shared_lock lock(*mutex_);
  const auto of_spec = entries_.find(spec);
  if (of_spec == entries_.end()) return {};
  const auto found = of_spec->second.find(device);
  return found == of_spec->second.end() ? Entry{} : found->second;
}

KernelTable::Entry KernelTable::find_at_hand(const Spec& spec) const {
  const ByDevice* by_device = nullptr;
  {
    const std::shared_lock lock(*mutex_);
    const auto of_spec = entries_.find(spec);
    if (of_spec == entries_.end()) return {};
    by_device = &of_spec->second;
  }
  const cuda::CUdevice device = cuda::device_at_hand(0);
  const std::shared_lock lock(*mutex_);
  const auto found = by_device->find(device);
  return found == by_device->end() ? Entry{} : found->second;
}

std::optional<Kernel> KernelTable::find_general(cuda::CUdevice device, const Spec& spec) const {
  const std::shared_lock lock(*mutex_);
  for (const auto& [general, by_device] : entries_) {
    const auto found = by_device.find(device);
    const bool is_ready = found != by_device.end() && found->second.kernel;
    if (is_ready && serves(general, spec)) return found->second.kernel;
  }
  return std::nullopt;
}

Kernel KernelTable::finish(cuda::CUdevice device, const Kernel& kernel) {
  const std::lock_guard lock(*mutex_);
  Entry& entry = entries_[kernel.plan().spec][device];
  if (!entry.kernel) {
    entry.kernel = entry.request ? with_counterpart(kernel, entry.request->stand_in) : kernel;
  }
  return *entry.kernel;
}

Request KernelTable::serving(Entry* entry) const {
  if (is_usable(entry->request) || !entry->kernel) return entry->request;
  if (entry->request == nullptr) return ready_request(*entry->kernel);
  // Another call has made it since the request failed.
  entry->request = new_request(ready_future(*entry->kernel), entry->request.get());
  return entry->request;
}

Request KernelTable::begin(cuda::CUdevice device, const Spec& spec, const Begin& begin) {
  const std::lock_guard lock(*mutex_);
  Entry& entry = entries_[spec][device];
  if (Request there = serving(&entry); is_usable(there)) return there;
  entry.request = begin(entry.request.get());
  return entry.request;
}

Request KernelTable::request(cuda::CUdevice device, const Spec& spec) {
  const std::lock_guard lock(*mutex_);
  const auto of_spec = entries_.find(spec);
  if (of_spec == entries_.end()) return nullptr;
  const auto found = of_spec->second.find(device);
  return found == of_spec->second.end() ? nullptr : serving(&found->second);
}

Request KernelTable::new_request(std::shared_future<Kernel> result,
                                 const KernelRequest::State* failed) const {
  auto request = std::make_shared<KernelRequest::State>();
  if (failed != nullptr) *request = *failed;
  request->result = std::move(result);
  request->adopted = false;
  request->mutex = mutex_;
  return request;
}

Request KernelTable::ready_request(const Kernel& kernel) const {
  return new_request(ready_future(kernel));
}

}  // namespace heddle
