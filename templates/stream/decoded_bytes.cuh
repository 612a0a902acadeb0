// GEMM of up to 16 tokens of eight bits and weights of four, sm_90 and up: Y[M, N] = X[M, K] *
// W[N, K]^T, INT8 or FP8.
//
// Floors. Bytes: the packed weights, once. Operations: decoding, for a chunk of 16 rows by 128
// columns 24 instructions of a warp to INT8, 56 with zero points or in two levels; FP8 is
// multiplied as FP16, to which they are 64: mma.sync of e4m3 is made of conversions and products of
// FP16 where wgmma or tcgen05 multiply FP8.
//
// Budget of a chunk in groups of 128, 1056 bytes, on an SM of an H200, which has 60 clocks and 240
// issue slots for it (stream.cuh):
//
//   tokens                                             1 to 8       9 to 16
//                                                     INT8   FP8   INT8   FP8
//   instructions, counted in the PTX of the loop        56   104     72   160
//   of them matrix instructions                          4     8      8    16
//   shared memory, bytes a clock of 128                 52    69     69    69
//   registers of a thread, of 224                       78    86    115   111
//
// Groups of 32 take 8 instructions more for each of them and eight tokens to INT8, whose sums
// become FP32 first, and 4 to FP8. The table's FP8 becomes FP16 on its way to shared memory with 1
// to 8 tokens, and has the loop and the shared memory of 16 bits; in the loop with 9 to 16. Both
// serve any of these (tokens.cuh). All others take half of the shared memory of 16 bits for tokens.
//
// Roles and order: stream.cuh. Integers of all of K are added as such, by warps and by the blocks
// of a cluster, and scaled once; the warp that adds reads the scales of its token at first, those
// of rows while others multiply.
#pragma once

#include "steps/byte_rows.cuh"
#include "stream/byte_products.cuh"
#include "stream/gemm.cuh"

namespace heddle {

// Sums of products of codes are multiplied by the scale of the token and, but for groups, by those
// of the rows.
template <class Config>
struct StreamByteValues {
  using Sums = typename Config::Sums;
  using OfToken = typename Sums::OfToken;
  using OfRows = ByteRows<Config>;

  Sums sums;
  const u8* weights;

  __device__ __forceinline__ OfToken of_token(int token, int m) const {
    return sums.template read_token<Config>(token < m ? token : 0);
  }
  __device__ __forceinline__ OfRows of_rows(int row) const { return OfRows::load(weights, row); }
  __device__ __forceinline__ Sums8 outputs(const EightSums<typename Sums::Sum>& sum,
                                           const OfRows& of_rows, const OfToken& of_token,
                                           int half) const {
    return of_rows.outputs(sum, of_token, half);
  }
};

// `x_scales`: FP32, one for each token, or one in all.
template <class Config, class Decode>
__device__ __forceinline__ void gemm_stream_decoded(const u8* x, const u8* weights,
                                                    const u8* x_scales, u8* y, const u8* bias,
                                                    const u8* residual, u8* workspace, int m,
                                                    u8* y_scales = nullptr) {
  gemm_by_stream<Config, Decode>(
      x, weights, nullptr,
      StreamByteValues<Config>{typename Config::Sums(x_scales, nullptr), weights}, y, bias,
      residual, m, y_scales);
}

}  // namespace heddle
