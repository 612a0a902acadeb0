#include "tools/gpu_harness/operations/gemm/bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "generator/families/family.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/device/cublas.h"
#include "tools/gpu_harness/operations/gemm/floor.h"
#include "tools/gpu_harness/operations/gemm/tensors.h"
#include "tools/gpu_harness/operations/gemm/weight_copies.h"
#include "tools/gpu_harness/timing/launch_overhead.h"
#include "tools/gpu_harness/timing/rotation.h"
#include "tools/gpu_harness/timing/sm_clock.h"
#include "tools/gpu_harness/timing/stream.h"

namespace heddle {
namespace {

// Two plans that share a kernel share its source.
std::vector<Source> sources_of(const std::vector<Plan>& plans) {
  std::vector<Source> sources;
  std::set<std::pair<std::string, std::string>> known;
  for (const Plan& plan : plans) {
    for (Source& source : render_all(plan)) {
      if (known.emplace(source.file_name, source.arch).second) sources.push_back(std::move(source));
    }
  }
  return sources;
}

std::vector<GemmKernel> load_all(Runtime& runtime, const std::vector<Plan>& plans,
                                 const BuildProgress& progress) {
  runtime.build(sources_of(plans), progress);
  std::vector<GemmKernel> kernels;
  kernels.reserve(plans.size());
  for (const Plan& plan : plans) kernels.emplace_back(runtime.load(plan));
  return kernels;
}

// What the specs of one list share. Needs a current context for its whole life.
class GemmBench {
 public:
  GemmBench(std::vector<GemmKernel> kernels, const std::vector<std::int64_t>& m_list,
            const GemmBenchOptions& options)
      : kernels_(std::move(kernels)),
        m_list_(m_list),
        max_m_(*std::max_element(m_list.begin(), m_list.end())),
        options_(options) {
    if (options.cublas) cublas_ = Cublas::open(stream_, &report_.cublas_missing);
    report_.device = kernels_.front().plan().target;
    report_.read_tb_per_s = read_rate(helpers_, stream_);
  }

  void time_launches(Runtime& runtime) {
    const GemmTensors tensors = tensors_for(kernels_.front());
    const GemmArgs args = tensors.args(m_list_.front(), weights_for(0).packed().front().memory());
    const LaunchOverhead overhead =
        measure_launch_overhead(runtime, kernels_.front(), args, stream_);
    report_.launch_us = overhead.launch_us;
    report_.bare_launch_us = overhead.bare_launch_us;
  }

  void time_each() {
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      if (options_.on_spec) options_.on_spec(i);
      const GemmTensors tensors = tensors_for(kernels_[i]);
      for (const std::int64_t m : m_list_) report_.rows.push_back(time_or_blame(i, m, tensors));
    }
    weights_.reset();
  }

  void time_chain();
  GemmBenchReport take_report() { return std::move(report_); }

 private:
  const GemmSpec& spec(std::size_t i) const { return kernels_[i].plan().spec.gemm(); }
  GemmTensors tensors_for(const GemmKernel& kernel) const {
    return make_gemm_tensors(kernel, max_m_, kBenchSeed, helpers_, stream_);
  }
  WeightCopies& weights_for(std::size_t i);
  GemmTiming time_or_blame(std::size_t i, std::int64_t m, const GemmTensors& tensors);
  GemmTiming time_one(std::size_t i, std::int64_t m, const GemmTensors& tensors);
  TimedRound cublas_launches(std::size_t i, std::int64_t m, const GemmTensors& tensors);

