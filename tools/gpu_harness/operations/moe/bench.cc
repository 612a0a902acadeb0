#include "tools/gpu_harness/operations/moe/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "generator/families/family.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "heddle/weights.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/numbers/as_size.h"
#include "tools/gpu_harness/operations/moe/expert_copies.h"
#include "tools/gpu_harness/operations/moe/problem.h"
#include "tools/gpu_harness/timing/graph_timer.h"
#include "tools/gpu_harness/timing/rotation.h"
#include "tools/gpu_harness/timing/stream.h"

namespace heddle {
namespace {

// What the floor has beside the experts: launches, and what lies between them.
constexpr double kLayerUs = 3;
constexpr std::size_t kMostCopies = 16;

// Bytes and products of the experts that are hit.
struct Hits {
  double experts = 0;
  double bytes = 0;
  double floor_us = 0;
};

Hits hits_of(const MoeSpec& spec, const RouterChoices& choices, const Target& device,
             double read_tb_per_s) {
  const MoeGemms gemms = moe_gemms(spec);
  const auto bytes = static_cast<double>(weight_layout(gemms.gate_up).total_bytes +
                                         weight_layout(gemms.down).total_bytes);
  const double products = 2.0 * static_cast<double>(gemms.gate_up.shape.n * gemms.gate_up.shape.k +
                                                    gemms.down.shape.n * gemms.down.shape.k);
  Hits hits;
  hits.floor_us = kLayerUs;
  for (const std::int64_t rows : rows_of_experts(spec, choices)) {
    if (rows == 0) continue;
    hits.experts += 1;
    hits.bytes += bytes;
    const double memory = bytes / read_tb_per_s * 1e-6;
    const double tensor = device.tensor_tflops > 0
                              ? static_cast<double>(rows) * products / device.tensor_tflops * 1e-6
                              : 0;
    hits.floor_us += std::max(memory, tensor);
  }
  return hits;
}

struct MoeTiming {
  Hits mean;  // of all launches
  double us = 0;
};

class MoeBench {
 public:
  MoeBench(const MoeSpec& spec, const Target& device, const BenchOptions& options)
      : spec_(spec),
        device_(device),
        gemms_(moe_gemms(spec_)),
        options_(options),
        read_tb_per_s_(read_rate(helpers_, stream_)) {}

  double read_tb_per_s() const { return read_tb_per_s_; }

  // The choices are the same for all kernels.
  MoeTiming time(const MoeKernel& kernel, std::int64_t tokens) {
    const Hits first = hits_of(spec_, choices(tokens, 0), device_, read_tb_per_s_);
    const std::size_t copies =
        std::min(kMostCopies, copies_for(static_cast<std::size_t>(first.bytes)));
    experts_.grow_to(copies);
    MoeTiming timing;
    Hits& mean = timing.mean;
    std::vector<DeviceChoices> all;
    for (std::size_t i = 0; i < copies; ++i) {
      const RouterChoices drawn = choices(tokens, i);
      const Hits hits = hits_of(spec_, drawn, device_, read_tb_per_s_);
      mean.experts += hits.experts / static_cast<double>(copies);
      mean.bytes += hits.bytes / static_cast<double>(copies);
      mean.floor_us += hits.floor_us / static_cast<double>(copies);
      all.emplace_back(spec_, drawn, stream_);
    }
    stream_.synchronize();
    timing.us = time_launches(kernel, tokens, all);
    return timing;
  }

 private:
  RouterChoices choices(std::int64_t tokens, std::size_t copy) const {
    return random_choices(spec_, tokens, options_.skewed ? Routing::kSkewed : Routing::kUniform,
                          static_cast<std::uint32_t>(kBenchSeed + copy));
  }

