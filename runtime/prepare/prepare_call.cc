#include "runtime/prepare/prepare_call.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "generator/planner/stand_in.h"
#include "generator/render/source_list.h"
#include "heddle/error.h"
#include "runtime/driver/device.h"
#include "runtime/prepare/preparation.h"
#include "runtime/prepare/urgent_ranges.h"

namespace heddle {
namespace {

using Code = std::shared_ptr<const LoadedKernel>;

// A spec whose first kernels the call makes: those that are urgent and those that the cache has.
// The others, if there are any, are left to the background.
struct FirstSpec {
  std::size_t number = 0;  // in the caller's list
  Plan plan;
  // One for each of the plan's kernels, in their order.
  std::vector<Source> sources;
  std::vector<bool> is_first;
  std::vector<Code> code;  // null: left to the background
  // What serves meanwhile, if anything is left.
  std::optional<StandIn> stand_in;
  std::optional<Source> general;
  std::optional<Kernel> meanwhile;

  std::size_t missing() const {
    return static_cast<std::size_t>(std::count(code.begin(), code.end(), nullptr));
  }
  // The ranges of M whose final kernels are left.
  std::vector<MRange> stood_in() const {
    std::vector<MRange> ranges;
    for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
      if (code[i] == nullptr)
        ranges.push_back({plan.kernels[i].size_min, plan.kernels[i].size_max});
    }
    return ranges;
  }
};

Kernel compile_and_load(Runtime::Impl* impl, FirstSpec* spec, cuda::CUdevice device,
                        BackgroundWork* work) {
  // Another call may have made it since.
  if (const auto known = impl->kernels.find(device, spec->plan.spec).kernel) {
    work->done += spec->missing();
    return *known;
  }
  std::vector<Source> sources;
  for (std::size_t i = 0; i < spec->code.size(); ++i) {
    if (spec->code[i] == nullptr) sources.push_back(spec->sources[i]);
  }
  const std::vector<BuildResult> built = impl->builder.build(
      sources, [work](const BuildResult&, std::size_t, std::size_t) { ++work->done; },
      [impl, work] { return work->cancelled || impl->requests.stopping(); });
  auto source = sources.begin();
  auto result = built.begin();
  for (Code& code : spec->code) {
    if (code == nullptr) code = impl->load_kernel(*source++, *result++, device);
  }
  return impl->kernels.finish(device, assemble_kernel(spec->plan, spec->code));
}

// Makes what the background has been left, on its thread and in the context of the device. Logs
// what it throws: Error(kCancelled) once the work is cancelled or the runtime is being destroyed.
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

class PrepareCall {
 public:
  PrepareCall(Runtime::Impl* impl, const cuda::CurrentContext& context,
              const std::vector<Spec>& specs, const std::vector<MRange>* urgent)
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
    } while (urgent_ != nullptr && !wait_for_urgent());
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

  // What other calls have made or begun; null for what this call is to make.
  Request known(std::size_t number) const {
    if (urgent_ == nullptr) {
      const auto kernel = impl_->kernels.find(device_, specs_[number]).kernel;
      return kernel ? impl_->kernels.ready_request(*kernel) : nullptr;
    }
    Request request = impl_->kernels.request(device_, specs_[number]);
    return request != nullptr && !request->has_failed() ? request : nullptr;
  }

