#include "tools/gpu_harness/step_bytes.h"

#include <algorithm>

#include "heddle/kv_cache.h"
#include "heddle/weights.h"
#include "tools/gpu_harness/bench_cache.h"
#include "tools/gpu_harness/gemm_floor.h"

namespace heddle {
namespace {

double elements(std::int64_t rows, std::int64_t columns, DType dtype) {
  return static_cast<double>(rows) * static_cast<double>(columns) * bytes_of(dtype);
}

double bytes(const RowTransformSpec& spec, const StepLoad& load) {
  const std::int64_t columns = spec.shape.columns;
  const double vectors = (spec.norm.type == NormType::kNone ? 0 : 1) + (spec.norm.bias ? 1 : 0);
  return elements(load.sequences, spec.x_columns() + (spec.residual ? 2 * columns : 0),
                  spec.input) +
         elements(load.sequences, columns, spec.input) + vectors * elements(1, columns, spec.input);
}

double bytes(const KvAppendSpec& spec, const StepLoad& load) {
  const std::int64_t rows =
      std::int64_t{2} * spec.query.heads + std::int64_t{2} * spec.shape.kv_heads;
  const KvTokenBytes token =
      kv_token_bytes(kv_cache_layout(spec.kv, spec.shape.kv_heads, spec.shape.head_dim));
  return elements(load.sequences, rows * spec.shape.head_dim, spec.activation) +
         static_cast<double>(load.sequences) * static_cast<double>(token.codes + token.scales);
}

double bytes(const DecodeAttentionSpec& spec, const StepLoad& load) {
  const AttentionShape& shape = spec.shape;
  const std::int64_t seen =
      spec.window == 0 ? load.context : std::min<std::int64_t>(load.context, spec.window);
  const KvCacheLayout layout = kv_cache_layout(spec.kv, shape.kv_heads, shape.head_dim);
  return elements(load.sequences, std::int64_t{2} * shape.heads * shape.head_dim, spec.activation) +
         static_cast<double>(load.sequences) *
             cached_bytes(layout, static_cast<std::int32_t>(seen));
}

}  // namespace

double step_bytes(const Spec& spec, const StepLoad& load) {
  if (const auto* rows = spec.get_if<RowTransformSpec>()) return bytes(*rows, load);
  if (const auto* append = spec.get_if<KvAppendSpec>()) return bytes(*append, load);
  if (const auto* attention = spec.get_if<DecodeAttentionSpec>()) return bytes(*attention, load);
  return traffic_bytes(spec.gemm(), load.sequences);
}

}  // namespace heddle
