// What is written of a row's values: Y in 16 bits, or codes of eight bits and their scales.
#pragma once

#include "row_transform/row_codes.cuh"
#include "row_transform/row_place.cuh"

namespace heddle {

// The output of one row. All lanes of a warp call its members together, also for rows that are not
// there.
template <class Config>
class RowOutput {
 public:
  using Codes = RowCodes<Config>;
  using Range = typename Codes::Range;
  static constexpr RowOutputConfig kOutput = Config::value.output;
  static constexpr bool kByToken = kOutput.granularity == RowGranularity::kToken;
  static constexpr bool kByGroup = kOutput.granularity == RowGranularity::kGroup;

  // `given`: the scale of kTensor.
  __device__ __forceinline__ RowOutput(const RowTransformParameters& p, i64 row,
                                       const RowPlace<Config>& place, const RowScale& given)
      : p_(p), row_(row), place_(place), scale_(given) {
    y_ = place.template begin<u8, kOutput.vector_bytes()>(p.y + row * p.y_stride);
  }

  // Finds the scale of kToken and writes it.
  template <class Row>
  __device__ __forceinline__ void find_scale(RowReduce<Config>& reduce, const Row& row) {
    Range range;
    row.for_each([&](int i, const float(&v)[kVectorElements]) {
      if (place_.has(i)) range.add(v);
    });
    range.reduce_row(place_.lane, reduce);
    scale_ = Codes::scale_of(range);
    if (place_.lane != 0 || !place_.is_there) return;
    store_global_4(p_.scales + 4 * row_, scale_.bits);
    if constexpr (kOutput.asymmetric) {
      store_global_4(p_.zero_points + row_, static_cast<u32>(scale_.zero));
    }
  }

  // Vector i of the thread.
  __device__ __forceinline__ void store(int i, const float (&v)[kVectorElements]) const {
    u8* const to = y_ + RowPlace<Config>::template behind<kOutput.vector_bytes()>(i);
    if constexpr (kOutput.is_16_bit()) {
      if (place_.has(i)) store_global_16(to, round_vector<typename Config::Value>(v));
    } else {
      RowScale scale = scale_;
      if constexpr (kByGroup) scale = scale_of_group(i, v);
      u32 words[2];
      Codes::codes(v, scale, words);
      if (place_.has(i)) store_global_8(to, words[0], words[1]);
    }
  }

 private:
  // Vectors of a group are those of neighbouring lanes.
  __device__ __forceinline__ RowScale scale_of_group(int i,
                                                     const float (&v)[kVectorElements]) const {
    constexpr int kLanes = min_of(kRowGroupVectors, Config::value.lanes);
    static_assert(kLanes == kRowGroupVectors || kLanes >= Config::value.row_vectors(),
                  "a group is one vector of each of its lanes");
    Range range;
    if (place_.has(i)) range.add(v);
    range.template reduce_lanes<kLanes>();
    const RowScale scale = Codes::scale_of(range);
    if (place_.lane % kLanes == 0 && place_.has(i)) {
      store_group_scale(place_.vector(i) / kRowGroupVectors, scale.bits);
    }
    return scale;
  }

  __device__ __forceinline__ void store_group_scale(int group, u32 bits) const {
    constexpr bool kRowMajor = kOutput.scale_layout == ScaleLayout::kRowMajor;
    const i64 line = kRowMajor ? row_ : Codes::kE8m0 ? group / kScalesOfWord : group;
    const i64 at = line * p_.scale_stride + (kRowMajor ? group : row_);
    if constexpr (!Codes::kE8m0) {
      store_global_4(p_.scales + 4 * at, bits);
    } else if constexpr (kRowMajor) {
      store_global_1(p_.scales + at, bits);
    } else {
      u8* const word = p_.scales + kScalesOfWord * at;
      store_global_1(word + group % kScalesOfWord, bits);
      // No scale of the last word is left as it was.
      if (group != Config::value.groups() - 1) return;
#pragma unroll
      for (int i = (Config::value.groups() - 1) % kScalesOfWord + 1; i < kScalesOfWord; ++i) {
        store_global_1(word + i, 0);
      }
    }
  }

  const RowTransformParameters& p_;
  i64 row_;
  const RowPlace<Config>& place_;
  RowScale scale_;
  u8* y_;
};

// Writes a row: row.for_each(take) calls take(i, values) with all of the thread's vectors. It is
// called twice with kToken.
template <class Config, class Row>
__device__ __forceinline__ void write_row(RowOutput<Config>& output, RowReduce<Config>& reduce,
                                          const Row& row) {
  if constexpr (RowOutput<Config>::kByToken) output.find_scale(reduce, row);
  row.for_each([&](int i, const float(&v)[kVectorElements]) { output.store(i, v); });
}

// A thread's vectors of Y before they are rounded, in registers.
template <class Config>
struct KeptValues {
  static constexpr int kCount = Config::value.vectors;

  float y[kCount][kVectorElements];

  template <class Take>
  __device__ __forceinline__ void for_each(const Take& take) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) take(i, y[i]);
  }
};

// Writes a row that stays in registers.
template <class Config, class Row>
__device__ __forceinline__ void write_held_row(RowOutput<Config>& output, RowReduce<Config>& reduce,
                                               const Row& row) {
  if constexpr (Config::value.keeps_values()) {
    KeptValues<Config> values;
    row.for_each([&](int i, const float(&v)[kVectorElements]) {
#pragma unroll
      for (int j = 0; j < kVectorElements; ++j) values.y[i][j] = v[j];
    });
    write_row(output, reduce, values);
  } else {
    write_row(output, reduce, row);
  }
}

// The scale of kTensor, which the kernel before may have written.
template <class Config>
__device__ __forceinline__ RowScale given_row_scale(const RowTransformParameters& p) {
  if constexpr (Config::value.output.granularity == RowGranularity::kTensor) {
    return RowCodes<Config>::given_scale(p.tensor_scale);
  } else {
    return {};
  }
}

// Values by the factors of their columns.
template <class Config>
__device__ __forceinline__ void apply_pre_scale(u32x4 factors, float (&v)[kVectorElements]) {
  if constexpr (Config::value.output.pre_scale) {
    float f[kVectorElements];
    widen_vector<typename Config::Value>(stay_packed(factors), f);
#pragma unroll
    for (int i = 0; i < kVectorElements; ++i) v[i] = multiply(v[i], f[i]);
  }
}

}  // namespace heddle
