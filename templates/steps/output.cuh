// Takes the sums of eight rows of W, or of a row block of gates and ups, and one token to Y: scale,
// bias, activation, residual, one rounding, stores of 16 bytes, of codes 8.
#pragma once

#include "primitives/scale.cuh"
#include "steps/activation.cuh"
#include "steps/config.h"
#include "steps/result_codes.cuh"

namespace heddle {

template <class Config>
struct Output {
  using Value = typename Config::Value;    // of a bias of 16 bits
  using Result = typename Config::Result;  // of Y
  using Residual = typename Result::Residual;
  static constexpr int kRowBlock = Chunk::kRows;
  static constexpr Activation kActivation = Config::value.epilogue.activation;
  static constexpr bool kGated = Config::value.epilogue.gated;
  static constexpr int kRows = Config::value.epilogue.rows();  // of packed weights, for a store
  static constexpr int kScaleRows = Config::value.epilogue.scale_rows();
  // The power of two by which outputs must still be multiplied: decoding left it, and neither the
  // scales of the weights nor those of the sums took it over.
  static constexpr int kLeftExponent =
      Config::value.scaling.mode == ScaleMode::kWeight ? Config::value.scaling.result_exponent : 0;

  const u8* weights;  // the whole packed buffer, for scales per channel and per tensor
  u8* y;
  const u8* bias;
  const u8* residual;
  WeightShape shape;  // a constant of Config, or what the launch gives
  u8* y_scales;       // of codes: one FP32 that no running kernel writes; of groups: written here

  // Bytes from the beginning of Y to the output of a token and a row of the packed weights; `row`
  // is a multiple of kRows.
  __device__ __forceinline__ i64 offset_of(int token, int row) const {
    return Result::kBytes * (static_cast<i64>(token) * columns() + (kGated ? row / 2 : row));
  }

  // Outputs of rows row .. row + kRows - 1 of the packed weights. `sums_of(half)` are the Sums8 of
  // rows row + 8 * half on; half is 0, and 1 with kGated.
  template <class SumsOf>
  __device__ __forceinline__ void store(int token, int row, const SumsOf& sums_of) const {
    const i64 offset = offset_of(token, row);
    Result::store(y + offset, outputs(offset, row, sums_of), y_scales);
  }
  // Stores by the scale of the outputs' group, which neighbouring lanes have and find together: all
  // lanes of the warp call it. Those outside of Y read and store nothing. m: tokens of Y.
  template <class SumsOf>
  __device__ __forceinline__ void store_group(bool is_inside, int token, int row, int m,
                                              const SumsOf& sums_of) const {
    Sums8 outputs_here = {};
    if (is_inside) outputs_here = outputs(offset_of(token, row), row, sums_of);
    const float most =
        largest_of_lanes<Config::value.epilogue.kGroupVectors>(largest_magnitude(outputs_here));
    if (is_inside) store_codes(token, row, m, outputs_here, Result::scale_of(most));
  }
  // Outputs as codes, and by the group's first ones its scale.
  __device__ __forceinline__ void store_codes(int token, int row, int m, const Sums8& values,
                                              const FoundScale& scale) const {
    Result::Codes::store(y + offset_of(token, row), values, scale.of_codes);
    if (row % kScaleRows == 0) store_scale(token, row, m, scale);
  }
  // `row`: the group's first.
  __device__ __forceinline__ void store_scale(int token, int row, int m,
                                              const FoundScale& scale) const {
    static_assert(8 * Config::value.epilogue.kGroupVectors == Result::kColumns);
    const int groups = (columns() + Result::kColumns - 1) / Result::kColumns;
    Result::store_scale(y_scales, token, m, row / kScaleRows, groups, scale.bits);
  }
  // Outputs before they are rounded.
  template <class SumsOf>
  __device__ __forceinline__ Sums8 outputs(i64 offset, int row, const SumsOf& sums_of) const {
    Sums8 sum = sums_of(0);
    if constexpr (kGated) {
      Sums8 up = sums_of(1);
      scale_and_add_bias(row, row / 2, sum);
      scale_and_add_bias(row + kRowBlock / 2, columns() + row / 2, up);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        sum.v[i] = gated(sum.v[i], up.v[i]);
      }
    } else {
      scale_and_add_bias(row, row, sum);
#pragma unroll
      for (float& v : sum.v) v = activate<kActivation>(v);
    }
    if constexpr (Config::value.epilogue.residual) {
      Residual::add(residual + Residual::kBytes / Result::kBytes * offset, sum);
    }
    return sum;
  }

  static __device__ __forceinline__ float gated(float gate, float up) {
    return gated_output<Config>(gate, up);
  }

  __device__ __forceinline__ int columns() const { return kGated ? shape.n / 2 : shape.n; }  // of Y

 private:
  // `row`: of the packed weights; `bias_row`: the same row of W.
  __device__ __forceinline__ void scale_and_add_bias(int row, int bias_row, Sums8& sum) const {
    if constexpr (Config::value.scaling.mode == ScaleMode::kChannel) scale_channels(row, sum);
    if constexpr (Config::value.weights.tensor_scale) {
      scale_all(power_of_two<kLeftExponent>(tensor_scale()), sum);
    } else if constexpr (kLeftExponent != 0) {
      scale_all(power_of_two<kLeftExponent>(1.0f), sum);
    }
    if constexpr (Config::value.epilogue.bias_bytes == 4) {
      ResultFp32::add(bias + 4 * bias_row, sum);
    } else if constexpr (Config::value.epilogue.bias_bytes == 2) {
      add_values<Value>(sum, load_global_16(bias + 2 * bias_row));
    }
  }

  // Row g of a row block lies beside row g + 8: eight rows are every other scale.
  __device__ __forceinline__ void scale_channels(int row, Sums8& sum) const {
    const u8* scales = weights + shape.channel_offset +
                       static_cast<i64>(row / kRowBlock) * Config::value.weights.channel_bytes;
    const bool upper = row % kRowBlock != 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const RowPair pair = Config::Scale::load_global(scales + i * Config::Scale::kPairBytes);
      sum.v[i] *= power_of_two<Config::value.scaling.result_exponent>(upper ? pair.high : pair.low);
    }
  }

  __device__ __forceinline__ float tensor_scale() const {
    return *reinterpret_cast<const float*>(weights + shape.tensor_offset);
  }

  static __device__ __forceinline__ void scale_all(float scale, Sums8& sum) {
#pragma unroll
    for (float& v : sum.v) v *= scale;
  }
};

}  // namespace heddle
