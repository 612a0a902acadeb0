#include "tools/gpu_harness/operations/decode_attention/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "generator/kv/kv_rule.h"
#include "heddle/inspect/source.h"
#include "heddle/kv_cache.h"
#include "heddle/operations.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/operations/decode_attention/bench_cache.h"
#include "tools/gpu_harness/timing/sm_clock.h"
#include "tools/gpu_harness/timing/stream.h"

namespace heddle {
namespace {

constexpr std::size_t kCacheRotationBytes = std::size_t{320} << 20;  // several times any L2 cache
constexpr int kMostSets = 64;

std::vector<std::int32_t> lengths_of(const AttentionLoad& load) {
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(load.sequences), load.length);
  if (load.shortest == 0) return lengths;
  std::mt19937 random(2);
  std::uniform_int_distribution<std::int32_t> draw(load.shortest, load.length);
  for (std::int32_t& length : lengths) length = draw(random);
  return lengths;
}

struct AttentionTiming {
  double bytes = 0;  // of K, V and their scales, once
  double us = 0;     // per launch, median
  double sm_mhz = 0;
};

// One load: a cache, and sets of sequences that take turns.
AttentionTiming time_load(const DecodeAttentionKernel& kernel, const AttentionLoad& load,
                          const OwnedStream& stream, const TimingBudget& budget, SmClock& clock) {
  const Plan& plan = kernel.plan();
  const DecodeAttentionSpec& spec = plan.spec.decode_attention();
  const bool paged = spec.kv.layout == KvLayout::kPaged;
  const KvCacheLayout layout = kv_cache_layout(spec.kv, spec.shape.kv_heads, spec.shape.head_dim);
  const std::int64_t block = kv_block_tokens(spec.kv.k);
  const std::int64_t page_tokens =
      paged ? spec.kv.page_size : (load.length + block - 1) / block * block;
  const std::int64_t width = (load.length + page_tokens - 1) / page_tokens;
  const std::int64_t set_pages = load.sequences * width;
  AttentionTiming timing;
  const std::vector<std::int32_t> all_lengths = lengths_of(load);
  for (const std::int32_t length : all_lengths) timing.bytes += cached_bytes(layout, length);
  const int sets = std::clamp(
      static_cast<int>(static_cast<double>(kCacheRotationBytes) / timing.bytes) + 1, 1, kMostSets);
  const BenchCache cache(spec, sets * set_pages, page_tokens, load.sequences, stream);
  std::vector<std::int32_t> table(static_cast<std::size_t>(sets * set_pages));
  std::iota(table.begin(), table.end(), 0);
  std::mt19937 random(1);
  std::shuffle(table.begin(), table.end(), random);
  const DeviceBuffer tables = to_device(table, stream);
  const DeviceBuffer lengths = to_device(all_lengths, stream);

  const std::size_t rows = static_cast<std::size_t>(load.sequences) *
                           static_cast<std::size_t>(spec.shape.query_len * spec.shape.heads);
  std::vector<std::uint16_t> queries(rows * static_cast<std::size_t>(spec.shape.head_dim));
  for (std::uint16_t& element : queries) {
    // From one half to one.
    element =
        static_cast<std::uint16_t>(spec.activation == DType::kBf16 ? 0x3F00 | (random() & 0x807F)
                                                                   : 0x3800 | (random() & 0x83FF));
  }
  const DeviceBuffer q = to_device(queries, stream);
  const DeviceBuffer out(q.bytes());
  const DeviceBuffer sums(rows * sizeof(float));
  const DeviceBuffer heads =
      to_device(std::vector<float>(static_cast<std::size_t>(spec.shape.heads), 0.01F), stream);
  DeviceBuffer workspace(plan.max_workspace_bytes());
  workspace.fill(0, stream);

  DecodeAttentionArgs args;
  args.q = q.memory();
  args.out = out.memory();
  args.sequences = load.sequences;
  args.lengths = lengths.memory();
  args.cache = cache.cache();
  args.cache.table_stride = paged ? width : 0;
  if (spec.alibi == Alibi::kGiven) args.slopes = heads.memory();
  if (spec.sink_logits) args.sink_logits = heads.memory();
  if (spec.log_sum_exp) args.log_sum_exp = sums.memory();
  args.workspace = workspace.memory();
  const auto launch = [&](int i) {
    DecodeAttentionArgs own = args;
    const auto first = static_cast<std::size_t>(i % sets) * static_cast<std::size_t>(set_pages);
    if (paged) own.cache.block_table = tables.memory(first * sizeof(std::int32_t));
    kernel.launch(own, stream.get());
  };
  timing.us = time_in_graph(stream, std::max(sets, 4), budget, launch, &clock);
  timing.sm_mhz = clock.mhz();
  return timing;
}

Cells cells_of(const AttentionTiming& timing, const AttentionLoad& load, double floor_us) {
  const int shortest = load.shortest > 0 ? load.shortest : load.length;
  return {number("sequences", "SEQUENCES", load.sequences, fmt::format("{}", load.sequences)),
          number("length", "LENGTH", load.length,
                 load.shortest > 0 ? fmt::format("{}-{}", shortest, load.length)
                                   : fmt::format("{}", load.length)),
          fact("shortest", shortest),
          number("bytes", "MB READ", timing.bytes, fmt::format("{:.1f}", timing.bytes * 1e-6)),
          number("us", "us", timing.us, 1),
          number("gb_per_s", "GB/s", timing.bytes / timing.us * 1e-3, 0),
          number("floor_us", "FLOOR us", floor_us, 1),
          number("ratio", "OVER FLOOR", timing.us / floor_us, 2),
          number("sm_mhz", "SM MHz", timing.sm_mhz, 0)};
}

// What all loads of a run share. Needs a current context for its whole life.
class Bench {
 public:
  Bench(const Target& device, const TimingBudget& budget) : device_(device), budget_(budget) {}

