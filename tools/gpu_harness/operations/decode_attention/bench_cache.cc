#include "tools/gpu_harness/operations/decode_attention/bench_cache.h"

#include <algorithm>
#include <cstddef>

#include "generator/kv/kv_rule.h"

namespace heddle {
namespace {

constexpr int kPatternTokens = 1024;

DeviceBuffer repeated(const std::vector<std::uint8_t>& pattern, std::size_t bytes,
                      const OwnedStream& stream) {
  DeviceBuffer buffer(bytes);
  const std::size_t unit = std::min(bytes, pattern.size());
  buffer.upload(pattern.data(), unit, stream);
  buffer.repeat(0, unit, bytes, stream);
  return buffer;
}

}  // namespace

AttentionProblem bench_pattern(const DecodeAttentionSpec& spec) {
  AttentionProblem pattern = make_attention_problem(spec, {kPatternTokens});
  const KvCacheLayout layout = kv_cache_layout(spec.kv, spec.shape.kv_heads, spec.shape.head_dim);
  for (const std::size_t which : {std::size_t{0}, std::size_t{1}}) {
    const KvTensorLayout& tensor = which == 0 ? layout.k : layout.v;
    pattern.codes[which].resize(tensor.code_bytes(1, kPatternTokens));
    pattern.scales[which].resize(tensor.scale_bytes(1, kPatternTokens));
  }
  return pattern;
}

BenchCache::BenchCache(const DecodeAttentionSpec& spec, std::int64_t pages,
                       std::int64_t page_tokens, std::int64_t sequences,
                       const OwnedStream& stream) {
  cache_.pages = pages;
  cache_.page_tokens = page_tokens;
  // One page and order do for a pattern: its bytes mean something in any place.
  DecodeAttentionSpec plain = spec;
  plain.kv.layout = KvLayout::kContiguous;
  plain.kv.page_size = 0;
  plain.kv.order = KvOrder::kNhd;
  const AttentionProblem pattern = bench_pattern(plain);
  const KvCacheLayout layout = kv_cache_layout(spec.kv, spec.shape.kv_heads, spec.shape.head_dim);
  fill(pattern, 0, layout.k, stream);
  fill(pattern, 1, layout.v, stream);
  given_ = to_device(std::vector<float>(pattern.given.begin(), pattern.given.end()), stream);
  fill_residual(plain, layout.k, sequences, stream);
  if (takes_given(spec.kv.k)) cache_.k.given = given_.memory();
  if (takes_given(spec.kv.v)) cache_.v.given = given_.memory(2 * sizeof(float));
}

void BenchCache::fill(const AttentionProblem& pattern, std::size_t which,
                      const KvTensorLayout& layout, const OwnedStream& stream) {
  codes_[which] =
      repeated(pattern.codes[which], layout.code_bytes(cache_.pages, cache_.page_tokens), stream);
  scales_[which] =
      repeated(pattern.scales[which], layout.scale_bytes(cache_.pages, cache_.page_tokens), stream);
  KvCacheTensor& tensor = which == 0 ? cache_.k : cache_.v;
  tensor.codes = codes_[which].memory();
  tensor.scales = scales_[which].memory();
}

// Windows that are full but for a token.
void BenchCache::fill_residual(const DecodeAttentionSpec& plain, const KvTensorLayout& layout,
                               std::int64_t sequences, const OwnedStream& stream) {
  if (layout.residual_row_bytes == 0) return;
  const AttentionProblem pattern = make_attention_problem(plain, {layout.scale_tokens - 1});
  const auto* slot = reinterpret_cast<const std::uint8_t*>(pattern.residual.data());
  residual_ =
      repeated({slot, slot + layout.residual_bytes(1)}, layout.residual_bytes(sequences), stream);
  cache_.k.residual = residual_.memory();
  cache_.residual_slot_count = sequences;
}

double cached_bytes(const KvCacheLayout& layout, std::int32_t length) noexcept {
  const auto whole = length / layout.k.scale_tokens * layout.k.scale_tokens;
  return static_cast<double>(layout.k.code_bytes(1, whole) + layout.k.scale_bytes(1, whole) +
                             layout.v.code_bytes(1, length) + layout.v.scale_bytes(1, length)) +
         static_cast<double>(length - whole) * layout.k.heads * layout.k.residual_row_bytes;
}

}  // namespace heddle
