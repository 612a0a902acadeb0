#include "tools/heddle/run/row_behind.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "heddle/error.h"
#include "tools/gpu_harness/operations/row_transform/behind_bench.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/model_input.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/output.h"
#include "tools/heddle/shared/table.h"

namespace heddle {

using nlohmann::ordered_json;

Spec read_gemm_behind(const std::vector<Spec>& specs, const std::string& behind,
                      const std::vector<std::int64_t>& m_list) {
  if (specs.size() != 1 || specs.front().get_if<RowTransformSpec>() == nullptr) {
    throw Error(ErrorCategory::kUsage, "tool.behind", "--behind is of one row_transform");
  }
  const Model model = read_model(behind);
  if (model.kernels.size() != 1 || !is_gemm(model.kernels.front().spec)) {
    throw Error(ErrorCategory::kUsage, "tool.behind", "--behind takes the spec of one gemm");
  }
  Spec gemm = model.kernels.front().spec;
  check_m_list(specs.front(), m_list);
  check_m_list(gemm, m_list);
  return gemm;
}

int bench_row_behind(Runtime& runtime, const Spec& rows, const Spec& gemm,
                     const std::vector<std::int64_t>& m_list, const TimingBudget& budget,
                     bool json) {
  const auto gemm_kernel = runtime.kernel<GemmKernel>(gemm);
  const auto row_kernel = runtime.kernel<RowTransformKernel>(rows);
  Table table({{"M", Align::kRight},
               {"GEMM us", Align::kRight},
               {"WITH ROWS us", Align::kRight},
               {"ROWS ADD us", Align::kRight}});
  auto benches = ordered_json::array();
  for (const std::int64_t m : m_list) {
    const RowBehindTiming timing = bench_rows_behind(gemm_kernel, row_kernel, m, budget);
    benches.push_back({{"m", m},
                       {"gemm_us", timing.gemm_us},
                       {"pair_us", timing.pair_us},
                       {"added_us", timing.added_us()}});
    table.add_row({fmt::format("{}", m), fmt::format("{:.2f}", timing.gemm_us),
                   fmt::format("{:.2f}", timing.pair_us),
                   fmt::format("{:.2f}", timing.added_us())});
  }
  if (json) {
    print_json({{"device", gemm_kernel.plan().target.name}, {"behind", std::move(benches)}});
  } else {
    print(table.text());
  }
  return kExitDone;
}

}  // namespace heddle
