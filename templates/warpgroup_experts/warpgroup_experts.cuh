// A layer of experts on wgmma, sm_90a: experts/experts.cuh says what it computes, and what its
// phases are. Here kRoute copies the tokens of the rows to the rows' places, too, because the
// tensor memory accelerator (TMA) brings boxes of neighbouring tokens. Each product is a GEMM with
// wgmma (warpgroup/warpgroup.cuh has the budget) whose tiles are those of
// schedule/listed_tiles.cuh: its fetching warps go on with the weights of the next tile, of
// whichever expert, while the last products of this one are made. Those of the second product's
// first tile are fetched while the first product still runs elsewhere (experts/phases.cuh); those
// of the first one are not, since which experts are hit is what the launch before it finds. A tile
// with few rows is multiplied by an instruction with fewer columns (config.h).
//
// A box at the end of an expert's rows has rows of the next one, too, or what the workspace held
// before: their products are not stored.
#pragma once

#include "experts/choose.cuh"
#include "experts/phases.cuh"
#include "experts/route.cuh"
#include "experts/sum.cuh"
#include "steps/sums.cuh"
#include "warpgroup/finish.cuh"
#include "warpgroup/float_end.cuh"
#include "warpgroup/multiply.cuh"
#include "warpgroup/rounded_end.cuh"
#include "warpgroup/stage.cuh"
#include "warpgroup_experts/config.h"
#include "warpgroup_experts/fetch.cuh"

namespace heddle {

// What ListedTiles asks for. Gemm: the product's configuration, as a GEMM's; it has the shape of W
// of an expert and its bytes.
template <class Gemm>
struct WarpgroupExpertTiles {
  using W = WgmmaShape<Gemm>;
  static constexpr int kTileTokens = W::kTileTokens;
  static constexpr int kTileRowTiles = W::kTileRowTiles;
  static constexpr int kRowSets =
      (Gemm::kShape.row_blocks + W::kSetRowBlocks - 1) / W::kSetRowBlocks;
  static constexpr int kBandTokens = W::kBandTokens;
  static constexpr int kTotalUnits = (Gemm::kShape.chunks + W::kStageChunks - 1) / W::kStageChunks;
  static constexpr i64 kGroupBytes = Gemm::kExpertBytes;
};

// Multiplies a tile of so many rows with kColumns columns, or more if these do not hold them.
template <int kColumns, class Gemm, class Decode>
__device__ __forceinline__ void multiply_rows(WgmmaMultiply<Gemm, Decode>& multiply, int rows,
                                              const GroupedPiece& piece, WgmmaStage<Gemm>& stage) {
  constexpr int kTileTokens = WgmmaShape<Gemm>::kTileTokens;
  if constexpr (kColumns < kTileTokens) {
    constexpr int kNext = kColumns + TileWidths{kTileTokens}.step();
    if (rows > kColumns) return multiply_rows<kNext>(multiply, rows, piece, stage);
  }
  const WeightShape shape = Gemm::kShape;
  multiply.template run<kColumns>(piece, shape, stage);
}

// One product, as gemm_by_wgmma() makes a GEMM. `bias`: [local_experts][N].
template <class Gemm, class Decode, class Workspace>
__device__ __forceinline__ void multiply_experts(const TensorMap& rows, const u8* weights, u8* y,
                                                 const u8* bias, const Workspace& workspace,
                                                 u32 shared) {
  using S = WgmmaShape<Gemm>;
  using Multiply = WgmmaMultiply<Gemm, Decode>;
  // More rows than there are: no box begins early, and none is shortened.
  constexpr int kManyRows = 1 << 30;
  constexpr i64 kBiasBytes = static_cast<i64>(Gemm::value.epilogue.bias_bytes) * Gemm::kShape.n;
  constexpr int kFewest = TileWidths{S::kTileTokens}.fewest();
  const WgmmaMemory<Gemm> memory{shared};
  const int lane = threadIdx.x % 32;
  const int warp = broadcast(threadIdx.x / 32, 0);  // tells the compiler that lanes agree
  const int warpgroup = warp / 4 - 1;
  const WeightShape shape = Gemm::kShape;
  if (threadIdx.x == 0) {
    prefetch_tensor_map(rows);
    memory.init_barriers();
    mbarrier_init_fence();
  }
  block_barrier();
  if (warpgroup < 0) {
    shrink_registers<S::kFetchRegisters>();
    const typename Gemm::Schedule schedule(workspace.tiles(), workspace.tile_count());
    ExpertFetch<Gemm>{memory, rows, weights, schedule, warp}.run();
  } else {
    grow_registers<S::kMultiplyRegisters>();
    wait_for_predecessor();  // a block without tiles, too
    typename Gemm::Schedule schedule(workspace.tiles(), workspace.tile_count());
    Multiply multiply(memory, warpgroup, warp % 4, lane);
    WgmmaStage<Gemm> stage = multiply.first_stage();
    GroupedPiece piece;
#pragma unroll 1
    while (schedule.next(piece)) {
      multiply.begin(Gemm::Schedule::weights_of(weights, piece), shape, piece);
      multiply_rows<kFewest>(multiply, broadcast(piece.tokens(S::kTileTokens), 0), piece, stage);
      // The compiler would keep what follows from the expert and from the thread's number in
      // registers through the main loop.
      u32 group = piece.group;
      pin(group);
      piece.group = static_cast<int>(group);
      u32 own = threadIdx.x;
      pin(own);
      const int thread = static_cast<int>(own) % 128;
      const WgmmaParts<Gemm> parts{memory, nullptr, 0, warpgroup, thread};
      const WgmmaStore<Gemm> store{memory,
                                   {Gemm::Schedule::weights_of(weights, piece), y,
                                    bias + piece.group * kBiasBytes, nullptr, shape, nullptr},
                                   FloatSums{},
                                   kManyRows,
                                   warpgroup,
                                   thread,
                                   {}};
      const WgmmaFinish<Gemm> finish{memory, store, parts, warpgroup, thread};
      finish.run(schedule, piece, multiply.sum);
    }
  }
}

// GateUp and Down: the two products' configurations, each as Config of a GEMM with wgmma. `rows`:
// what the phase's product reads, by boxes.
template <class Config, class GateUp, class DecodeGateUp, class Down, class DecodeDown>
__device__ __forceinline__ void warpgroup_experts(const TensorMap& rows, const MoeParameters& layer,
                                                  int phase) {
  extern __shared__ __align__(1024) u8 shared_memory[];
  const u32 shared = shared_address(shared_memory);
  begin_phase(static_cast<MoePhase>(phase));
  const MoeWorkspace<Config> workspace(layer);
  switch (static_cast<MoePhase>(phase)) {
    case MoePhase::kChoose:
      return choose_experts<Config>(layer);
    case MoePhase::kRoute:
      return MoeRouter<Config>{layer, workspace, shared}.run();
    case MoePhase::kGateUp:
      return multiply_experts<GateUp, DecodeGateUp>(rows, layer.gate_up, workspace.middle(),
                                                    layer.gate_up_bias, workspace, shared);
    case MoePhase::kDown:
      return multiply_experts<Down, DecodeDown>(rows, layer.down, workspace.outputs(),
                                                layer.down_bias, workspace, shared);
    case MoePhase::kSum:
      return ExpertSum<Config>{layer, workspace}.run();
  }
}

}  // namespace heddle
