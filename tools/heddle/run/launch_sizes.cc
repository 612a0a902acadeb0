#include "tools/heddle/run/launch_sizes.h"

#include <fmt/format.h>

#include "generator/operations/operation.h"
#include "heddle/error.h"
#include "tools/gpu_harness/harness.h"
#include "tools/heddle/run/attention_loads.h"
#include "tools/heddle/shared/options.h"

namespace heddle {

void check_loads(const Spec& spec, const std::vector<std::string>& loads) {
  if (loads.empty() || harness_of(spec).takes_loads()) return;
  throw Error(ErrorCategory::kUsage, "tool.loads",
              fmt::format("--loads is of decode_attention; this is a {}", to_string(spec.op())));
}

void check_has_candidates(const Spec& spec, const char* option) {
  if (harness_of(spec).has_candidates()) return;
  throw Error(
      ErrorCategory::kUsage, "tool.no_candidates",
      fmt::format("{} is of gemm, decode_attention and moe: no other candidates are timed, so "
                  "not those of {}",
                  option, to_string(spec.op())));
}

std::vector<LaunchSize> launch_sizes(const Spec& spec, const std::vector<std::int64_t>& m,
                                     const std::vector<std::string>& loads) {
  check_m_list(spec, m);
  check_loads(spec, loads);
  std::vector<LaunchSize> sizes;
  sizes.reserve(m.size() + loads.size());
  for (const std::int64_t one : m) sizes.push_back({one});
  for (const AttentionLoad& load : parse_attention_loads(loads)) {
    if (load.shortest != 0) {
      throw Error(
          ErrorCategory::kUsage, "tool.load",
          fmt::format("--loads {}x{}-{} is a range of lengths, and a kernel is chosen for "
                      "one: write {}x{}; lengths are drawn by heddle bench, without --sweep",
                      load.sequences, load.shortest, load.length, load.sequences, load.length));
    }
    sizes.push_back({load.length, load.sequences});
    operation_of(spec).check_size(spec.fields(), sizes.back());
  }
  return sizes;
}

}  // namespace heddle
