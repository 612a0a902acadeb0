// GEMM with quantised weights for few tokens, sm_90 and up: Y[M, N] = X[M, K] * W[N, K]^T, M up to
// tile_m. Tiles of mma.sync whose operands come by bulk copies.
//
// Where the tokens of all of K do not fit into shared memory, streams and shared tiles pay for the
// exchange of sums. Here each block has rows of its own, as many as make one round of blocks, and
// walks K once: weights and tokens come together, and a warp loads tokens once for all of its row
// blocks. Where W has fewer rows than that takes, the blocks of a cluster share K of a tile.
//
// Floors per SM of an H200, 28672 x 8192, 16 tokens, 224 rows: weights 0.95 MB and tokens 0.26 MB
// in 51 thousand clocks at the memory's rate, 24 bytes a clock of the L2 cache. A chunk of 16 rows
// takes 72 instructions to decode, 16 matrix instructions of 6 clocks each, some 20 more: of each
// part of the SM 224 chunks, 35 thousand clocks. Shared memory: weights are written and read once,
// tokens written once and read once for all row blocks of a warp.
//
// Budget of a cluster's block, not measured: 1280 x 8192, 32 tokens, 64 rows, K over five blocks.
// It reads 1638 columns, weights of 54 KB and tokens of 105 KB, in 3200 clocks if an SM takes 50
// bytes a clock; the memory has all weights in 2100. Every tile reads the tokens again, so tiles
// have at least half as many rows as tokens, and the cluster more blocks. The other links of a
// launch: first bytes 1000 clocks, the last stage's product 400, the warps' sums 200, one hop of
// exchange 600, stores 500. Registers: sums, 4 to each pair of a row tile and a token tile, and
// tokens of 64 columns, 8 to a token tile: 64 each at most with 64 tokens. Shared memory: the ring,
// over which the warps put their sums, and behind it the other blocks' sums, as many bytes as the
// tile in FP32.
//
// Roles: one warp fetches (bulk_fetch.cuh), the others multiply (bulk_tile.cuh), all finish.
// Pipeline: barriers are made; weights of the first stages are copied; after the kernel before has
// ended their tokens, and stage by stage the rest; each stage is multiplied as its bytes are there;
// the warps' sums are put into shared memory and added; those of a cluster's blocks are exchanged
// (cluster_epilogue.cuh); Y is written.
//
// One tile for each block (schedule/split_k.cuh), or a part of its K to each block of a cluster
// (schedule/cluster_split_k.cuh).
#pragma once

#include "schedule/cluster_split_k.cuh"
#include "schedule/split_k.cuh"
#include "tiles/bulk_fetch.cuh"
#include "tiles/bulk_tile.cuh"
#include "tiles/cluster_epilogue.cuh"

namespace heddle {

template <class Config, class Decode>
__device__ __forceinline__ void gemm_bulk(const TensorMap& tokens, const u8* weights, u8* y,
                                          const u8* bias, const u8* residual, u8* workspace,
                                          int m) {
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
    tile.load_channel_zeros(weights + Config::value.weights.channel_offset, row_block);
    RingPlace<Config> place;
#pragma unroll 1
    for (int k = piece.begin; k < piece.end; ++k) {
      mbarrier_wait(memory.full_barrier(place.stage), place.parity);
      tile.multiply(memory.tokens(place.stage), memory.weights(place.stage, row_block, k),
                    chunks_of_stage<Config::value.weights.chunks, Shape<Config>::kStageChunks>(k));
      mbarrier_arrive(memory.empty_barrier(place.stage));  // each lane for what it has read
      place.advance();
    }
    wait_for_predecessor();
  } else {
    const u8* first = weights + static_cast<i64>(row_block) * Config::value.weights.chunks *
                                    Config::value.weights.chunk_bytes;
    BulkFetch<Config>{memory, tokens, first, Config::value.weights.row_blocks - row_block, m}.run(
        piece.begin, piece.end);
  }

  block_barrier();  // all stages have been read: their place is free for sums
  const Epilogue<Config, Memory::kThreads> epilogue{
      memory.shared, schedule.part, {weights, y, bias, residual}, workspace, m};
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
