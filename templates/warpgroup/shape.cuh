// Constants that follow from the Config of a GEMM with wgmma, and the places in shared memory.
//
// A tile is tile_n rows of W by tile_m tokens. Each of two or four warpgroups owns as many of its
// rows, in tiles of 64: warp w of it holds row block w of each of them. Of a tile of 64 rows each
// of two owns every other chunk, or half of each chunk's columns where a stage is one chunk, and in
// the end the sums of half of the tokens. A stage is kStageChunks chunks, of 128 columns each, of
// all row blocks of the tile, or half a chunk of each.
#pragma once

#include "primitives/mbarrier.cuh"
#include "steps/ring_place.cuh"
#include "steps/stage.cuh"
#include "warpgroup/config.h"

namespace heddle {

template <class Config>
struct WgmmaShape {
  static constexpr int kChunkK = 128;
  // Warpgroups that multiply; one more fetches.
  static constexpr int kWarpgroups = Config::value.warpgroups;
  static constexpr bool kFour = kWarpgroups == 4;
  static constexpr int kWarps = 4 * kWarpgroups;
  // Registers of a thread; setmaxnreg takes multiples of 8.
  static constexpr int kFetchRegisters = kFour ? 32 : 40;
  static constexpr int kMultiplyRegisters = kFour ? 112 : 232;
  static_assert(kFetchRegisters + kWarpgroups * kMultiplyRegisters <=
                    (kFour ? 5 * 96 : 65536 / 128),
                "a block has registers for all warpgroups: of five 96 each at its start");
  static constexpr bool kSplitsColumns = Config::value.splits_columns();
  static constexpr int kRowTiles =  // of a warpgroup
      kSplitsColumns ? 1 : Config::value.tile_n / (64 * kWarpgroups);
  static constexpr int kTileRowBlocks = Config::value.tile_n / 16;
  static constexpr int kTileRowTiles = Config::value.tile_n / 64;
  static constexpr int kTileTokens = Config::value.tile_m;
  static constexpr int kBandTokens = Config::value.kBandTokens;
  static constexpr int kStageChunks = Config::value.stage_chunks;
  static constexpr bool kSplitsChunks = Config::value.splits_chunks();
  static constexpr int kOwnChunks =  // of a stage, all of their columns or half
      kSplitsColumns && !kSplitsChunks ? kStageChunks / kWarpgroups : kStageChunks;
  // Blocks share K in units of whole chunks: a stage, or two that are half a chunk each.
  static constexpr int kUnitStages = Config::value.half_stages ? 2 : 1;
  static constexpr int kLastChunks = Config::value.ends.last_chunks;  // of the last unit; 0: all
  static constexpr bool kSharesTiles = Config::value.shares_tiles();
  // Blocks of a cluster have the same tokens and neighbouring tiles, a set of rows. Each fetches
  // its part of the tokens for all.
  static constexpr int kBlocks = Config::value.cluster;
  static constexpr int kSetRowBlocks = Config::value.cluster_rows() / 16;
  static constexpr bool kRowsMayEnd = Config::value.ends.rows_may_end;
  static constexpr int kSums = Config::value.tile_m / 2;  // a thread's, of each row tile
  static constexpr int kOwnTokens = Config::value.own_tokens();
  static constexpr int kOwnSums = Config::value.own_sums();
  static constexpr bool kOneTokenTile = Config::value.ends.one_token_tile;

  static constexpr int kTileColumns =
      Config::value.byte_tokens() ? 32 : 16;  // of a matrix instruction
  // A stage has [column_boxes()][tile_m][128 bytes] of tokens, each token's swizzled: half a
  // chunk's columns of 16 bits, all of eight. Weights: [kTileRowBlocks][kStageChunks] chunks, or of
  // one the words of half of its columns and all of its scales and zero points; with
  // byte_operands() [kStageChunks][kTileRowBlocks] chunks.
  static constexpr int kHalfBytes = Config::value.tile_m * 128;
  static constexpr int kColumnHalfBytes =
      Config::value.byte_tokens() ? 64 : kHalfBytes;  // to a chunk's other half
  // Tokens as rows of the instruction: a warpgroup has a box of them, in tiles of 64, and 128 rows
  // of W at a time as columns.
  static constexpr int kTokenTiles = Config::value.tile_m / 128;
  // Tokens are copied in boxes of 128 bytes. What a box has outside of X comes more slowly than
  // what it has of X. A tile's only box has no more tokens than the launch: behind them stays what
  // was there, whose sums are not stored. Of two, if there are tokens for one at least, the last
  // begins early enough to be full and has tokens of the one before, too.
  static constexpr int kBoxTokens = Config::value.box_tokens();
  static constexpr int kBoxes = Config::value.tile_m / kBoxTokens;  // of a half
  static constexpr int kBoxBytes = kBoxTokens * 128;
  static constexpr int kMetadataBytes =
      Config::value.weights.chunk_bytes - 2 * Config::value.half_word_bytes();
  static constexpr int kMissingBytes =
      Config::value.half_stages ? Config::value.half_word_bytes() : 0;
  // From a row block of a stage to the next one, with byte_operands() within a chunk; and from a
  // chunk to the next.
  static constexpr int kRowBlockStep = Config::value.byte_operands()
                                           ? Config::value.weights.chunk_bytes
                                           : Config::value.row_block_bytes();
  static constexpr int kChunkBytes = kTileRowBlocks * Config::value.weights.chunk_bytes;

