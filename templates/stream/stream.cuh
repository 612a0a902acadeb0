// GEMM with quantised weights for up to 16 tokens, sm_90 and up: Y[M, N] = X[M, K] * W[N, K]^T.
//
// Floors. Bytes: the packed weights, once. Operations: decoding, which does not depend on M: at 4
// bits 64 instructions of a warp to FP16, 72 to BF16, for a chunk of 16 rows by 128 columns.
//
// Budget of a 4-bit chunk, 1056 bytes, on an SM of an H200 at 1.965 GHz. Memory gives the SM 17.5
// bytes a clock, so the chunk takes 60 clocks: 240 issue slots. The loop has 104 instructions a
// chunk with up to 8 tokens, 8 of them matrix instructions that keep the tensor core of one of the
// SM's four parts busy for 6 clocks each. Shared memory: weights are written and read once, tokens
// are read for every row block: 69 of 128 bytes a clock with 8 tokens, 103 with 16. Eight warps
// with rings of two stages of four chunks take 66 KB, the tokens of all of K 2 * M * K bytes.
//
// Roles. warps_k warps multiply. Each has the same part of K of every row block of its thread
// block, a ring of its own for the weights (ring.cuh), and the tokens of these columns
// (tokens.cuh). One warp more adds their sums and writes Y (sums.cuh), so that none of the others
// is late for its next weights.
//
// A thread block has every workers-th row block (schedule/strided_rows.cuh). It has the tokens of
// all of K where they fit beside the rings; more than eight are read once by two blocks of a
// cluster for each other. Else the blocks of a cluster share K (split_k), and each in turn adds the
// sums of all. A block asks for more than half of an SM's shared memory, so that each SM holds one
// block of a launch: two that start early would meet on the first SM that is free and leave others
// idle. Each SM has a block, even one without rows.
//
// Order.
// 1. Warps make their barriers and copy one stage of weights. More would delay the tokens. No
//    kernel that still runs may write the weights (GemmArgs::weights).
// 2. All wait for the previous kernel. What follows may depend on it.
// 3. A multiplying warp copies its tokens and fills the rest of its ring.
// 4. For every row block, stage by stage: it waits for the bytes, decodes, multiplies, and refills
//    the place. The warp's sums go to one of two slots in shared memory.
// 5. The adding warp sums a slot in the order of the warps. Where blocks share K it sends them to
//    the block of the cluster that finishes this row block, which adds in the order of blocks.
#pragma once

#include "stream/gemm.cuh"

namespace heddle {

template <class Config, class Decode>
__device__ __forceinline__ void gemm_stream(const u8* x, const u8* weights, u8* y, const u8* bias,
                                            const u8* residual, const u8* pre_scale, u8* workspace,
                                            int m, u8* y_scales = nullptr) {
  gemm_by_stream<Config, Decode>(x, weights, pre_scale, StreamPlainValues{}, y, bias, residual, m,
                                 y_scales);
}

}  // namespace heddle
