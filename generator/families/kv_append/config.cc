#include "generator/families/kv_append/config.h"

#include <algorithm>
#include <bit>

#include "generator/families/kv_granularity.h"
#include "generator/families/scale_type.h"
#include "generator/kv/kv_rule.h"
#include "generator/kv/rope.h"
#include "generator/target/capabilities.h"
#include "heddle/kv_cache.h"

namespace heddle {
namespace {

using device::KvAppendConfig;
using device::KvTensorConfig;

// Rows of a thread under way; of a token whose heads share scales it has no more.
constexpr int kStages = 3;
constexpr int kTokenRows = 2;
// Small blocks: while some wait for their bytes, others compute.
constexpr int kUsualThreads = 128;

KvTensorConfig tensor_config(const KvTensor& tensor, const KvTensorLayout& layout,
                             DType activation) {
  const KvRule rule = kv_rule(tensor);
  const DType scale = tensor.scale_dtype.value_or(DType::kFp32);
  KvTensorConfig config{};
  config.bits = rule.bits;
  config.is_16_bit = rule.is_16_bit;
  config.is_bf16 = tensor.dtype == KvDtype::kBf16;
  config.of_input = tensor.dtype == (activation == DType::kBf16 ? KvDtype::kBf16 : KvDtype::kFp16);
  config.is_float = rule.is_float;
  // Integer codes have no use for these, but SmallFloat wants some format.
  config.exponent_bits = rule.is_float ? rule.code_float.exponent_bits : 1;
  config.mantissa_bits = rule.code_float.mantissa_bits;
  config.largest_code = static_cast<int>(rule.code_float.largest);
  config.asymmetric = !tensor.symmetric;
  config.low = rule.low;
  config.high = rule.high;
  config.bias = rule.bias;
  config.divisor = static_cast<int>(rule.divisor);
  config.granularity = kv_granularity(tensor.granularity);
  config.group_size = tensor.group_size;
  config.given_factor = tensor.dtype == KvDtype::kNvfp4;
  config.scale_type = scale_type(scale);
  config.nan_scale = static_cast<int>(nan_scale(scale));
  config.row_bytes = layout.row_bytes;
  config.scale_row_bytes = layout.scale_row_bytes;
  config.scale_heads = layout.scale_heads;
  return config;
}

// How a thread block shares its rows out.
void choose_tile(const KvShape& shape, KvAppendConfig& config) {
  const auto by_token = [](const KvTensorConfig& tensor) {
    return tensor.granularity == device::KvGranularity::kToken;
  };
  const auto lanes = device::ceil_div(shape.head_dim, device::kLaneElements);
  config.lanes = static_cast<int>(std::bit_ceil(static_cast<unsigned>(lanes)));
  // Scales per token: all heads of one in a block, kTokenRows rows a thread.
  const bool all_heads = by_token(config.k) || by_token(config.v);
  config.slots = all_heads ? (shape.kv_heads + kTokenRows - 1) / kTokenRows : 1;
  config.stages = all_heads ? kTokenRows : kStages;
  config.tokens = std::max(1, kUsualThreads / (config.slots * config.lanes));
}

}  // namespace

KvAppendConfig kv_append_config(const KvAppendSpec& spec, const Target& target) {
  const KvCacheLayout layout = kv_cache_layout(spec.kv, spec.shape.kv_heads, spec.shape.head_dim);
  KvAppendConfig config{};
  config.heads = spec.shape.kv_heads;
  config.head_dim = spec.shape.head_dim;
  config.hnd = spec.kv.order == KvOrder::kHnd;
  config.paged = spec.kv.layout == KvLayout::kPaged;
  config.page_size = spec.kv.page_size;
  config.rope = spec.rope.pairing;
  config.rope_dim = spec.rope.dim;
  config.rope_table = spec.rope.source == RopeSource::kTable;
  config.rope_factor_bits = std::bit_cast<int>(rope_factor(spec.rope));
  config.query_heads = spec.query.heads;
  config.epsilon_bits = std::bit_cast<int>(spec.norm.epsilon.value_or(0.0F));
  config.weight_offset = spec.norm.weight_offset;
  config.async_copies = has_async_copies(target);
  config.dependent = has_dependent_launch(target);
  config.k = tensor_config(spec.kv.k, layout.k, spec.activation);
  config.v = tensor_config(spec.kv.v, layout.v, spec.activation);
  choose_tile(spec.shape, config);
  return config;
}

}  // namespace heddle