  // Sums that a warpgroup gets from the other block of a pair, half of its own; more than 128
  // tokens leave no registers for that. They take the place of sums on their way to Y if there is
  // room and nothing else needs it, or else of stages that have been read.
  static constexpr int kPairSumBytes = kRowTiles * 4 * 128 * kOwnSums / 2;
  static constexpr bool kPairs = Config::value.shares_in_pairs();
  // Tiles of all tokens are shared in one way.
  static constexpr bool kAlwaysPairs = kPairs && kOneTokenTile;
  static constexpr bool kPairSumsInStages = kSplitsColumns ||
                                            kPairSumBytes > Config::value.pass_bytes();
  // Each block of a pair stores the outputs of half of a warpgroup's tokens, or of tokens that are
  // rows half of its outputs; where these have a scale in common every other eight tokens, which
  // are two of each four sums.
  static constexpr bool kPairsShareEights =
      Config::value.has_token_rows() && Config::value.finds_in_registers();
  static_assert(!kSplitsColumns || !Config::value.finds_in_registers(),
                "a pass has no room for half of the sums");

  static __device__ __forceinline__ int total_units(const WeightShape& shape) {
    return (shape.chunks + kStageChunks - 1) / kStageChunks;
  }
  static __device__ __forceinline__ int row_sets(const WeightShape& shape) {
    return (shape.row_blocks + kSetRowBlocks - 1) / kSetRowBlocks;
  }
  // Chunks of a row block in unit `unit`.
  static __device__ __forceinline__ int chunks_of_unit(int unit, const WeightShape& shape) {
    return chunks_of_stage<kLastChunks, kStageChunks>(unit, shape.chunks);
  }

  static __device__ __forceinline__ int box_bytes(int m) {
    return (Config::value.fits_box() && m < kBoxTokens ? m : kBoxTokens) * 128;
  }
  // The number of tokens by which a box begins early of which the first would be this one. A box of
  // factors begins with a whole 16 bytes, else its copy is an illegal instruction: then up to three
  // tokens less.
  static __device__ __forceinline__ int early(int token, int m) {
    const int over = token + kBoxTokens - m;
    if (kBoxes == 1 || over <= 0 || m < kBoxTokens) return 0;
    return Config::value.scales_blocks() ? over & ~3 : over;
  }

  // The tokens of a pass: as many as have room and divide `tokens`.
  static __device__ constexpr int tokens_of_pass(int tokens) {
    const bool in_registers = Config::value.rounds_first() || Config::value.finds_in_registers();
    const int most = in_registers ? Config::value.rounded_tokens() : Config::value.pass_tokens();
    int pass = tokens < most ? tokens : most;
    while (tokens % pass != 0) pass -= in_registers ? 16 : 8;
    return pass;
  }

  static_assert(kWarpgroups == 2 || (kFour && !kSplitsColumns), "two warpgroups may share rows");
  static_assert(kSplitsColumns || Config::value.tile_n % (64 * kWarpgroups) == 0,
                "whole row tiles for each warpgroup");
  static_assert(kOwnSums % 8 == 0 || !kSplitsColumns, "a pair exchanges 16 bytes at a time");
  static_assert(kTileRowBlocks % Config::value.kFetchWarps == 0, "warps share the row blocks");
  static_assert(Config::value.stages_ahead <= Config::value.stages, "a place for each of them");
  static_assert(!kPairs || (Config::value.shares_tiles() && kBlocks == 1 &&
                            !Config::value.has_many_tokens() &&
                            kWarpgroups * kPairSumBytes <= Config::value.pass_offset()),
                "a pair has room and registers for half of each other's sums");
  static_assert(kBlocks == 1 || kBlocks == 2, "a box is one block's or the other's");
  static_assert(!Config::value.half_stages || (kStageChunks == 1 && kRowTiles == 1 &&
                                               !kSplitsColumns && !Config::value.weights.row_lines),
                "the halves of a chunk lie apart, and a warp is done with one after the other");
  static_assert(!Config::value.epilogue.finds_scales ||
                    (Config::value.tile_n % Config::value.scale_rows() == 0 &&
                     (Config::value.has_own_groups() || !kSharesTiles || kAlwaysPairs)),
                "the outputs that share a scale are finished by one block at a time");
  static_assert(kHalfBytes % 1024 == 0, "the swizzle repeats after 1024 bytes");
};

template <class Config>
struct WgmmaMemory {
  using S = WgmmaShape<Config>;
  u32 shared;  // a multiple of 1024

