#include "checkpoint/row_order.h"

#include <fmt/format.h>

#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {

std::vector<RowRun> row_order(const std::string& layer, std::int64_t n,
                              const CheckpointConfig& config) {
  if (!config.fused_qkv || layer.substr(layer.rfind('.') + 1) != config.fused_qkv->module)
    return {};
  const std::int64_t groups = config.fused_qkv->groups;
  const std::int64_t queries = config.fused_qkv->queries;
  const std::int64_t heads = groups * (queries + 2);
  if (heads < 1 || n % heads != 0) {
    throw Error(
        ErrorCategory::kUnsupported, "checkpoint.layer",
        fmt::format("layer \"{}\": {} rows are not those of {} groups of {} heads of queries, "
                    "one of keys and one of values, which the config says",
                    excerpt(layer), n, groups, queries));
  }
  const std::int64_t dim = n / heads;
  const std::int64_t group_rows = (queries + 2) * dim;
  std::vector<RowRun> runs;
  for (std::int64_t g = 0; g < groups; ++g) runs.push_back({g * group_rows, queries * dim});
  for (std::int64_t g = 0; g < groups; ++g) runs.push_back({g * group_rows + queries * dim, dim});
  for (std::int64_t g = 0; g < groups; ++g) {
    runs.push_back({g * group_rows + (queries + 1) * dim, dim});
  }
  return runs;
}

}  // namespace heddle
