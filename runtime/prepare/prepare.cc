// Runtime::prepare, request and kernel(): kernels that are there before they are needed.
#include <fmt/core.h>

#include <optional>
#include <utility>

#include "generator/render/source_list.h"
#include "heddle/error.h"
#include "runtime/driver/device.h"
#include "runtime/runtime_impl.h"

namespace heddle {
namespace {

// One of the specs on its way; `kernel` is set from the start for what was prepared before.
struct PreparedSpec {
  std::optional<Kernel> kernel;
  Plan plan;
  std::vector<Source> sources;
  std::vector<std::size_t> built;  // for each source, index among those of all specs
};

std::vector<PreparedSpec> resolve_all(const std::vector<Spec>& specs, const Target& target,
                                      cuda::CUdevice device, Runtime::Impl* impl) {
  const TunedTables& tables = impl->tuned.tables();
  std::vector<PreparedSpec> preparations(specs.size());
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    preparations[i].kernel = impl->prepared.find(device, specs[i]);
    if (preparations[i].kernel) continue;
    try {
      preparations[i].plan = resolve(specs[i], target, tables);
    } catch (const Error& error) {
      if (error.category() != ErrorCategory::kUnsupported) throw;
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    }
  }
  if (problems.empty()) return preparations;
  throw Error(ErrorCategory::kUnsupported, "runtime.unsupported", std::move(problems));
}

std::vector<Kernel> all_prepared(Runtime::Impl* impl, const std::vector<Spec>& specs) {
  std::vector<Kernel> kernels;
  std::vector<Problem> problems;
  for (const Spec& spec : specs) {
    if (const auto known = impl->find_prepared(spec)) {
      kernels.push_back(*known);
      continue;
    }
    try {
      impl->refuse_sealed(spec);
    } catch (const Error& error) {
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    }
  }
  if (problems.empty()) return kernels;
  throw Error(ErrorCategory::kMissing, "runtime.sealed", std::move(problems));
}

std::vector<Source> render_each_once(std::vector<PreparedSpec>* preparations) {
  SourceList list;
  for (PreparedSpec& preparation : *preparations) {
    if (preparation.kernel) continue;
    preparation.sources = render_all(preparation.plan);
    for (const Source& source : preparation.sources) {
      preparation.built.push_back(list.add(source));
    }
  }
  return list.take();
}

}  // namespace

std::vector<Kernel> Runtime::prepare(const std::vector<Spec>& specs,
                                     const PrepareProgress& progress) {
  if (impl_->sealed) return all_prepared(impl_.get(), specs);
  const cuda::CurrentContext context;
  impl_->keep_primary_context(context);
  const cuda::CUdevice device = context.device();
  std::vector<PreparedSpec> preparations =
      resolve_all(specs, target_of_device(device), device, impl_.get());
  for (const PreparedSpec& preparation : preparations) {
    if (!preparation.kernel) impl_->recorder.record(preparation.plan);
  }
  const std::vector<Source> sources = render_each_once(&preparations);
  const std::vector<BuildResult> built = impl_->build_cancellable(sources, progress);
  std::vector<Kernel> kernels;
  for (const PreparedSpec& preparation : preparations) {
    if (preparation.kernel) {
      kernels.push_back(*preparation.kernel);
      continue;
    }
    std::vector<BuildResult> own;
    for (const std::size_t index : preparation.built) own.push_back(built[index]);
    const Kernel kernel = impl_->load_built(preparation.plan, preparation.sources, own, device);
    kernels.push_back(impl_->prepared.put(device, kernel));
  }
  return kernels;
}

std::shared_ptr<KernelRequest::State> Runtime::Impl::find_request(cuda::CUdevice device,
                                                                  const Spec& spec) {
  auto request = pending.find(device, spec);
  if (request != nullptr && !request->has_failed()) return request;
  const auto known = prepared.find(device, spec);
  if (!known) return request;
  if (request == nullptr) {
    request = std::make_shared<KernelRequest::State>();
    request->special = ready_future(*known);
    return request;
  }
  // Another call has made it since the request failed.
  return pending.find_or_begin(device, spec, [&](const KernelRequest::State* failed) {
    const Kernel kernel = with_counterpart(*known, failed->general);
    return retried(*failed, ready_future(prepared.replace(device, kernel)));
  });
}

void Runtime::seal() { impl_->sealed = true; }

Kernel Runtime::kernel(const Spec& spec) {
  if (auto known = impl_->find_prepared(spec)) return *std::move(known);
  const auto pending = impl_->find_pending(spec);
  if (pending != nullptr && !pending->has_ended()) {
    impl_->refuse_sealed(spec);
    pending->special.wait();
  }
  // A request that has failed is of no use; this call tries again.
  if (pending != nullptr && !pending->has_failed()) return pending->special.get();
  impl_->refuse_sealed(spec);
  return load(resolve(spec, device_target(), tuned_tables()));
}

Kernel Runtime::kernel(const Spec& spec, Stream stream) {
  // Before what is prepared: a capture may have to go on with a stand-in.
  auto pending = impl_->find_pending(spec);
  auto known = impl_->find_prepared(spec);
  if (pending != nullptr && known && pending->has_failed()) {
    pending = impl_->find_request(device_at_hand(0), spec);
  }
  if (pending != nullptr) return KernelRequest(pending).kernel(stream);
  if (known) return *std::move(known);
  impl_->refuse_sealed(spec);
  if (cuda::capture_of(stream)) {
    throw Error(ErrorCategory::kMissing, "runtime.capturing",
                fmt::format("the stream is being captured, and this spec was not prepared: {}",
                            spec.canonical_json()));
  }
  return load(resolve(spec, device_target(), tuned_tables()));
}

KernelRequest Runtime::request(const Spec& spec) {
  const bool is_known = impl_->prepared.of(spec) != nullptr || impl_->pending.has(spec);
  if (!is_known) impl_->refuse_sealed(spec);
  const cuda::CurrentContext context;
  impl_->keep_primary_context(context);
  const cuda::CUdevice device = context.device();
  const auto pending = impl_->find_request(device, spec);
  if (pending != nullptr && !pending->has_failed()) return KernelRequest(pending);
  impl_->refuse_sealed(spec);
  const Plan plan = resolve(spec, target_of_device(device), tuned_tables());
  const auto begin = [&](const std::optional<Kernel>& stand_in) {
    return impl_->requests.add(context.context(), [impl = impl_.get(), plan, device, stand_in] {
      // Another request for it may have been before this one.
      const auto known = impl->prepared.find(device, plan.spec);
      if (known && !stand_in) return *known;
      const Kernel kernel = known ? *known : impl->load(plan);
      if (!stand_in) return impl->prepared.put(device, kernel);
      return impl->prepared.replace(device, with_counterpart(kernel, stand_in));
    });
  };
  if (pending != nullptr) {
    return KernelRequest(
        impl_->pending.find_or_begin(device, spec, [&](const KernelRequest::State* failed) {
          return retried(*failed, begin(failed->general));
        }));
  }
  auto state = std::make_shared<KernelRequest::State>();
  state->general = impl_->prepared.find_general(device, spec);
  state->special = begin(std::nullopt);
  return KernelRequest(std::move(state));
}

}  // namespace heddle