  __device__ __forceinline__ u32 tokens(int stage) const {
    return shared + stage * Config::value.token_bytes();
  }
  __device__ __forceinline__ u32 weights(int stage) const {
    return shared + Config::value.weight_offset() + stage * Config::value.weight_bytes();
  }
  __device__ __forceinline__ u32 factors(int stage) const {
    return shared + Config::value.factor_offset() + stage * Config::value.factor_bytes();
  }
  __device__ __forceinline__ u32 pass(int warpgroup) const {
    return shared + Config::value.pass_offset() + warpgroup * Config::value.pass_bytes();
  }
  // The scales of a warpgroup's tokens and their zero points.
  __device__ __forceinline__ u32 token_values(int warpgroup) const {
    return shared + Config::value.token_value_offset() +
           warpgroup * Config::value.token_value_bytes();
  }
  // The largest magnitude of outputs of 64 rows, of the token at a place.
  __device__ __forceinline__ u32 magnitude(int row_tile, int place) const {
    return shared + Config::value.magnitude_offset() +
           4 * (row_tile * Config::value.tile_m + place);
  }
  // With finds_in_registers(): what outputs of a group and of the token at a place,
  // of those that this block stores, are multiplied by; 0 if their scale is NaN.
  __device__ __forceinline__ u32 inverse(int group, int place) const {
    return magnitude(group, place);
  }
  // Barriers of a stage: full when its bytes have come, empty when all lanes that multiply have
  // read them.
  __device__ __forceinline__ u32 full_barrier(int stage) const {
    return shared + Config::value.barrier_offset() + 8 * stage;
  }
  __device__ __forceinline__ u32 empty_barrier(int stage) const {
    return empty_beside(full_barrier(stage));
  }
  static __device__ __forceinline__ u32 empty_beside(u32 full_barrier) {
    return full_barrier + 8 * Config::value.stages;
  }
  // Words in which a warpgroup's first thread tells the others something, two for each.
  __device__ __forceinline__ u32 word(int i) const {
    return full_barrier(2 * Config::value.stages) + 4 * i;
  }

  // Barriers of a pair of blocks: the sums that the other block gives to a warpgroup have come, and
  // the other block has read all of its stages.
  __device__ __forceinline__ u32 pair_barrier(int warpgroup) const {
    return word(2 * S::kWarpgroups) + 8 * warpgroup;
  }
  __device__ __forceinline__ u32 read_barrier() const { return pair_barrier(S::kWarpgroups); }

  // With ping_pongs(): the tensor cores are this one's.
  __device__ __forceinline__ u32 ping_pong_barrier(int warpgroup) const {
    return word(2 * S::kWarpgroups) + 8 * (Config::value.exchange_barriers() + warpgroup);
  }

  __device__ __forceinline__ void init_barriers() const {
    if constexpr (Config::value.ping_pongs()) {
#pragma unroll
      for (int i = 0; i < S::kWarpgroups; ++i) mbarrier_init(ping_pong_barrier(i), 4);
    }
    if constexpr (S::kPairs) {
#pragma unroll
      for (int i = 0; i < S::kWarpgroups; ++i) mbarrier_init(pair_barrier(i), 1);
      mbarrier_init(read_barrier(), S::kWarps);
    }
#pragma unroll
    for (int stage = 0; stage < Config::value.stages; ++stage) {
      mbarrier_init(full_barrier(stage), Config::value.kFetchWarps);
      // All lanes of this block, or one of each warp, as of another block.
      mbarrier_init(empty_barrier(stage), (Config::value.byte_operands() ? 1 : 32) * S::kWarps +
                                              S::kWarps * (S::kBlocks - 1));
    }
  }
};

}  // namespace heddle
