// The C API of quantising K and V on the host.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "heddle/c/weights.h"
#include "heddle/kv_cache.h"
#include "heddle/model.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/kv.h"

using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::refuse;
using heddle::c_api::view;

namespace {

// K or V of a format.
struct Tensor {
  const heddle::KvTensor& spec;
  heddle::KvTensorLayout layout;
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

Tensor tensor_of(const heddle_spec* spec, std::int32_t tensor) {
  need(spec, "spec");
  heddle::c_api::need_cache(spec->spec);
  if (tensor != HEDDLE_KV_K && tensor != HEDDLE_KV_V) {
    refuse("api.kv", fmt::format("tensor is {}; allowed: {} (K) and {} (V)", tensor, HEDDLE_KV_K,
                                 HEDDLE_KV_V));
  }
  const bool is_k = tensor == HEDDLE_KV_K;
  const heddle::KvCacheLayout layout = heddle::c_api::cache_layout_of(spec->spec);
  const heddle::KvSpec& kv = spec->spec.kv();
  return {is_k ? kv.k : kv.v, is_k ? layout.k : layout.v, spec->spec.kv_shape()};
}

void need_size(std::size_t given, std::size_t needed, const char* name) {
  if (given == needed) return;
  refuse("api.kv", fmt::format("{} is {}; a block has {}", name, given, needed));
}

heddle::KvGivenScale to_cpp(const heddle_kv_given_scale* given) {
  return given == nullptr ? heddle::KvGivenScale()
                          : heddle::KvGivenScale{given->scale, given->zero};
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

heddle_status heddle_kv_quantize(const heddle_spec* spec, int32_t tensor, const float* values,
                                 size_t value_count, const heddle_kv_given_scale* given,
                                 void* codes, size_t code_bytes, void* scales, size_t scale_bytes) {
  return guarded([&] {
    const Tensor one = tensor_of(spec, tensor);
    need_block(one, codes, code_bytes, scales, scale_bytes, values, value_count);
    const heddle::KvToken token = heddle::quantize_kv(one.spec, one.shape.kv_heads,
                                                      one.shape.head_dim, values, to_cpp(given));
    std::ranges::copy(token.codes, static_cast<std::uint8_t*>(codes));
    std::ranges::copy(token.scales, static_cast<std::uint8_t*>(scales));
  });
}

heddle_status heddle_kv_dequantize(const heddle_spec* spec, int32_t tensor, const void* codes,
                                   size_t code_bytes, const void* scales, size_t scale_bytes,
                                   const heddle_kv_given_scale* given, float* values,
                                   size_t value_count) {
  return guarded([&] {
    const Tensor one = tensor_of(spec, tensor);
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
