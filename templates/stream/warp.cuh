// One warp that multiplies: its columns of K of one row block after the other.
#pragma once

#include "stream/multiply.cuh"
#include "stream/ring.cuh"
#include "stream/sums.cuh"
#include "stream/tokens.cuh"

namespace heddle {

template <class Config, class Decode>
struct StreamWarp : StreamMultiplier<Config, Decode> {
  using Multiplier = StreamMultiplier<Config, Decode>;
  using Lane = ChunkLane<Config>;
  using S = StreamShape<Config>;
  using Schedule = typename Config::Schedule;
  using Multiplier::decoder;
  using Multiplier::kPartial;
  using Multiplier::kUnroll;
  using Multiplier::sum;
  using Multiplier::wide_scales;

  StreamMemory<Config> memory;
  Schedule schedule;
  StreamTokens<Config> tokens;
  StreamRing<Config> ring;
  const u8* weights;
  int warp;
  int lane;

  __device__ __forceinline__ StreamWarp(StreamMemory<Config> memory, const Schedule& schedule,
                                        const u8* x, const u8* weights, const u8* pre_scale, int m,
                                        int warp, int lane)
      : Multiplier(lane),
        memory(memory),
        schedule(schedule),
        tokens{memory, x, pre_scale, m, warp, lane},
        ring{memory, schedule, weights, warp,
             part_of({schedule.first_unit(), schedule.end_unit()}, warp, Config::value.warps_k)},
        weights(weights),
        warp(warp),
        lane(lane) {}

  // The first weights on their way: one stage. More of them would make the tokens late, and the
  // kernel before this one.
  __device__ __forceinline__ void start_ring() {
    ring.init();
    ring.fill(0);
  }

  __device__ __forceinline__ void run() {
    tokens.copy(ring.chunks);
#pragma unroll
    for (int i = 1; i < Config::value.stages; ++i) ring.fill(i);
    warp_barrier();
    const int count = schedule.count();
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      multiply_block(schedule.piece(i), i == 0);
      put_sums(memory, i, warp, lane, sum);
    }
    if (count == 0) tokens.wait_for_all(ring.chunks);
  }

 private:
  // `is_first`: of this block's.
  __device__ __forceinline__ void multiply_block(const Piece& piece, bool is_first) {
    this->clear(sum);
    const u8* const zeros =
        weights + Config::value.shape.channel_offset + Config::value.weights.channel_zero_offset;
    decoder.load_channel_zeros(
        0, *this, zeros + static_cast<i64>(piece.row_tile) * Config::value.weights.channel_bytes);
    const int chunks = ring.chunks.end - ring.chunks.begin;
#pragma unroll 1
    for (int first = 0; first < chunks; first += Config::value.stage_chunks) {
      multiply_stage(is_first, first, chunks);
    }
  }

  // Multiplies a stage, the warp's chunks from `first` on. `begins`: of the first row block.
  __device__ __forceinline__ void multiply_stage(bool begins, int first, int chunks) {
    const u32 stage = ring.take();
    if constexpr (!kPartial) this->clear_parts();
    if (!S::kOneStage && begins) receive_tokens(first);
#pragma unroll kUnroll
    for (int c = 0; c < Config::value.stage_chunks; ++c) {
      if (!S::kEven && c > 0 && first + c >= chunks) break;
      if (S::kOneStage && begins) receive_tokens(c);
      const u32 chunk = stage + c * Config::value.weights.chunk_bytes;
      if constexpr (S::kWidens) widen_scales(chunk, c);
      multiply_chunk(chunk, first + c,
                     memory.wide_scales(warp) + c % S::kWideChunks * S::kWideChunkBytes);
    }
    if constexpr (!kPartial) this->add_parts({1.0f, 1.0f});
    ring.give_back();
  }

  // Waits for the tokens of the piece that chunk `c` begins, if it does.
  __device__ __forceinline__ void receive_tokens(int c) const {
    if (c % S::kPieceChunks == 0) tokens.wait(c / S::kPieceChunks);
  }

  // Widens the scales of S::kWideChunks chunks, if chunk `c` of the stage is the first of as many.
  __device__ __forceinline__ void widen_scales(u32 chunk, int c) {
    if (c % S::kWideChunks != 0) return;
    if (c > 0) warp_barrier();  // those before have been read
    wide_scales.widen(chunk, memory.wide_scales(warp), lane);
  }

  // Chunk `c` of the warp's; `wide`: its scales, S::kWidens only.
  __device__ __forceinline__ void multiply_chunk(u32 chunk, int c, u32 wide) {
    Multiplier::multiply_chunk(
        chunk, wide, [&](int half, typename StreamTokens<Config>::Fragments& b) {
          tokens.load(memory.tokens(warp) + (2 * c + half) * S::kHalfTokenBytes, b);
        });
  }
};

}  // namespace heddle