  void take_known() {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (same_as_[i] == i && requests_[i] == nullptr) requests_[i] = known(i);
    }
  }

  void make_others(const PrepareProgress& progress) {
    resolve_others();
    for (FirstSpec& spec : making_) choose_first(&spec);
    build_and_load(progress);
    for (FirstSpec& spec : making_) start(std::move(spec));
  }

  // Waits for other calls that make final kernels of urgent M. False if one of them has failed or
  // was cancelled: this call must then make those itself. Throws Error(kMissing, "runtime.sealed")
  // where it may not, because the runtime was sealed meanwhile.
  bool wait_for_urgent() {
    bool is_served = true;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      Request& request = requests_[same_as_[i]];
      if (request == nullptr || is_final(*request, urgent_of(*urgent_, i))) continue;
      request->result.wait();
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
    std::vector<bool> is_refused(specs_.size(), false);
    making_.clear();
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      // Of specs that mean the same, each is named where they are refused.
      const bool is_first = same_as_[i] == i;
      if (is_first ? requests_[i] != nullptr : !is_refused[same_as_[i]]) continue;
      try {
        FirstSpec spec;
        spec.number = i;
        spec.plan = resolve(specs_[i], target, tables);
        making_.push_back(std::move(spec));
      } catch (const Error& error) {
        if (error.category() != ErrorCategory::kUnsupported) throw;
        is_refused[i] = true;
        problems.insert(problems.end(), error.problems().begin(), error.problems().end());
      }
    }
    if (!problems.empty()) {
      throw Error(ErrorCategory::kUnsupported, "runtime.unsupported", std::move(problems));
    }
    for (const FirstSpec& spec : making_) impl_->recorder.record(spec.plan);
  }

  void choose_first(FirstSpec* spec) const {
    spec->sources = render_all(spec->plan);
    if (urgent_ == nullptr) {
      spec->is_first.assign(spec->sources.size(), true);
      return;
    }
    spec->is_first = urgent_kernels(*spec);
    std::vector<BuildResult> found = impl_->builder.find(spec->sources);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i].hit) spec->is_first[i] = true;
    }
    spec->stand_in = add_stand_in(spec->plan, &spec->is_first);
    if (spec->stand_in && spec->stand_in->general) {
      spec->general = render(*spec->stand_in->general, 0);
    }
  }

  std::vector<bool> urgent_kernels(const FirstSpec& spec) const {
    std::vector<bool> needed(spec.plan.kernel_count(), false);
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (same_as_[i] != spec.number) continue;
      const std::vector<bool> of_one = kernels_for(spec.plan, urgent_of(*urgent_, i));
      for (std::size_t k = 0; k < needed.size(); ++k) needed[k] = needed[k] || of_one[k];
    }
    return needed;
  }

  void build_and_load(const PrepareProgress& progress) {
    SourceList list;
    for (const FirstSpec& spec : making_) {
      for (std::size_t i = 0; i < spec.sources.size(); ++i) {
        if (spec.is_first[i]) list.add(spec.sources[i]);
      }
      if (spec.general) list.add(*spec.general);
    }
    const std::vector<BuildResult> built = impl_->build_cancellable(list.sources(), progress);
    const auto load = [&](const Source& source) {
      return impl_->load_kernel(source, built[list.place_of(source)], device_);
    };
    for (FirstSpec& spec : making_) {
      for (std::size_t i = 0; i < spec.sources.size(); ++i) {
        spec.code.push_back(spec.is_first[i] ? load(spec.sources[i]) : nullptr);
      }
      if (spec.missing() == 0) continue;
      spec.meanwhile = stand_in_kernel(spec, spec.general ? load(*spec.general) : nullptr);
    }
  }

  static Kernel stand_in_kernel(const FirstSpec& spec, const Code& general) {
    std::vector<Code> code;
    for (const std::size_t number : spec.stand_in->code) {
      code.push_back(number == kGeneralCode ? general : spec.code[number]);
    }
    return assemble_kernel(spec.stand_in->plan, std::move(code),
                           {std::make_shared<Plan>(spec.plan)});
  }

  // Serves the spec from here on, and leaves the rest of its kernels to the background. Where
  // another call has begun the same meanwhile, what that has begun serves this one, too.
  void start(FirstSpec&& first) {
    const std::size_t number = first.number;
    if (first.meanwhile) {
      requests_[number] = impl_->kernels.begin(
          device_, specs_[number],
          [&](const KernelRequest::State* failed) { return begin(std::move(first), failed); });
      return;
    }
    impl_->kernels.finish(device_, assemble_kernel(first.plan, std::move(first.code)));
    requests_[number] = known(number);
  }

  Request begin(FirstSpec&& first, const KernelRequest::State* failed) {
    const auto spec = std::make_shared<FirstSpec>(std::move(first));
    work_->total += spec->missing();
    Request request = impl_->kernels.new_request(
        impl_->requests.add(context_,
                            [impl = impl_, spec, device = device_, work = work_] {
                              return make_rest(impl, spec.get(), device, work.get());
                            }),
        failed);
    request->stand_in =
        failed == nullptr ? spec->meanwhile : with_counterpart(*spec->meanwhile, failed->stand_in);
    request->stood_in = spec->stood_in();
    return request;
  }

  Runtime::Impl* impl_;
  cuda::CUcontext context_;
  cuda::CUdevice device_;
  const std::vector<Spec>& specs_;
  const std::vector<MRange>* urgent_;
  std::vector<std::size_t> same_as_;  // of each spec the first that means the same
  std::vector<Request> requests_;     // of each spec that is such a first
  std::vector<FirstSpec> making_;
  std::shared_ptr<BackgroundWork> work_ = std::make_shared<BackgroundWork>();
};

}  // namespace

bool is_final(const KernelRequest::State& request, const MRange& urgent) {
  const bool is_made = request.has_ended() && !request.has_failed();
  return is_made || std::none_of(request.stood_in.begin(), request.stood_in.end(),
                                 [&](const MRange& m) { return overlap(m, urgent); });
}

Preparation prepare_kernels(Runtime::Impl* impl, const std::vector<Spec>& specs,
                            const std::vector<MRange>* urgent, const PrepareProgress& progress) {
  const cuda::CurrentContext context;
  impl->keep_primary_context(context);
  return PrepareCall(impl, context, specs, urgent).make(progress);
}

}  // namespace heddle
