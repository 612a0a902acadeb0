#include "tools/heddle/kv_append.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "tools/gpu_harness/kv_append_bench.h"
#include "tools/heddle/errors.h"
#include "tools/heddle/output.h"
#include "tools/heddle/packing_timing.h"
#include "tools/heddle/table.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

constexpr int kPrefillTokens = 8192;
constexpr int kSequences = 64;
constexpr int kLongest = 4096;

ordered_json to_json(const PackingTiming& timing, int sequences, int tokens) {
  ordered_json json = {{"sequences", sequences}, {"tokens", tokens}};
  add_timing(timing, &json);
  return json;
}

}  // namespace

int bench_kv_append(Runtime& runtime, const Spec& spec, const TimingBudget& budget, bool json) {
  Table table({{"SEQUENCES", Align::kRight},
               {"NEW TOKENS", Align::kRight},
               {"us", Align::kRight},
               {"GB/s", Align::kRight},
               {"MB READ", Align::kRight},
               {"MB WRITTEN", Align::kRight},
               {"STREAM us", Align::kRight},
               {"OF STREAM", Align::kRight}});
  auto rows = ordered_json::array();
  for (const auto& [sequences, shape] :
       {std::pair{1, prefill_shape(kPrefillTokens)},
        std::pair{kSequences, decode_shape(kSequences, kLongest, 1)}}) {
    const int tokens = sequences == 1 ? kPrefillTokens : sequences;
    const PackingTiming timing = bench_kv_append(runtime, spec, shape, budget);
    rows.push_back(to_json(timing, sequences, tokens));
    table.add_row({fmt::format("{}", sequences), fmt::format("{}", tokens),
                   fmt::format("{:.1f}", timing.us), fmt::format("{:.0f}", timing.gb_per_s),
                   fmt::format("{:.2f}", static_cast<double>(timing.read_bytes) * 1e-6),
                   fmt::format("{:.2f}", static_cast<double>(timing.written_bytes) * 1e-6),
                   fmt::format("{:.1f}", timing.stream_us),
                   fmt::format("{:.1f} %", 100 * timing.stream_ratio())});
  }
  const Target device = runtime.device_target();
  if (json) {
    print_json({{"device", device.name}, {"benches", std::move(rows)}});
  } else {
    print(table.text() + stream_legend(device));
  }
  return kExitDone;
}

}  // namespace heddle
