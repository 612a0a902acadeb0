#include "tools/gpu_harness/operations/kv_append/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/operations.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/operations/kv_append/device.h"
#include "tools/gpu_harness/timing/rotation.h"

namespace heddle {
namespace {

// Every launch has tokens of its own, and they go to places of their own: copies of a small cache,
// or other lengths in a large one.
class Launches {
 public:
  Launches(const KvAppendKernel& kernel, const KvAppendShape& shape, std::size_t moved_bytes,
           const OwnedStream& stream)
      : kernel_(kernel) {
    const KvAppendSpec& spec = kernel.plan().spec.kv_append();
    KvProblem problem = make_kv_problem(spec, shape);
    std::size_t cache_bytes = 0;
    for (const std::size_t bytes : problem.bytes) cache_bytes += bytes;
    const std::size_t copies = copies_for(moved_bytes);
    const std::size_t caches = std::min(copies, copies_for(cache_bytes));
    for (std::size_t i = 0; i < caches; ++i) {
      outputs_.push_back(std::make_unique<DeviceKvOutput>(problem.bytes));
    }
    for (std::size_t i = 0; i < copies; ++i) {
      inputs_.push_back(std::make_unique<DeviceKvInput>(spec, problem, stream));
      if (problem.offsets.empty()) {
        std::rotate(problem.lengths.begin(), problem.lengths.begin() + 1, problem.lengths.end());
      }
    }
  }

  int copies() const { return static_cast<int>(inputs_.size()); }
  void launch(int i, const OwnedStream& stream) const {
    const auto at = static_cast<std::size_t>(i);
    KvAppendArgs args = inputs_[at % inputs_.size()]->args();
    outputs_[at % outputs_.size()]->set(&args);
    kernel_.launch(args, stream.get());
  }

 private:
  const KvAppendKernel& kernel_;
  std::vector<std::unique_ptr<DeviceKvInput>> inputs_;
  std::vector<std::unique_ptr<DeviceKvOutput>> outputs_;
};

// Adds what an append to one sequence moves. K with scales per channel: of blocks that become full
// the window's tokens are read and all are written, the new tokens of the last one go to the
// window.
void add_bytes(const KvCacheLayout& layout, int head_dim, int new_tokens, int length,
               Timing& timing) {
  const int block = layout.k.scale_tokens;
  const int first = std::max(0, length - new_tokens);
  const int whole = length / block * block;
  const int begin = std::min(first / block * block, whole);
  const auto rows = [&](int tokens, int row_bytes) {
    return static_cast<std::size_t>(tokens) * static_cast<std::size_t>(layout.k.heads) *
           static_cast<std::size_t>(row_bytes);
  };
  const int old_tokens = begin < whole ? first - begin : 0;
  timing.read_bytes += rows(new_tokens, 4 * head_dim) + rows(old_tokens, 2 * head_dim);
  timing.written_bytes += layout.k.code_bytes(1, whole - begin) +
                          layout.k.scale_bytes(1, whole - begin) +
                          rows(length - std::max(first, whole), layout.k.residual_row_bytes) +
                          layout.v.code_bytes(1, new_tokens) + layout.v.scale_bytes(1, new_tokens);
}

Timing time_append(const KvAppendKernel& kernel, const KvAppendShape& shape,
                   const OwnedStream& stream, const TimingBudget& budget) {
  const KvAppendSpec& spec = kernel.plan().spec.kv_append();
  const auto [kv_heads, head_dim] = spec.shape;
  const KvCacheLayout layout = kv_cache_layout(spec.kv, kv_heads, head_dim);
  const std::size_t query_bytes =
      2 * static_cast<std::size_t>(spec.query.heads) * static_cast<std::size_t>(head_dim);
  Timing timing;
  for (std::size_t i = 0; i < shape.new_tokens.size(); ++i) {
    add_bytes(layout, head_dim, shape.new_tokens[i], shape.lengths[i], timing);
    timing.read_bytes += static_cast<std::size_t>(shape.new_tokens[i]) * query_bytes;
    timing.written_bytes += static_cast<std::size_t>(shape.new_tokens[i]) * query_bytes;
  }
  {
    const Launches launches(kernel, shape, timing.read_bytes + timing.written_bytes, stream);
    timing.us = time_in_graph(stream, launches.copies(), budget,
                              [&](int i) { launches.launch(i, stream); });
  }
  time_stream(stream, budget, &timing);
  return timing;
}

}  // namespace

BenchReport bench_kv_append(Runtime& runtime, const Spec& spec, const BenchOptions& options) {
  constexpr int kPrefillTokens = 8192;
  constexpr int kSequences = 64;
  constexpr int kLongest = 4096;
  const cuda::CurrentContext context;
  const auto kernel = runtime.kernel<KvAppendKernel>(spec);
  const OwnedStream stream;
  BenchReport report;
  for (const KvAppendShape& shape :
       {prefill_shape(kPrefillTokens), decode_shape(kSequences, kLongest, 1)}) {
    const std::size_t sequences = shape.lengths.size();
    const std::size_t tokens = sequences == 1 ? kPrefillTokens : sequences;
    Cells cells = {number("sequences", "SEQUENCES", sequences, fmt::format("{}", sequences)),
                   number("tokens", "NEW TOKENS", tokens, fmt::format("{}", tokens))};
    for (Cell& cell : stream_cells(time_append(kernel, shape, stream, options.budget))) {
      cells.push_back(std::move(cell));
    }
    report.rows.push_back(std::move(cells));
  }
  report.legend = stream_legend(kernel.plan().target);
  return report;
}

}  // namespace heddle
