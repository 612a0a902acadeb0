#include "runtime/prepare/first_spec.h"

#include <fmt/core.h>

#include "heddle/error.h"

namespace heddle {
namespace {

Kernel compile_and_load(Runtime::Impl* impl, FirstSpec* spec, cuda::CUdevice device,
                        BackgroundWork* work) {
  std::vector<std::size_t> missing;
  std::vector<Source> sources;
  for (std::size_t i = 0; i < spec->code.size(); ++i) {
    if (spec->code[i] != nullptr) continue;
    missing.push_back(i);
    sources.push_back(spec->sources[i]);
  }
  // Another call may have made it since.
  if (const auto known = impl->prepared.find(device, spec->plan.spec)) {
    work->done += missing.size();
    return impl->prepared.replace(device, with_counterpart(*known, spec->meanwhile));
  }
  const std::vector<BuildResult> built = impl->builder.build(
      sources, [work](const BuildResult&, std::size_t, std::size_t) { ++work->done; },
      [impl, work] { return work->cancelled || impl->requests.stopping(); });
  for (std::size_t i = 0; i < missing.size(); ++i) {
    spec->code[missing[i]] = impl->load_kernel(sources[i], built[i], device);
  }
  const Kernel kernel = assemble_kernel(spec->plan, spec->code);
  return impl->prepared.replace(device, with_counterpart(kernel, spec->meanwhile));
}

}  // namespace

std::vector<MRange> FirstSpec::stood_in() const {
  std::vector<MRange> ranges;
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    const PlannedKernel& kernel = plan.kernels[i];
    if (code[i] == nullptr) ranges.push_back({kernel.size_min, kernel.size_max});
  }
  return ranges;
}

Kernel make_rest(Runtime::Impl* impl, FirstSpec* spec, cuda::CUdevice device,
                 BackgroundWork* work) {
  try {
    return compile_and_load(impl, spec, device, work);
  } catch (const Error& error) {
    const bool cancelled = error.category() == ErrorCategory::kCancelled;
    impl->logger.log(cancelled ? LogLevel::kInfo : LogLevel::kError,
                     fmt::format("not all kernels were made in the background, others stand in for "
                                 "them: {}: {}",
                                 spec->plan.spec.canonical_json(), error.what()));
    throw;
  }
}

}  // namespace heddle
