// K, V and Q as types, for what takes one tensor: its numbers, the type of its 16-bit values, its
// heads, and whether the norm is of them.
#pragma once

#include "kv_append/config.h"
#include "primitives/half.cuh"

namespace heddle {

template <bool kBf16>
struct StoredValue {
  using Type = Fp16;
};
template <>
struct StoredValue<true> {
  using Type = Bf16;
};

template <class Config>
struct KTensor {
  static constexpr KvTensorConfig value = Config::value.k;
  static constexpr int kHeads = Config::value.heads;
  static constexpr bool kNormalizes = Config::value.normalizes();
  static constexpr bool kQuery = false;
  using Stored = typename StoredValue<value.is_bf16>::Type;
};
template <class Config>
struct VTensor {
  static constexpr KvTensorConfig value = Config::value.v;
  static constexpr int kHeads = Config::value.heads;
  static constexpr bool kNormalizes = false;
  static constexpr bool kQuery = false;
  using Stored = typename StoredValue<value.is_bf16>::Type;
};
// Q stays as it is but for the norm and its rotation; its rows go to a tensor of all new tokens.
template <class Config>
struct QTensor {
  static constexpr KvTensorConfig value = query_tensor(Config::value.head_dim);
  static constexpr int kHeads = Config::value.query_heads;
  static constexpr bool kNormalizes = Config::value.normalizes();
  static constexpr bool kQuery = true;
  using Stored = typename Config::Value;
};

}  // namespace heddle