  double time_launches(const MoeKernel& kernel, std::int64_t tokens,
                       const std::vector<DeviceChoices>& choices) {
    const std::size_t row_bytes = as_size(2 * tokens * spec_.shape.hidden);
    DeviceBuffer x(row_bytes);
    helpers_.fill_normal(x.get(), row_bytes / 2, kBenchSeed, 1, spec_.activation, stream_);
    DeviceBuffer y(row_bytes);
    DeviceBuffer residual(row_bytes);
    residual.fill(0, stream_);
    const std::size_t experts = as_size(spec_.device_experts());
    DeviceBuffer gate_up_bias(2 * experts * as_size(gemms_.gate_up.shape.n));
    DeviceBuffer down_bias(2 * experts * as_size(gemms_.down.shape.n));
    gate_up_bias.fill(0, stream_);
    down_bias.fill(0, stream_);
    const DeviceBuffer permutation = to_device(random_orders(spec_, kBenchSeed), stream_);
    DeviceBuffer workspace(kernel.workspace_bytes(tokens));
    workspace.fill(0, stream_);
    const auto launch = [&](int i) {
      const auto turn = static_cast<std::size_t>(i);
      MoeArgs args;
      args.x = x.memory();
      args.gate_up = experts_.gate_up(turn);
      args.down = experts_.down(turn);
      turn_of(choices, turn).give(&args);
      if (spec_.epilogue.bias) {
        args.gate_up_bias = gate_up_bias.memory();
        args.down_bias = down_bias.memory();
      }
      args.permutation = permutation.memory();
      if (spec_.epilogue.residual) args.residual = residual.memory();
      args.y = y.memory();
      args.workspace = workspace.memory();
      args.tokens = tokens;
      kernel.launch(args, stream_.get());
    };
    return time_in_graph(stream_, static_cast<int>(choices.size()), options_.budget, launch);
  }

  OwnedStream stream_;
  HelperKernels helpers_;
  const MoeSpec spec_;
  const Target device_;
  const MoeGemms gemms_;
  const BenchOptions& options_;
  const double read_tb_per_s_;
  ExpertCopies experts_{spec_, helpers_, stream_};
};

std::vector<std::int64_t> usual_tokens(const MRange& range) {
  std::vector<std::int64_t> usual = {1, 8, 32, 64, 256, 1024};
  std::erase_if(usual, [&](std::int64_t m) { return m < range.min || m > range.max; });
  return usual.empty() ? std::vector{range.min} : usual;
}

}  // namespace

BenchReport bench_moe(const MoeKernel& kernel, const BenchOptions& options) {
  const cuda::CurrentContext context;
  const Plan& plan = kernel.plan();
  MoeBench bench(plan.spec.moe(), plan.target, options);
  BenchReport report;
  report.facts["read_tb_per_s"] = bench.read_tb_per_s();
  for (const std::int64_t tokens :
       options.m.empty() ? usual_tokens(plan.spec.m_range()) : options.m) {
    const MoeTiming timing = bench.time(kernel, tokens);
    const PlannedKernel& planned = plan.kernels[plan.kernel_for(tokens)];
    report.rows.push_back(
        {number("m", "TOKENS", tokens, fmt::format("{}", tokens)), fact("kernel", planned.name),
         word("", "TILE", planned.family->tile_text(planned)),
         number("experts_hit", "EXPERTS", timing.mean.experts, 1), number("us", "US", timing.us, 2),
         number("gb_per_s", "GB/s", timing.mean.bytes / timing.us * 1e-3, 0),
         number("floor_us", "FLOOR us", timing.mean.floor_us, 2),
         number("times_floor", "TIMES FLOOR", timing.us / timing.mean.floor_us, 2)});
  }
  report.legend = fmt::format(
      "FLOOR is {} us and, of each expert that is hit, the longer of its bytes at {:.2f} TB/s, a "
      "streaming read in this run, and its products in the tensor cores\n",
      kLayerUs, bench.read_tb_per_s());
  return report;
}

PlanTimes time_moe_plans(Runtime& runtime, const std::vector<Plan>& plans, std::int64_t tokens,
                         const BenchOptions& options) {
  const cuda::CurrentContext context;
  std::vector<Source> sources;
  for (const Plan& plan : plans) {
    const bool is_new = std::none_of(sources.begin(), sources.end(), [&](const Source& source) {
      return source.file_name == render(plan, 0).file_name;
    });
    if (is_new) sources.push_back(render(plan, 0));
  }
  runtime.build(sources, options.on_build);
  MoeBench bench(plans.front().spec.moe(), plans.front().target, options);
  PlanTimes times{bench.read_tb_per_s(), {}};
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (options.on_spec) options.on_spec(i);
    const MoeTiming timing = bench.time(MoeKernel(runtime.load(plans[i])), tokens);
    times.rows.push_back({i, plans[i].kernels.front(), timing.us, timing.mean.floor_us});
  }
  return times;
}

}  // namespace heddle
