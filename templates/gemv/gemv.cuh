// GEMM with quantised weights for one token, sm_75 and up: Y[1, N] = X[1, K] * W[N, K]^T.
//
// Floors. Bytes: the packed weights, once; every thread block reads X from the L2 cache.
// Operations: decoding, at 4 bits 64 instructions of a warp to FP16 and 72 to BF16 for a chunk of
// 16 rows by 128 columns. Matrices of a few megabytes reach neither: their time is a chain of
// latencies, which this kernel keeps short: the launch, one trip to memory, the decoding of a
// warp's few chunks, one exchange of sums.
//
// Budget of a 4-bit chunk, computed. It has 64 instructions to decode, 8 matrix instructions and
// some 15 for loads, scales and addresses. A warp alone issues one every four clocks, so a chunk
// takes it about 380; an SM with many warps issues three a clock, so it takes 30. A request for
// weights takes some 1600 clocks (generator/families/gemv/cost.cc has these numbers, and `heddle
// tune --calibrate` measures them). Registers: the weights of `ahead` chunks, 8 a chunk at 4 bits.
// Shared memory: X and the metadata of the block's chunks, 64 bytes of sums for each warp.
//
// Roles. A thread block has one row block of 16 rows, or a part of its K, and its warps share that
// part. Grid: (row blocks, 1, parts of K), as schedule/row_split_k.cuh wants it. Where an SM has
// room for several blocks they hide each other's latencies.
//
// Order, of a warp:
// 1. It requests the weights of its first chunks, which go into registers, and the metadata of all.
// 2. It waits for the previous kernel, which must not write weights (GemmArgs::weights).
// 3. It reads X of its own columns, and the metadata, into shared memory. No other warp needs them,
//    so there is no barrier of the block.
// 4. It decodes and multiplies chunk by chunk, and requests the one that is `ahead` chunks on.
// 5. It puts its 16 sums into shared memory. After the block's one barrier the first warp adds them
//    in the order of the warps, and where blocks share K, the last of them to come adds theirs.
#pragma once

#include "gemv/shape.cuh"
#include "gemv/sums.cuh"
#include "gemv/warp.cuh"
#include "primitives/dependent_launch.cuh"
#include "schedule/row_split_k.cuh"

namespace heddle {

template <class Config, class Decode>
__device__ __forceinline__ void gemm_gemv(const u8* x, const u8* weights, u8* y, const u8* bias,
                                          const u8* residual, const u8* pre_scale, u8* workspace,
                                          int, u8* y_scales = nullptr) {
  extern __shared__ __align__(128) u8 shared_memory[];
  const u32 shared = shared_address(shared_memory);
  constexpr PackedWeights kWeights = Config::value.weights;
  constexpr WeightShape kShape = Config::value.shape;
  const int warp = broadcast(threadIdx.x / 32, 0);
  const int lane = threadIdx.x % 32;
  launch_dependents();

  typename Config::Schedule schedule;
  Piece piece;
  if (!schedule.next(piece)) return;
  const int row_block = piece.row_tile;
  const int begin = piece.begin;
  // Chunks of the piece, and of these the warp's.
  const int of_block = piece.end - begin;
  const int first = of_block * warp / Config::value.warps_k;  // in the piece's
  const int chunks = of_block * (warp + 1) / Config::value.warps_k - first;
  const u8* const own = weights + (static_cast<i64>(row_block) * kShape.chunks + begin + first) *
                                      kWeights.chunk_bytes;
  const int column = Chunk::kColumns * (begin + first);
  const u32 tokens = shared + first * GemvConfig::kChunkTokenBytes;
  const u32 meta = shared + Config::value.meta_offset() + first * Config::value.meta_bytes();

  GemvWarp<Config, Decode> worker(own, chunks, tokens, meta, lane);
  GemvStage<Config> stage{
      own, x + 2 * column, pre_scale + 2 * column, chunks, kShape.k - column, meta, tokens, lane,
      {}};
  worker.request();
  stage.request_meta();
  wait_for_predecessor();
  stage.copy();
  warp_barrier();
  worker.multiply(weights + kShape.channel_offset +
                  static_cast<i64>(row_block) * kWeights.channel_bytes);

  const GemvSums<Config> sums{shared + Config::value.sum_offset(),
                              {weights, y, bias, residual, Config::value.shape, y_scales},
                              workspace,
                              row_block,
                              schedule.part};
  sums.put(warp, lane, worker.sum);
  block_barrier();
  if (warp == 0) sums.finish(lane);
}

}  // namespace heddle
