// GEMM with quantised weights for few tokens, sm_90 and up: Y[M, N] = X[M, K] * W[N, K]^T, M up to
// tile_m. Tiles of mma.sync whose operands come by bulk and tensor copies.
//
// Floors. Bytes: the packed weights, once, and from the L2 cache the tokens, once for each thread
// block. Operations: for a chunk of 16 rows by 128 columns 8 matrix instructions for each 8 tokens,
// and decoding, at 4 bits 64 instructions to FP16 and 72 to BF16.
//
// Budget of an SM of an H200, computed, 28672 x 8192, 16 tokens, 224 rows. Memory brings 0.95 MB of
// weights in 54 thousand clocks at 17.5 bytes a clock; with 0.26 MB of tokens the SM takes 22 bytes
// a clock of the L2 cache. A chunk takes 64 instructions to decode, 16 matrix instructions of 6
// clocks and some 20 more: each part of the SM has 224 chunks, 40 thousand clocks. Shared memory:
// weights and tokens are written once, weights read once, tokens once for each warp that shares
// rows.
//
// Budget of a cluster's block, computed, 1280 x 8192, 32 tokens, 64 rows, K over five blocks. It
// reads weights of 54 KB and tokens of 105 KB, in 3200 clocks if an SM takes 50 bytes a clock; the
// memory has all weights in 2300. Every tile reads the tokens again, so tiles have at least half as
// many rows as tokens. Registers: 4 sums for each pair of a row tile and a token tile, and 8 for
// each token tile of 64 columns: 64 each at most with 64 tokens. Shared memory: the ring, over
// which the warps put their sums, then the other blocks' sums, as many bytes as the tile in FP32.
//
// Roles. One warp fetches (bulk_fetch.cuh), the others multiply (bulk_tile.cuh), all finish. A
// block has rows of its own and walks K once (schedule/split_k.cuh), with as many rows as make one
// round of blocks. Where W has too few rows for that, the blocks of a cluster share the K of a tile
// (schedule/cluster_split_k.cuh).
//
// Order.
// 1. Barriers are made. The fetching warp copies the weights of the first stages_ahead stages.
// 2. It waits for the previous kernel and copies their tokens, then stage by stage the rest.
// 3. The other warps multiply each stage once its bytes are there, tokens loaded once for all row
//    tiles of a warp, and give its place back.
// 4. The warps' sums are added in shared memory, those of a cluster's blocks are exchanged
//    (cluster_epilogue.cuh), and Y is written.
#pragma once

#include "schedule/cluster_split_k.cuh"
#include "schedule/split_k.cuh"
#include "tiles/bulk_fetch.cuh"
#include "tiles/bulk_tile.cuh"
#include "tiles/cluster_epilogue.cuh"

namespace heddle {

template <class Config, class Decode>
__device__ __forceinline__ void gemm_bulk(const TensorMap& tokens, const u8* weights, u8* y,
                                          const u8* bias, const u8* residual, u8* workspace, int m,
                                          u8* y_scales = nullptr) {
  using S = Shape<Config>;
  using Memory = BulkMemory<Config>;
  using Exchange = ClusterEpilogue<Config, Memory::kThreads>;
  extern __shared__ __align__(1024) u8 shared_memory[];
  const Memory memory{shared_address(shared_memory)};
  const int lane = threadIdx.x % 32;
  const int warp = broadcast(threadIdx.x / 32, 0);  // tells the compiler that lanes agree
  launch_dependents();
  typename Config::Schedule schedule;
  Piece piece;
  if (!schedule.next(piece)) return;
  const int row_block = piece.row_tile * S::kStageRowBlocks;
  constexpr bool kCluster = Config::value.is_cluster();

  if (threadIdx.x == 0) {
    prefetch_tensor_map(tokens);
    memory.init_barriers();
    if constexpr (kCluster) Exchange::expect_sums(memory.shared, schedule.part);
  }
  block_barrier();
  // A block may be sent sums once its barriers are made: cluster_wait() below waits for all blocks
  // to have come here.
  if constexpr (kCluster) cluster_arrive_unordered();

  // Warps of one K slice are neighbours.
  const int warp_k = warp / Config::value.warps_n;
  BulkTile<Config, Decode> tile(lane, warp % Config::value.warps_n, warp_k);
  const bool multiplies = warp < Memory::kWarps;
  if (multiplies) {
    tile.load_channel_zeros(weights + Config::value.shape.channel_offset, row_block);
    RingPlace<Config> place;
#pragma unroll 1
    for (int k = piece.begin; k < piece.end; ++k) {
      mbarrier_wait(memory.full_barrier(place.stage), place.parity);
      tile.multiply(memory.tokens(place.stage), memory.weights(place.stage, row_block, k),
                    BulkFetch<Config>::chunks_of(k));
      mbarrier_arrive(memory.empty_barrier(place.stage));  // each lane for what it has read
      place.advance();
    }
    wait_for_predecessor();
  } else {
    const u8* first = weights + static_cast<i64>(row_block) * Config::value.shape.chunks *
                                    Config::value.weights.chunk_bytes;
    BulkFetch<Config>{memory, tokens, first, Config::value.shape.row_blocks - row_block, m}.run(
        piece.begin, piece.end);
  }

  block_barrier();  // all stages have been read: their place is free for sums
  const Epilogue<Config, Memory::kThreads> epilogue{
      {memory.shared},
      schedule.part,
      {weights, y, bias, residual, Config::value.shape, y_scales},
      workspace,
      m};
  if (multiplies) epilogue.put(tile, warp_k);
  block_barrier();
  if constexpr (kCluster) {
    cluster_wait();
    Exchange{epilogue}.finish();
  } else {
    epilogue.finish();
  }
}

}  // namespace heddle
