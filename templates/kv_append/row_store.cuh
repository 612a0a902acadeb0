// Where the codes and scales of a row go.
#pragma once

#include "kv_append/encode.cuh"
#include "kv_append/rows.cuh"

namespace heddle {

template <class Config, class Tensor>
struct RowStore {
  static constexpr bool kToken = Tensor::value.granularity == KvGranularity::kToken;
  static constexpr int kGroup = Tensor::value.granularity == KvGranularity::kGroup
                                    ? Tensor::value.group_size
                                    : Config::value.head_dim;
  static constexpr int kScaleStep =
      Tensor::value.scale_row_bytes / (Config::value.head_dim / kGroup);

  u8* codes;
  u8* scales;
  int head_rows;  // from one head of a token to the next

  // Stores from an element of a row on.
  __device__ __forceinline__ RowStore(const KvTensorPointers& cache, const Place& place,
                                      int page_tokens, int head, int element) {
    if constexpr (Tensor::kQuery) {
      const i64 row = static_cast<i64>(place.token) * Tensor::kHeads + head;
      codes = cache.codes + row * Tensor::value.row_bytes + 2 * element;
      scales = nullptr;
      head_rows = 1;
      return;
    }
    const i64 row = rows_before<Config>(Config::value.heads, place, head, page_tokens);
    const i64 scale_row =
        rows_before<Config>(Tensor::value.scale_heads, place, kToken ? 0 : head, page_tokens);
    codes = cache.codes + row * Tensor::value.row_bytes + element * Tensor::value.bits / 8;
    scales =
        cache.scales + scale_row * Tensor::value.scale_row_bytes + element / kGroup * kScaleStep;
    head_rows = !Config::value.hnd    ? 1
                : Config::value.paged ? Config::value.page_size
                                      : page_tokens;
  }
  __device__ __forceinline__ void advance(int heads) {
    codes += static_cast<i64>(heads * head_rows) * Tensor::value.row_bytes;
    scales += static_cast<i64>(heads * head_rows) * Tensor::value.scale_row_bytes;
  }

  // Two runs of eight codes, neighbours without kApart.
  template <bool kApart, int kWords>
  __device__ __forceinline__ void store_codes(int apart, const u32 (&words)[kWords]) const {
    u8* const other = codes + apart * Tensor::value.bits / 8;
    if constexpr (!kApart) {
      store_words(codes, words);
    } else if constexpr (kWords == 1) {
      store_global_2(codes, words[0]);
      store_global_2(other, words[0] >> 16);
    } else {
      u32 low[kWords / 2];
      u32 high[kWords / 2];
#pragma unroll
      for (int i = 0; i < kWords / 2; ++i) low[i] = words[i], high[i] = words[kWords / 2 + i];
      store_words(codes, low);
      store_words(other, high);
    }
  }
  // Stores the scale of the group that lies `groups` behind the element's.
  __device__ __forceinline__ void store_scale(int groups, const KvScale& scale) const {
    KvEncode<Tensor>::store_scale(scales + groups * kScaleStep, scale);
  }
};

}  // namespace heddle
