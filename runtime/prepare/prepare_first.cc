// Runtime::prepare with urgent ranges: what launches need first is made before it returns, the rest
// in the background.
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "generator/render/source_list.h"
#include "heddle/error.h"
#include "runtime/driver/device.h"
#include "runtime/prepare/first_spec.h"
#include "runtime/prepare/preparation.h"
#include "runtime/prepare/urgent_ranges.h"
#include "runtime/runtime_impl.h"

namespace heddle {
namespace {

using Request = std::shared_ptr<KernelRequest::State>;

// Whether launches of these M have their final kernels already.
bool is_final(const KernelRequest::State& request, const MRange& urgent) {
  const bool is_made = request.has_ended() && !request.has_failed();
  return is_made || std::none_of(request.stood_in.begin(), request.stood_in.end(),
                                 [&](const MRange& m) { return overlap(m, urgent); });
}

// One call of prepare().
class FirstKernels {
 public:
  FirstKernels(Runtime::Impl* impl, const cuda::CurrentContext& context,
               const std::vector<Spec>& specs, const std::vector<MRange>& urgent)
      : impl_(impl),
        context_(context.context()),
        device_(context.device()),
        specs_(specs),
        urgent_(urgent),
        requests_(specs.size()) {}

  Preparation make(const PrepareProgress& progress) {
    find_same();
    do {
      take_known();
      make_others(progress);
    } while (!wait_for_urgent());
    auto state = std::make_shared<Preparation::State>();
    for (const std::size_t same : same_as_) state->requests.emplace_back(requests_[same]);
    state->work = work_;
    return Preparation(std::move(state));
  }

 private:
  void find_same() {
    std::unordered_map<Spec, std::size_t, MeaningHash, SameMeaning> first;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      same_as_.push_back(first.try_emplace(specs_[i], i).first->second);
    }
  }

  // What other calls have made or begun.
  void take_known() {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (same_as_[i] != i || requests_[i] != nullptr) continue;
      Request known = impl_->find_request(device_, specs_[i]);
      if (known != nullptr && !known->has_failed()) requests_[i] = std::move(known);
    }
  }

  void make_others(const PrepareProgress& progress) {
    making_.clear();
    resolve_others();
    for (FirstSpec& spec : making_) choose_first(&spec);
    build(progress);
    for (FirstSpec& spec : making_) load(&spec);
    for (FirstSpec& spec : making_) start(std::move(spec));
  }

