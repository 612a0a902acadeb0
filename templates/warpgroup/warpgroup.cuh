// GEMM with quantised weights on wgmma, sm_90a: Y[M, N] = X[M, K] * W[N, K]^T. The planner takes it
// for ranges of M that end with nine tokens or more, and for all where scales of Y are found.
// Weights are the A operand, decoded into registers; tokens are the B
// operand, in shared memory as the tensor copy engine has put them.
//
// Floors. Bytes: the packed weights once for each tile of tokens, the tokens once for each tile of
// rows. Operations: 2 M N K, and decoding, at 4 bits 256 instructions to FP16 and 288 to BF16 for
// 64 rows by 128 columns.
//
// Budget of these 64 rows by 128 columns on an SM of an H200, computed, in clocks at 1.965 GHz:
//
//   tokens                                       16     32     64    128    256
//   weights from memory, 17.5 bytes a clock     241    241    241    241    241
//   tensor cores                                104    128    256    512   1024
//
// Each of the SM's four parts has 64 to 72 instructions to decode and as many again for scales,
// loads and barriers. Half of the first are logical ones, which take a part two clocks each; while
// wgmma reads A from registers, a part issues others at some 0.4 of its rate. So up to 32 tokens
// memory and decoding set the pace, at 64 decoding beside wgmma, from 128 on the tensor cores. At
// the limit of power, with many tokens, the fewest reads and instructions a product are the
// fastest. The L2 cache gives an SM 28 to 33 bytes a clock; tiles of 256 x 128 (rows by tokens)
// read 24, of 128 x 128 40 and of 128 x 256 36, and 16, 24, 20 where two blocks of a cluster read
// tokens once. Weights of 16 bits are not decoded, and take 936 clocks from memory. Registers: 232
// a thread that multiplies (112 with four warpgroups), 40 (32) one that fetches. Shared memory: the
// ring of stages, which takes all there is, and room for sums on their way to Y.
//
// Roles and order: gemm.cuh.
#pragma once

#include "steps/sums.cuh"
#include "warpgroup/gemm.cuh"
#include "warpgroup/multiply.cuh"

namespace heddle {

// `shape`: of W. `shared_tiles`: how many tiles at the end are shared by several blocks.
template <class Config, class Decode>
__device__ __forceinline__ void gemm_wgmma(const TensorMap& tokens, const u8* weights, u8* y,
                                           const u8* bias, const u8* residual, u8* workspace,
                                           const WeightShape& shape, int m, int shared_tiles,
                                           u8* y_scales = nullptr) {
  gemm_by_wgmma<Config, WgmmaMultiply<Config, Decode>>(tokens, nullptr, weights, FloatSums{}, y,
                                                       bias, residual, workspace, shape, m,
                                                       shared_tiles, y_scales);
}

}  // namespace heddle
