// Runtime::prepare, request, kernel() and seal(): kernels that are there before they are needed.
#include <fmt/core.h>

#include <functional>
#include <optional>
#include <utility>

#include "heddle/error.h"
#include "runtime/driver/device.h"
#include "runtime/prepare/preparation.h"
#include "runtime/prepare/prepare_call.h"
#include "runtime/prepare/urgent_ranges.h"
#include "runtime/runtime_impl.h"

namespace heddle {
namespace {

// What prepare() returns of a sealed runtime: for each spec what find(i) does. Throws
// Error(kMissing, "runtime.sealed") with every spec of which that is null.
Preparation of_sealed(const std::vector<Spec>& specs,
                      const std::function<Request(std::size_t)>& find) {
  auto state = std::make_shared<Preparation::State>();
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (Request request = find(i)) {
      state->requests.emplace_back(std::move(request));
    } else {
      const Error refusal = Runtime::Impl::sealed_refusal(specs[i]);
      problems.insert(problems.end(), refusal.problems().begin(), refusal.problems().end());
    }
  }
  if (problems.empty()) return Preparation(std::move(state));
  throw Error(ErrorCategory::kMissing, "runtime.sealed", std::move(problems));
}

Preparation prepare_all(Runtime::Impl* impl, const std::vector<Spec>& specs,
                        const PrepareProgress& progress) {
  if (!impl->sealed) return prepare_kernels(impl, specs, nullptr, progress);
  return of_sealed(specs, [&](std::size_t i) {
    const auto kernel = impl->kernels.find_at_hand(specs[i]).kernel;
    return kernel ? impl->kernels.ready_request(*kernel) : nullptr;
  });
}

}  // namespace

std::vector<Kernel> Runtime::prepare(const std::vector<Spec>& specs,
                                     const PrepareProgress& progress) {
  std::vector<Kernel> kernels;
  const Preparation preparation = prepare_all(impl_.get(), specs, progress);
  for (const KernelRequest& request : preparation.requests()) kernels.push_back(request.wait());
  return kernels;
}

Preparation Runtime::prepare(const std::vector<Spec>& specs, const std::vector<MRange>& urgent,
                             const PrepareProgress& progress) {
  check_urgent(specs, urgent);
  Impl* impl = impl_.get();
  if (impl->sealed) {
    return of_sealed(specs, [&](std::size_t i) -> Request {
      // Without a call of the driver for a spec that no device has.
      if (!impl->kernels.has(specs[i])) return nullptr;
      Request request = impl->kernels.request(cuda::device_at_hand(0), specs[i]);
      const bool serves = request != nullptr && is_final(*request, urgent_of(urgent, i));
      return serves ? request : nullptr;
    });
  }
  if (impl->builder.strict()) return prepare_all(impl, specs, progress);
  return prepare_kernels(impl, specs, &urgent, progress);
}

void Runtime::seal() { impl_->sealed = true; }

Kernel Runtime::kernel(const Spec& spec) {
  KernelTable::Entry entry = impl_->kernels.find_at_hand(spec);
  if (entry.kernel) return *std::move(entry.kernel);
  const Request& request = entry.request;
  if (request != nullptr && !request->has_ended()) {
    impl_->refuse_sealed(spec);
    request->result.wait();
  }
  // A request that has failed is of no use; this call tries again.
  if (request != nullptr && !request->has_failed()) return request->result.get();
  impl_->refuse_sealed(spec);
  return load(resolve(spec, device_target(), tuned_tables()));
}

Kernel Runtime::kernel(const Spec& spec, Stream stream) {
  KernelTable::Entry entry = impl_->kernels.find_at_hand(spec);
  // Before the final kernel: a capture may have to go on with a stand-in.
  if (entry.request != nullptr && entry.kernel && entry.request->has_failed()) {
    entry.request = impl_->kernels.request(cuda::device_at_hand(0), spec);
  }
  if (entry.request != nullptr) return KernelRequest(entry.request).kernel(stream);
  if (entry.kernel) return *std::move(entry.kernel);
  impl_->refuse_sealed(spec);
  if (cuda::capture_of(stream)) {
    throw Error(ErrorCategory::kMissing, "runtime.capturing",
                fmt::format("the stream is being captured, and this spec was not prepared: {}",
                            spec.canonical_json()));
  }
  return load(resolve(spec, device_target(), tuned_tables()));
}

KernelRequest Runtime::request(const Spec& spec) {
  KernelTable& kernels = impl_->kernels;
  if (!kernels.has(spec)) impl_->refuse_sealed(spec);
  const cuda::CurrentContext context;
  impl_->keep_primary_context(context);
  const cuda::CUdevice device = context.device();
  const Request known = kernels.request(device, spec);
  if (known != nullptr && !known->has_failed()) return KernelRequest(known);
  impl_->refuse_sealed(spec);
  const Plan plan = resolve(spec, target_of_device(device), tuned_tables());
  const auto begin = [&](const KernelRequest::State* failed) {
    const auto make = [impl = impl_.get(), plan, device] {
      // Another request for it may have been before this one.
      const auto there = impl->kernels.find(device, plan.spec).kernel;
      return there ? *there : impl->kernels.finish(device, impl->load(plan));
    };
    return kernels.new_request(impl_->requests.add(context.context(), make), failed);
  };
  if (known != nullptr) return KernelRequest(kernels.begin(device, spec, begin));
  const Request request = begin(nullptr);
  request->stand_in = kernels.find_general(device, spec);
  return KernelRequest(request);
}

}  // namespace heddle
