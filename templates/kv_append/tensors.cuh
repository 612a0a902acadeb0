// K and V as types, for what takes one tensor: its numbers and the type of its 16-bit values.
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
  using Stored = typename StoredValue<value.is_bf16>::Type;
};
template <class Config>
struct VTensor {
  static constexpr KvTensorConfig value = Config::value.v;
  using Stored = typename StoredValue<value.is_bf16>::Type;
};

}  // namespace heddle
