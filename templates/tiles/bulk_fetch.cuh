// The warp that fetches for a GEMM whose operands come by bulk copies: of every stage the weights
// of the tile's row blocks, a copy each, and the tokens, a tensor copy for each 64 columns.
#pragma once

#include "primitives/bulk_copy.cuh"
#include "primitives/dependent_launch.cuh"
#include "primitives/sync.cuh"
#include "primitives/tensor_copy.cuh"
#include "steps/ring_place.cuh"
#include "tiles/bulk_shape.cuh"

namespace heddle {

template <class Config>
struct BulkFetch {
  using S = Shape<Config>;
  using Memory = BulkMemory<Config>;

  Memory memory;
  const TensorMap& tokens;
  const u8* weights;  // of the tile's first row block
  int row_blocks;     // from that one on, of all
  int m;              // tokens; the map's boxes have as many
  u64 policy = policy_read_once();

  // Stages [begin, end). All lanes walk them, one copies: as the compiler knows so, it keeps
  // addresses in uniform registers. The weights of the first stages_ahead stages are read before
  // the previous kernel has ended, which must not write them; more of them would keep its tokens
  // waiting.
  __device__ __forceinline__ void run(int begin, int end) {
    RingPlace<Config> place;
    int k = begin;
    if constexpr (Config::value.stages_ahead > 1) k = fetch_ahead(begin, end, place);
#pragma unroll 1
    for (; k < end; ++k) {
      // A fresh barrier counts as one whose phase of parity 1 has ended.
      mbarrier_wait(memory.empty_barrier(place.stage), place.parity ^ 1);
      fetch_weights(k, place.stage);
      if (Config::value.stages_ahead == 1 && k == begin) wait_for_predecessor();
      fetch_tokens(k, place.stage);
      place.advance();
    }
  }

  // Chunks of a row block in stage k.
  static __device__ __forceinline__ int chunks_of(int k) {
    return chunks_of_stage<S::kLastChunks, S::kStageChunks>(k, Config::value.shape.chunks);
  }

 private:
  // Stages from `begin` on; the first one behind them.
  __device__ __forceinline__ int fetch_ahead(int begin, int end, RingPlace<Config>& place) const {
    const int stop =
        end - begin < Config::value.stages_ahead ? end : begin + Config::value.stages_ahead;
    for (int k = begin; k < stop; ++k) fetch_weights(k, k - begin);
    wait_for_predecessor();
    for (int k = begin; k < stop; ++k) {
      fetch_tokens(k, place.stage);
      place.advance();
    }
    return stop;
  }

  // Announces all bytes of the stage. Tokens that do not exist stay what they are, and so do their
  // sums. Rows past the end of W stay what they are: their results are
  // never stored. So do chunks past the end of K, which no one reads.
  __device__ __forceinline__ void fetch_weights(int k, int stage) const {
    const int chunks = chunks_of(k);
    if (!elect_one()) return;
    const bool ends = Config::value.shape.row_blocks % S::kStageRowBlocks != 0;
    const int blocks = ends && row_blocks < S::kStageRowBlocks ? row_blocks : S::kStageRowBlocks;
    const u32 bytes = chunks * Config::value.weights.chunk_bytes;
    const u32 barrier = memory.full_barrier(stage);
    mbarrier_arrive_expect(barrier, blocks * bytes + 2 * chunks * 128 * m);
    const u8* from = weights + static_cast<i64>(k) * S::kRowBlockBytes;
    const BulkSlots<Config> slots =
        memory.weights(stage, Config::value.shape.row_blocks - row_blocks, k);
#pragma unroll
    for (int i = 0; i < S::kStageRowBlocks; ++i) {
      if (i >= blocks) break;
      bulk_copy_once(slots.row_block(i),
                     from + static_cast<i64>(i) * Config::value.shape.chunks *
                                Config::value.weights.chunk_bytes,
                     bytes, barrier, policy);
    }
  }

  __device__ __forceinline__ void fetch_tokens(int k, int stage) const {
    const int chunks = chunks_of(k);
    if (!elect_one()) return;
#pragma unroll
    for (int half = 0; half < Memory::kHalves; ++half) {
      if (half >= 2 * chunks) break;
      tensor_copy(memory.tokens(stage) + half * Memory::kHalfBytes, tokens,
                  64 * (k * Memory::kHalves + half), 0, memory.full_barrier(stage));
    }
  }
};

}  // namespace heddle
