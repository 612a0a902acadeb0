// GEMM of two operands of eight bits on wgmma, sm_90a: Y[M, N] = X[M, K] * W[N, K]^T, INT8 or FP8,
// for every M. Weights are the A operand, tokens are B, or in some tiles of blocks the other way
// round, both in shared memory as copies have put them; scales meet the sums.
//
// Floors. Bytes: the codes of W once for each tile of tokens, those of X once for each tile of
// rows. Operations: 2 M N K at twice the rate of 16 bits.
//
// Budget of 64 rows by 128 columns on an SM, computed, in clocks; nothing is decoded:
//
//   tokens                                       16     32     64    128    256
//   weights from memory, 17.5 bytes a clock     468    468    468    468    468
//   tensor cores                                 32     64    128    256    512
//   shared memory of the products, 128 bytes a
//   clock: 8 KB of rows, 128 bytes a token       80     96    128    192    320
//   promotion, instructions of a part of the SM   8     16     32     64    128
//
// Tiles of 128 rows by 256 tokens read 48 KB of the L2 cache in 1024 clocks, and 32 KB where the
// two blocks of a cluster read tokens once, of the 28 to 33 bytes a clock that it gives.
//
// With ScaleMode::kBlock the sums of 128 columns meet the factors of their token and of their block
// of W. As columns of the instruction tokens have a thread read those of a quarter of all: on an SM
// 256 loads in 1024 clocks, beside products that read 96 bytes of 128 in each. So tiles of 128
// tokens and 256 whose sums become outputs in registers have them as rows, of which a thread has
// two in 64 (WarpgroupConfig::has_token_rows(); tools/bench-w8a8 measures both).
//
// Roles and order: gemm.cuh.
#pragma once

#include "steps/byte_sums.cuh"
#include "warpgroup/byte_multiply.cuh"
#include "warpgroup/gemm.cuh"

namespace heddle {

// `x_scales`: FP32, one for each token, or one in all; `x_zero_points`: int32, one for each token,
// or none. The rest as in gemm_wgmma().
template <class Config>
__device__ __forceinline__ void gemm_wgmma_bytes(const TensorMap& tokens, const u8* weights,
                                                 const u8* x_scales, const u8* x_zero_points, u8* y,
                                                 const u8* bias, const u8* residual, u8* workspace,
                                                 const WeightShape& shape, int m, int shared_tiles,
                                                 u8* y_scales = nullptr) {
  gemm_by_wgmma<Config, WgmmaByteMultiply<Config>>(
      tokens, nullptr, weights, typename Config::Sums(x_scales, x_zero_points), y, bias, residual,
      workspace, shape, m, shared_tiles, y_scales);
}

// `factors`: those of the tokens, a map of words: FP32 of each 128 columns, or e8m0 of 512.
template <class Config>
__device__ __forceinline__ void gemm_wgmma_blocks(const TensorMap& tokens, const TensorMap& factors,
                                                  const u8* weights, u8* y, const u8* bias,
                                                  const u8* residual, u8* workspace,
                                                  const WeightShape& shape, int m, int shared_tiles,
                                                  u8* y_scales = nullptr) {
  gemm_by_wgmma<Config, WgmmaByteMultiply<Config>>(tokens, &factors, weights, FloatSums{}, y, bias,
                                                   residual, workspace, shape, m, shared_tiles,
                                                   y_scales);
}

}  // namespace heddle
