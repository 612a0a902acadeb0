#include "tools/gpu_harness/step/step_caches.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>

#include "heddle/kv_cache.h"

namespace heddle {
namespace {

// The part of a tensor that has the `turn`-th of parts of so many bytes.
DeviceOutput part_of(const DeviceOutput& whole, std::size_t turn, std::size_t bytes) {
  if (whole.data == nullptr || bytes == 0) return {};
  return {static_cast<std::byte*>(whole.data) + turn * bytes, bytes};
}

void take_part(const KvTensorLayout& layout, std::int64_t pages, std::int64_t page_tokens,
               std::int64_t sequences, std::size_t turn, KvCacheTensor* tensor) {
  tensor->codes = part_of(tensor->codes, turn, layout.code_bytes(pages, page_tokens));
  tensor->scales = part_of(tensor->scales, turn, layout.scale_bytes(pages, page_tokens));
  if (layout.residual_row_bytes == 0) return;
  tensor->residual = part_of(tensor->residual, turn, layout.residual_bytes(sequences));
}

}  // namespace

StepCaches::StepCaches(const DecodeStep& step, const StepLoad& load, const OwnedStream& stream)
    : layers_(static_cast<std::size_t>(step.layers)) {
  for (std::size_t i = 0; i < step.kernels.size(); ++i) {
    const auto* attention = step.kernels[i].get_if<DecodeAttentionSpec>();
    if (attention == nullptr) continue;
    std::vector<int> layers;
    for (const StepLaunch& launch : step.launches) {
      if (launch.kernel == i) layers.push_back(launch.layer);
    }
    add(*attention, layers, load, stream);
  }
}

void StepCaches::add(const DecodeAttentionSpec& spec, const std::vector<int>& layers,
                     const StepLoad& load, const OwnedStream& stream) {
  // Tensors of a contiguous cache begin at multiples of 16 bytes where lengths are multiples of it.
  constexpr std::int64_t kTokenStep = 32;
  const bool paged = spec.kv.layout == KvLayout::kPaged;
  const std::int64_t step = std::lcm(kTokenStep, std::int64_t{kv_block_tokens(spec.kv.k)});
  const std::int64_t page_tokens =
      paged ? spec.kv.page_size : (load.context + step - 1) / step * step;
  const std::int64_t width = (load.context + page_tokens - 1) / page_tokens;
  const std::int64_t pages = load.sequences * width;
  const auto count = static_cast<std::int64_t>(layers.size());
  caches_.push_back(std::make_unique<BenchCache>(spec, count * pages, page_tokens,
                                                 count * load.sequences, stream));
  // Layers have the same table, each with pages of its own behind it.
  std::vector<std::int32_t> table(static_cast<std::size_t>(pages));
  std::iota(table.begin(), table.end(), 0);
  std::shuffle(table.begin(), table.end(), std::mt19937(1));
  tables_.push_back(to_device(table, stream));
  const KvCacheLayout layout = kv_cache_layout(spec.kv, spec.shape.kv_heads, spec.shape.head_dim);
  for (std::size_t turn = 0; turn < layers.size(); ++turn) {
    KvCache cache = caches_.back()->cache();
    cache.pages = pages;
    take_part(layout.k, pages, page_tokens, load.sequences, turn, &cache.k);
    take_part(layout.v, pages, page_tokens, load.sequences, turn, &cache.v);
    if (layout.k.residual_row_bytes != 0) cache.residual_slot_count = load.sequences;
    if (paged) {
      cache.block_table = tables_.back().memory();
      cache.table_stride = width;
    }
    layers_[static_cast<std::size_t>(layers[turn])] = cache;
  }
}

}  // namespace heddle