  AttentionTiming time(const DecodeAttentionKernel& kernel, const AttentionLoad& load) {
    return time_load(kernel, load, stream_, budget_, clock_);
  }
  double read_tb_per_s() const { return read_tb_per_s_; }
  double floor_us(const AttentionTiming& timing) const {
    return device_.launch_us + timing.bytes / read_tb_per_s_ * 1e-6;
  }

 private:
  const Target device_;
  const TimingBudget budget_;
  OwnedStream stream_;
  HelperKernels helpers_;
  SmClock clock_{helpers_, stream_};
  const double read_tb_per_s_ = read_rate(helpers_, stream_);
};

}  // namespace

std::vector<AttentionLoad> usual_attention_loads() {
  return {{1, 1024},  {1, 8192},  {1, 32768},  {8, 4096},
          {16, 8192}, {64, 1024}, {256, 1024}, {64, 8192}};
}

BenchReport bench_attention(Runtime& runtime, const Spec& spec, const BenchOptions& options) {
  const cuda::CurrentContext context;
  const auto kernel = runtime.kernel<DecodeAttentionKernel>(spec);
  const Target& device = kernel.plan().target;
  Bench bench(device, options.budget);
  BenchReport report;
  report.facts["read_tb_per_s"] = bench.read_tb_per_s();
  for (const AttentionLoad& load :
       options.loads.empty() ? usual_attention_loads() : options.loads) {
    const AttentionTiming timing = bench.time(kernel, load);
    report.rows.push_back(cells_of(timing, load, bench.floor_us(timing)));
  }
  report.legend = fmt::format("{}: {:.2f} TB/s streaming read in this run\n", device.name,
                              bench.read_tb_per_s());
  return report;
}

PlanTimes bench_attention_plans(Runtime& runtime, const std::vector<Plan>& plans,
                                const AttentionLoad& load, const BenchOptions& options) {
  const cuda::CurrentContext context;
  std::vector<Source> sources;
  sources.reserve(plans.size());
  for (const Plan& plan : plans) sources.push_back(render(plan, 0));
  runtime.build(sources, options.on_build);
  Bench bench(runtime.device_target(), options.budget);
  PlanTimes times{bench.read_tb_per_s(), {}};
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (options.on_spec) options.on_spec(i);
    const AttentionTiming timing = bench.time(DecodeAttentionKernel(runtime.load(plans[i])), load);
    times.rows.push_back({i, plans[i].kernels.front(), timing.us, bench.floor_us(timing)});
  }
  return times;
}

}  // namespace heddle
