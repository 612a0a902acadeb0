#include "heddle/kv_cache.h"

#include <cstdint>
#include <initializer_list>

#include "heddle/spec.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

// Precondition: no factor is negative.
std::size_t product(std::initializer_list<std::int64_t> factors) noexcept {
  std::size_t bytes = 1;
  bool fits = true;
  for (const std::int64_t factor : factors) {
    if (factor == 0) return 0;
    fits &= !__builtin_mul_overflow(bytes, static_cast<std::size_t>(factor), &bytes);
  }
  return fits ? bytes : SIZE_MAX;
}

// Rows before that of a token and head where `heads` of them share a page.
std::size_t rows_before(KvOrder order, int heads, std::int64_t page, std::int64_t page_tokens,
                        std::int64_t token, int head) noexcept {
  const std::int64_t in_page =
      order == KvOrder::kHnd ? head * page_tokens + token : token * heads + head;
  return static_cast<std::size_t>(page * page_tokens * heads + in_page);
}

KvTensorLayout tensor_layout(const KvTensor& tensor, KvOrder order, int heads,
                             int head_dim) noexcept {
  KvTensorLayout layout;
  layout.order = order;
  layout.heads = heads;
  layout.row_bytes = head_dim * kv_bits(tensor.dtype) / 8;
  const bool stored =
      tensor.granularity != KvGranularity::kNone && tensor.granularity != KvGranularity::kTensor;
  if (!stored) return layout;
  layout.scale_heads = tensor.granularity == KvGranularity::kToken ? 1 : heads;
  layout.scales_of_row =
      tensor.granularity == KvGranularity::kGroup ? head_dim / tensor.group_size : 1;
  if (tensor.granularity == KvGranularity::kChannel) {
    layout.scales_of_row = head_dim;
    layout.scale_tokens = tensor.group_size;
    layout.residual_row_bytes = 2 * head_dim;
  }
  layout.scale_row_bytes =
      layout.scales_of_row * bytes_of(*tensor.scale_dtype) * (tensor.symmetric ? 1 : 2);
  return layout;
}

// A token's part of the scales that scale_tokens of them share, rounded up.
std::size_t scales_of_token(const KvTensorLayout& layout) noexcept {
  const auto tokens = static_cast<std::size_t>(layout.scale_tokens);
  return (layout.scale_bytes(1, layout.scale_tokens) + tokens - 1) / tokens;
}

}  // namespace

int kv_bits(KvDtype dtype) noexcept {
  switch (dtype) {
    case KvDtype::kFp16:
    case KvDtype::kBf16:
      return 16;
    case KvDtype::kInt8:
    case KvDtype::kFp8E4m3:
    case KvDtype::kFp8E5m2:
      return 8;
    case KvDtype::kInt4:
    case KvDtype::kNvfp4:
      return 4;
    case KvDtype::kInt2:
      return 2;
  }
  return 0;
}

std::size_t KvTensorLayout::code_bytes(std::int64_t pages,
                                       std::int64_t page_tokens) const noexcept {
  return product({pages, page_tokens, heads, row_bytes});
}

std::size_t KvTensorLayout::scale_bytes(std::int64_t pages,
                                        std::int64_t page_tokens) const noexcept {
  return product({pages, page_tokens / scale_tokens, scale_heads, scale_row_bytes});
}

std::size_t KvTensorLayout::code_offset(std::int64_t page, std::int64_t page_tokens,
                                        std::int64_t token, int head) const noexcept {
  return rows_before(order, heads, page, page_tokens, token, head) *
         static_cast<std::size_t>(row_bytes);
}

std::size_t KvTensorLayout::scale_offset(std::int64_t page, std::int64_t page_tokens,
                                         std::int64_t token, int head) const noexcept {
  const int own = scale_heads == heads ? head : 0;
  return rows_before(order, scale_heads, page, page_tokens / scale_tokens, token / scale_tokens,
                     own) *
         static_cast<std::size_t>(scale_row_bytes);
}

std::size_t KvTensorLayout::residual_bytes(std::int64_t slots) const noexcept {
  return product({slots, heads, scale_tokens, residual_row_bytes});
}

std::size_t KvTensorLayout::residual_offset(std::int64_t slot, std::int64_t position,
                                            int head) const noexcept {
  const std::int64_t row = (slot * heads + head) * scale_tokens + position % scale_tokens;
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(residual_row_bytes);
}

KvCacheLayout kv_cache_layout(const KvSpec& kv, int kv_heads, int head_dim) noexcept {
  return {tensor_layout(kv.k, kv.order, kv_heads, head_dim),
          tensor_layout(kv.v, kv.order, kv_heads, head_dim)};
}

KvTokenBytes kv_token_bytes(const KvCacheLayout& layout) noexcept {
  return {layout.k.code_bytes(1, 1) + layout.v.code_bytes(1, 1),
          scales_of_token(layout.k) + scales_of_token(layout.v)};
}

}  // namespace heddle
