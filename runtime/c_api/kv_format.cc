// The C API of a cache's layout, and of quantising K and V on the host.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "heddle/c/kv.h"
#include "heddle/inspect/kv_codec.h"
#include "heddle/model.h"
#include "runtime/c_api/kv.h"
#include "runtime/c_api/structs.h"

struct heddle_kv_format {
  explicit heddle_kv_format(heddle::Spec spec_)
      : spec(std::move(spec_)), layout(heddle::c_api::cache_layout_of(spec)) {}

  heddle::Spec spec;
  heddle::KvCacheLayout layout;
};

using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::refuse;
using heddle::c_api::text_of_word;
using heddle::c_api::view;
using heddle::c_api::write_struct;

namespace {

// K or V of a format.
struct Tensor {
  const heddle::KvTensor& spec;
  const heddle::KvTensorLayout& layout;
  heddle::KvShape shape;

  std::size_t block_tokens() const {
    return static_cast<std::size_t>(heddle::kv_block_tokens(spec));
  }
  std::size_t block_rows() const {
    return block_tokens() * static_cast<std::size_t>(shape.kv_heads);
  }
  std::size_t block_values() const {
    return block_rows() * static_cast<std::size_t>(shape.head_dim);
  }
  std::size_t block_code_bytes() const {
    return block_rows() * static_cast<std::size_t>(layout.row_bytes);
  }
  std::size_t block_scale_bytes() const {
    return static_cast<std::size_t>(layout.scale_heads) *
           static_cast<std::size_t>(layout.scale_row_bytes);
  }
};

Tensor tensor_of(const heddle_kv_format* format, std::int32_t tensor) {
  need(format, "format");
  if (tensor != HEDDLE_KV_K && tensor != HEDDLE_KV_V) {
    refuse("api.kv", fmt::format("tensor is {}; allowed: {} (K) and {} (V)", tensor, HEDDLE_KV_K,
                                 HEDDLE_KV_V));
  }
  const bool is_k = tensor == HEDDLE_KV_K;
  const heddle::KvSpec& kv = format->spec.kv();
  return {is_k ? kv.k : kv.v, is_k ? format->layout.k : format->layout.v, format->spec.kv_shape()};
}

void need_below(std::int64_t value, std::int64_t limit, const char* name) {
  if (value >= 0 && value < limit) return;
  refuse("api.kv", fmt::format("{} is {}; allowed: 0 to {}", name, value, limit - 1));
}

void need_stored(int row_bytes, const char* what) {
  if (row_bytes == 0) refuse("api.kv", fmt::format("the tensor has no {}", what));
}

void need_size(std::size_t given, std::size_t needed, const char* name) {
  if (given == needed) return;
  refuse("api.kv", fmt::format("{} is {}; a block has {}", name, given, needed));
}

heddle::KvGivenScale to_cpp(const heddle_kv_given_scale* given) {
  return given == nullptr ? heddle::KvGivenScale()
                          : heddle::KvGivenScale{given->scale, given->zero};
}

// Throws unless a page of the cache has such a row. Returns the tokens of a page.
std::int64_t need_row(const heddle_kv_format* format, const Tensor& tensor, std::int64_t page,
                      std::int64_t page_tokens, std::int64_t token, std::int32_t head) {
  const std::int64_t tokens = heddle::c_api::tokens_of_page(format->spec, page_tokens);
  need_below(page, heddle::c_api::kMostPages, "page");
  need_below(token, tokens, "token");
  need_below(head, tensor.shape.kv_heads, "head");
  return tokens;
}

// What the two arrays of a block must be, whoever writes them.
void need_block(const Tensor& tensor, const void* codes, std::size_t code_bytes, const void* scales,
                std::size_t scale_bytes, const float* values, std::size_t value_count) {
  need(values, "values");
  need(codes, "codes");
  if (tensor.block_scale_bytes() > 0) need(scales, "scales");
  need_size(value_count, tensor.block_values(), "value_count");
  need_size(code_bytes, tensor.block_code_bytes(), "code_bytes");
  need_size(scale_bytes, tensor.block_scale_bytes(), "scale_bytes");
}

std::vector<std::uint8_t> copy_of(const void* bytes, std::size_t count) {
  std::vector<std::uint8_t> copy(count);
  if (count > 0) std::memcpy(copy.data(), bytes, count);
  return copy;
}

}  // namespace

heddle_status heddle_kv_format_create(const char* spec, size_t spec_length,
                                      heddle_kv_format** format) {
  return guarded([&] {
    need(format, "format");
    *format = nullptr;
    *format = new heddle_kv_format(heddle::c_api::spec_with_cache(spec, spec_length));
  });
}

void heddle_kv_format_destroy(heddle_kv_format* format) { delete format; }

