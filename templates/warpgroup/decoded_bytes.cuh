// GEMM of tokens of eight bits and weights of four that are decoded to eight, sm_90a: Y[M, N] =
// X[M, K] * W[N, K]^T, INT8 or FP8, for every M. Weights are the A operand, in registers; tokens
// are the B operand, in shared memory as the tensor copy engine has put them.
//
// Floors. Bytes: the packed weights once for each tile of tokens, the tokens once for each tile of
// rows. Operations: 2 M N K at twice the rate of 16 bits, and decoding: for 64 rows by 128 columns
// a warp has 24 instructions to INT8 and 88 to e4m3, with zero points 56 and 120.
//
// Budget of these 64 rows by 128 columns on an SM, computed, in clocks:
//
//   tokens                                       16     32     64    128    256
//   weights from memory, 17.5 bytes a clock     241    241    241    241    241
//   tensor cores                                 32     64    128    256    512
//   sums of a group, instructions of a part of
//   the SM: INT8 becomes FP32, then a product    16     32     64    128    256
//
// Sums of groups of 128 columns thus keep the warps busy for half of the time that the tensor cores
// take, beside decoding; those of 32 for twice as long. A warpgroup waits for its own products
// before it scales them: the other one's are on their way meanwhile.
//
// Roles and order: gemm.cuh.
#pragma once

#include "steps/byte_sums.cuh"
#include "warpgroup/gemm.cuh"
#include "warpgroup/multiply.cuh"

namespace heddle {

// The arguments are those of gemm_wgmma_bytes().
template <class Config, class Decode>
__device__ __forceinline__ void gemm_wgmma_decoded(const TensorMap& tokens, const u8* weights,
                                                   const u8* x_scales, const u8* x_zero_points,
                                                   u8* y, const u8* bias, const u8* residual,
                                                   u8* workspace, const WeightShape& shape, int m,
                                                   int shared_tiles, u8* y_scales = nullptr) {
  gemm_by_wgmma<Config, WgmmaMultiply<Config, Decode>>(
      tokens, nullptr, weights, typename Config::Sums(x_scales, x_zero_points), y, bias, residual,
      workspace, shape, m, shared_tiles, y_scales);
}

}  // namespace heddle