  // Waits for other calls that make final kernels of urgent M. False if one of them has failed or
  // was cancelled: this call must then make those itself. Throws Error(kMissing, "runtime.sealed")
  // where it may not, because the runtime was sealed meanwhile.
  bool wait_for_urgent() {
    bool is_served = true;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      Request& request = requests_[same_as_[i]];
      if (request == nullptr || is_final(*request, urgent_of(urgent_, i))) continue;
      request->special.wait();
      if (!request->has_failed()) continue;
      impl_->refuse_sealed(specs_[i]);
      request.reset();
      is_served = false;
    }
    return is_served;
  }

  void resolve_others() {
    const Target target = target_of_device(device_);
    const TunedTables& tables = impl_->tuned.tables();
    std::vector<Problem> problems;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (same_as_[i] != i || requests_[i] != nullptr) continue;
      try {
        FirstSpec spec;
        spec.number = i;
        spec.plan = resolve(specs_[i], target, tables);
        making_.push_back(std::move(spec));
      } catch (const Error& error) {
        if (error.category() != ErrorCategory::kUnsupported) throw;
        problems.insert(problems.end(), error.problems().begin(), error.problems().end());
      }
    }
    if (!problems.empty()) {
      throw Error(ErrorCategory::kUnsupported, "runtime.unsupported", std::move(problems));
    }
    for (const FirstSpec& spec : making_) impl_->recorder.record(spec.plan);
  }

  // Urgent kernels, those that the cache has, and what stands in for the others.
  void choose_first(FirstSpec* spec) const {
    spec->sources = render_all(spec->plan);
    spec->is_first = urgent_kernels(*spec);
    std::vector<BuildResult> found = impl_->builder.find(spec->sources);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i].hit) spec->is_first[i] = true;
    }
    spec->stand_in = add_stand_in(spec->plan, &spec->is_first);
    if (!spec->stand_in) return;
    if (spec->stand_in->general) spec->general = render(*spec->stand_in->general, 0);
  }

  std::vector<bool> urgent_kernels(const FirstSpec& spec) const {
    std::vector<bool> needed(spec.plan.kernel_count(), false);
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (same_as_[i] != spec.number) continue;
      const std::vector<bool> of_one = kernels_for(spec.plan, urgent_of(urgent_, i));
      for (std::size_t k = 0; k < needed.size(); ++k) needed[k] = needed[k] || of_one[k];
    }
    return needed;
  }

  void build(const PrepareProgress& progress) {
    SourceList list;
    for (const FirstSpec& spec : making_) {
      for (std::size_t i = 0; i < spec.sources.size(); ++i) {
        if (spec.is_first[i]) list.add(spec.sources[i]);
      }
      if (spec.general) list.add(*spec.general);
    }
    const std::vector<BuildResult> built = impl_->build_cancellable(list.sources(), progress);
    for (FirstSpec& spec : making_) {
      spec.built.resize(spec.sources.size());
      for (std::size_t i = 0; i < spec.sources.size(); ++i) {
        if (spec.is_first[i]) spec.built[i] = built[list.place_of(spec.sources[i])];
      }
      if (spec.general) spec.general_built = built[list.place_of(*spec.general)];
    }
  }

  void load(FirstSpec* spec) const {
    for (std::size_t i = 0; i < spec->built.size(); ++i) {
      const bool is_there = spec->built[i].binary != nullptr;
      spec->code.push_back(is_there ? impl_->load_kernel(spec->sources[i], spec->built[i], device_)
                                    : nullptr);
    }
    spec->built.clear();
    if (spec->missing() == 0) {
      spec->stand_in.reset();
    } else {
      spec->meanwhile = stand_in_kernel(*spec);
    }
  }

  // Serves the spec from here on, and leaves the rest of its kernels to the background. Where
  // another call has begun the same meanwhile, what that has begun serves this one, too.
  void start(FirstSpec&& first) {
    const std::size_t number = first.number;
    if (first.stand_in) {
      requests_[number] = impl_->pending.find_or_begin(
          device_, specs_[number],
          [&](const KernelRequest::State* failed) { return begin(std::move(first), failed); });
      return;
    }
    impl_->prepared.put(device_, assemble_kernel(first.plan, std::move(first.code)));
    requests_[number] = impl_->find_request(device_, specs_[number]);
  }

  // `failed` may be null: the request that this one takes the place of.
  Request begin(FirstSpec&& first, const KernelRequest::State* failed) {
    auto request = std::make_shared<KernelRequest::State>();
    if (failed != nullptr) {
      request->stood_in_captures = failed->stood_in_captures;
      first.meanwhile = with_counterpart(first.meanwhile.value(), failed->general);
    }
    request->general = first.meanwhile;
    request->stood_in = first.stood_in();
    work_->total += first.missing();
    const auto spec = std::make_shared<FirstSpec>(std::move(first));
    request->special =
        impl_->requests.add(context_, [impl = impl_, spec, device = device_, work = work_] {
          return make_rest(impl, spec.get(), device, work.get());
        });
    return request;
  }

  Kernel stand_in_kernel(const FirstSpec& spec) const {
    Code general;
    if (spec.general) {
      general = impl_->load_kernel(*spec.general, spec.general_built, device_);
    }
    std::vector<Code> code;
    for (const std::size_t number : spec.stand_in->code) {
      code.push_back(number == kGeneralCode ? general : spec.code[number]);
    }
    return assemble_kernel(spec.stand_in->plan, std::move(code),
                           {std::make_shared<Plan>(spec.plan)});
  }

  Runtime::Impl* impl_;
  cuda::CUcontext context_;
  cuda::CUdevice device_;
  const std::vector<Spec>& specs_;
  const std::vector<MRange>& urgent_;
  std::vector<std::size_t> same_as_;  // of each spec the first that means the same
  std::vector<Request> requests_;     // of each spec that is such a first
  std::vector<FirstSpec> making_;
  std::shared_ptr<BackgroundWork> work_ = std::make_shared<BackgroundWork>();
};

// What prepare() returns of a sealed runtime: earlier calls must have made the final kernels of
// urgent M. Throws Error(kMissing, "runtime.sealed") with every spec for which they have not.
Preparation of_sealed(Runtime::Impl* impl, const std::vector<Spec>& specs,
                      const std::vector<MRange>& urgent) {
  auto state = std::make_shared<Preparation::State>();
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    // Without a call of the driver for a spec that no device has.
    const bool is_known = impl->prepared.of(specs[i]) != nullptr || impl->pending.has(specs[i]);
    const Request request = is_known ? impl->find_request(device_at_hand(0), specs[i]) : Request();
    if (request != nullptr && is_final(*request, urgent_of(urgent, i))) {
      state->requests.emplace_back(request);
    } else {
      const Error refusal = impl->sealed_refusal(specs[i]);
      problems.insert(problems.end(), refusal.problems().begin(), refusal.problems().end());
    }
  }
  if (problems.empty()) return Preparation(std::move(state));
  throw Error(ErrorCategory::kMissing, "runtime.sealed", std::move(problems));
}

}  // namespace

Preparation Runtime::prepare(const std::vector<Spec>& specs, const std::vector<MRange>& urgent,
                             const PrepareProgress& progress) {
  check_urgent(specs, urgent);
  if (impl_->sealed) return of_sealed(impl_.get(), specs, urgent);
  if (impl_->builder.strict()) {
    auto state = std::make_shared<Preparation::State>();
    for (const Kernel& kernel : prepare(specs, progress)) {
      state->requests.push_back(ready_request(kernel));
    }
    return Preparation(std::move(state));
  }
  const cuda::CurrentContext context;
  impl_->keep_primary_context(context);
  return FirstKernels(impl_.get(), context, specs, urgent).make(progress);
}

}  // namespace heddle
