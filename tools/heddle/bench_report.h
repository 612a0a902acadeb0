// What `heddle bench` says of GEMMs: a table for people, a document for programs.
#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_REPORT_H_
#define HEDDLE_TOOLS_HEDDLE_BENCH_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "heddle/spec.h"
#include "tools/gpu_harness/gemm_bench.h"

namespace heddle {

// "qkv_proj" or, without a name, "6144 x 4096".
std::string bench_name(const Spec& spec);

// `specs` are those that were timed, in their order.
nlohmann::ordered_json bench_json(const GemmBenchReport& report, const std::vector<Spec>& specs);
std::string bench_text(const GemmBenchReport& report, const std::vector<Spec>& specs);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_BENCH_REPORT_H_