  OwnedStream stream_;
  HelperKernels helpers_;
  SmClock clock_{helpers_, stream_};
  std::vector<GemmKernel> kernels_;
  std::vector<std::int64_t> m_list_;
  std::int64_t max_m_;
  const GemmBenchOptions& options_;
  std::unique_ptr<Cublas> cublas_;
  std::unique_ptr<WeightCopies> weights_;
  std::string weights_key_;  // of the spec that they are of
  GemmBenchReport report_;
};

// Kept from one spec to the next where they differ in their tiles or paths only.
WeightCopies& GemmBench::weights_for(std::size_t i) {
  GemmSpec plain = spec(i);
  plain.tile = {};
  plain.path = Path::kAuto;
  plain.shape.m_min = 1;
  plain.shape.m_max = kDefaultMaxM;
  std::string key = Spec::from_gemm(plain).canonical_json();
  if (!weights_ || key != weights_key_) {
    weights_.reset();
    weights_ = std::make_unique<WeightCopies>(plain, helpers_, stream_);
    weights_key_ = std::move(key);
  }
  return *weights_;
}

// An error of the driver does not say which of many kernels it comes from.
GemmTiming GemmBench::time_or_blame(std::size_t i, std::int64_t m, const GemmTensors& tensors) {
  try {
    return time_one(i, m, tensors);
  } catch (const Error& error) {
    const Plan& plan = kernels_[i].plan();
    const PlannedKernel& kernel = plan.kernels[plan.kernel_for(m)];
    throw Error(error.category(), error.code(),
                fmt::format("{} ({} {}) with M = {}: {}", kernel.name, kernel.family->name(),
                            kernel.family->tile_text(kernel), m, error.what()));
  }
}

GemmTiming GemmBench::time_one(std::size_t i, std::int64_t m, const GemmTensors& tensors) {
  const GemmKernel& kernel = kernels_[i];
  const std::vector<DeviceBuffer>& weights = weights_for(i).packed();
  GemmTiming row;
  row.spec = i;
  row.m = m;
  row.kernel = kernel.plan().kernels[kernel.plan().kernel_for(m)];
  const TimedRound own{static_cast<int>(weights.size()), [&](int n) {
                         const DeviceInput copy =
                             turn_of(weights, static_cast<std::size_t>(n)).memory();
                         kernel.launch(tensors.args(m, copy), stream_.get());
                       }};
  if (cublas_ && !spec(i).has_byte_activations()) {
    std::tie(row.us, row.cublas_us) =
        time_in_turns(stream_, own, cublas_launches(i, m, tensors), options_.budget, &clock_);
  } else {
    row.us = time_in_graph(stream_, own.round, options_.budget, own.launch, &clock_);
  }
  row.sm_mhz = clock_.mhz();
  row.bytes = traffic_bytes(spec(i), m);
  row.floor_us = floor_us(spec(i), m, report_.device, report_.read_tb_per_s);
  return row;
}

TimedRound GemmBench::cublas_launches(std::size_t i, std::int64_t m, const GemmTensors& tensors) {
  const GemmShape& shape = spec(i).shape;
  const bool bf16 = spec(i).activation == DType::kBf16;
  const std::vector<DeviceBuffer>& weights = weights_for(i).rounded();
  const GemmArgs args = tensors.args(m, {});
  const auto launch = [this, &weights, &shape, args, m, bf16](int n) {
    cublas_->gemm(args.x.data, turn_of(weights, static_cast<std::size_t>(n)).get(), args.y.data,
                  static_cast<int>(m), static_cast<int>(shape.n), static_cast<int>(shape.k), bf16);
  };
  launch(0);  // outside of the capture, so that cuBLAS may load its kernel
  stream_.synchronize();
  return {static_cast<int>(weights.size()), launch};
}

void GemmBench::time_chain() {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < kernels_.size(); ++i) bytes += weight_layout(spec(i)).total_bytes;
  std::vector<WeightCopies> weights;
  std::vector<GemmTensors> tensors;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    weights.emplace_back(spec(i), helpers_, stream_, copies_for(bytes));
    tensors.push_back(tensors_for(kernels_[i]));
  }
  const auto round = static_cast<int>(kernels_.size() * copies_for(bytes));
  for (const std::int64_t m : m_list_) {
    ChainTiming row;
    row.m = m;
    const double us = time_in_graph(stream_, round, options_.budget, [&](int n) {
      const std::size_t i = static_cast<std::size_t>(n) % kernels_.size();
      const std::size_t copy = static_cast<std::size_t>(n) / kernels_.size();
      kernels_[i].launch(tensors[i].args(m, turn_of(weights[i].packed(), copy).memory()),
                         stream_.get());
    });
    row.us = us * static_cast<double>(kernels_.size());
    for (std::size_t i = 0; i < kernels_.size(); ++i) row.bytes += traffic_bytes(spec(i), m);
    report_.chain.push_back(row);
  }
}

}  // namespace

GemmBenchReport bench_gemm_plans(Runtime& runtime, const std::vector<Plan>& plans,
                                 const std::vector<std::int64_t>& m_list,
                                 const GemmBenchOptions& options) {
  for (const Plan& plan : plans) require_m(plan.spec.m_range(), m_list);
  const cuda::CurrentContext context;
  GemmBench bench(load_all(runtime, plans, options.on_build), m_list, options);
  bench.time_launches(runtime);
  bench.time_each();
  if (options.chain) bench.time_chain();
  return bench.take_report();
}

GemmBenchReport bench_gemm(Runtime& runtime, const std::vector<Spec>& specs,
                           const std::vector<std::int64_t>& m_list,
                           const GemmBenchOptions& options) {
  for (const Spec& spec : specs) require_m(spec.m_range(), m_list);
  std::vector<Plan> plans;
  plans.reserve(specs.size());
  for (const Spec& spec : specs) {
    plans.push_back(resolve(spec, runtime.device_target(), runtime.tuned_tables()));
  }
  return bench_gemm_plans(runtime, plans, m_list, options);
}

}  // namespace heddle