heddle_status heddle_kv_format_get(const heddle_kv_format* format, int32_t tensor,
                                   heddle_kv_tensor_info* info) {
  return guarded([&] {
    const Tensor one = tensor_of(format, tensor);
    const heddle::KvTensorLayout& layout = one.layout;
    heddle_kv_tensor_info values = {};
    values.dtype = text_of_word(to_string(one.spec.dtype));
    values.granularity = text_of_word(to_string(one.spec.granularity));
    values.scale_dtype =
        text_of_word(layout.scale_row_bytes > 0 ? to_string(*one.spec.scale_dtype) : "");
    values.order = text_of_word(to_string(layout.order));
    values.bits = heddle::kv_bits(one.spec.dtype);
    values.group_size = one.spec.group_size;
    values.symmetric = one.spec.symmetric ? 1 : 0;
    values.kv_heads = one.shape.kv_heads;
    values.head_dim = one.shape.head_dim;
    values.row_bytes = layout.row_bytes;
    values.scale_heads = layout.scale_heads;
    values.scale_row_bytes = layout.scale_row_bytes;
    values.scales_of_row = layout.scales_of_row;
    values.scale_tokens = layout.scale_tokens;
    values.residual_row_bytes = layout.residual_row_bytes;
    values.block_tokens = one.block_tokens();
    values.block_values = one.block_values();
    values.block_code_bytes = one.block_code_bytes();
    values.block_scale_bytes = one.block_scale_bytes();
    write_struct(values, info, "heddle_kv_tensor_info");
  });
}

heddle_status heddle_kv_token_bytes(const heddle_kv_format* format, size_t* codes, size_t* scales) {
  return guarded([&] {
    need(format, "format");
    need(codes, "codes");
    need(scales, "scales");
    const heddle::KvTokenBytes bytes = heddle::kv_token_bytes(format->layout);
    *codes = bytes.codes;
    *scales = bytes.scales;
  });
}

heddle_status heddle_kv_code_offset(const heddle_kv_format* format, int32_t tensor, int64_t page,
                                    int64_t page_tokens, int64_t token, int32_t head,
                                    size_t* offset) {
  return guarded([&] {
    need(offset, "offset");
    const Tensor one = tensor_of(format, tensor);
    const std::int64_t tokens = need_row(format, one, page, page_tokens, token, head);
    heddle::c_api::need_addressable(one.layout.code_bytes(page + 1, tokens), page + 1, tokens);
    *offset = one.layout.code_offset(page, tokens, token, head);
  });
}

heddle_status heddle_kv_scale_offset(const heddle_kv_format* format, int32_t tensor, int64_t page,
                                     int64_t page_tokens, int64_t token, int32_t head,
                                     size_t* offset) {
  return guarded([&] {
    need(offset, "offset");
    const Tensor one = tensor_of(format, tensor);
    need_stored(one.layout.scale_row_bytes, "stored scales");
    const std::int64_t tokens = need_row(format, one, page, page_tokens, token, head);
    heddle::c_api::need_addressable(one.layout.scale_bytes(page + 1, tokens), page + 1, tokens);
    *offset = one.layout.scale_offset(page, tokens, token, head);
  });
}

heddle_status heddle_kv_residual_offset(const heddle_kv_format* format, int32_t tensor,
                                        int64_t slot, int64_t position, int32_t head,
                                        size_t* offset) {
  return guarded([&] {
    need(offset, "offset");
    const Tensor one = tensor_of(format, tensor);
    need_stored(one.layout.residual_row_bytes, "residual window");
    need_below(slot, heddle::c_api::kMostPages, "slot");
    need_below(position, heddle::c_api::kMostPages, "position");
    need_below(head, one.shape.kv_heads, "head");
    heddle::c_api::need_addressable(one.layout.residual_bytes(slot + 1), slot + 1,
                                    one.layout.scale_tokens);
    *offset = one.layout.residual_offset(slot, position, head);
  });
}

heddle_status heddle_kv_quantize(const heddle_kv_format* format, int32_t tensor,
                                 const float* values, size_t value_count,
                                 const heddle_kv_given_scale* given, void* codes, size_t code_bytes,
                                 void* scales, size_t scale_bytes) {
  return guarded([&] {
    const Tensor one = tensor_of(format, tensor);
    need_block(one, codes, code_bytes, scales, scale_bytes, values, value_count);
    const heddle::KvToken token = heddle::quantize_kv(one.spec, one.shape.kv_heads,
                                                      one.shape.head_dim, values, to_cpp(given));
    std::ranges::copy(token.codes, static_cast<std::uint8_t*>(codes));
    std::ranges::copy(token.scales, static_cast<std::uint8_t*>(scales));
  });
}

heddle_status heddle_kv_dequantize(const heddle_kv_format* format, int32_t tensor,
                                   const void* codes, size_t code_bytes, const void* scales,
                                   size_t scale_bytes, const heddle_kv_given_scale* given,
                                   float* values, size_t value_count) {
  return guarded([&] {
    const Tensor one = tensor_of(format, tensor);
    need_block(one, codes, code_bytes, scales, scale_bytes, values, value_count);
    const heddle::KvToken token = {copy_of(codes, code_bytes), copy_of(scales, scale_bytes)};
    std::ranges::copy(heddle::dequantize_kv(one.spec, one.shape.kv_heads, one.shape.head_dim, token,
                                            to_cpp(given)),
                      values);
  });
}

heddle_status heddle_kv_block_from_words(const char* words, size_t words_length, char* text,
                                         size_t capacity, size_t* length) {
  return guarded([&] {
    heddle::c_api::fill(heddle::kv_block_from_words(view(words, words_length)), text, capacity,
                        length);
  });
}
