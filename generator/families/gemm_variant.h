// What the GEMM planner settles for one range of M, whichever family it is for.
#ifndef HEDDLE_GENERATOR_FAMILIES_GEMM_VARIANT_H_
#define HEDDLE_GENERATOR_FAMILIES_GEMM_VARIANT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/plan.h"

namespace heddle {

// Where the group's scale is applied.
enum class ScaleMode {
  kAccumulator,  // FP32, to the partial sum of each group: no rounding of the weight
  kWeight,       // in the activation's dtype, to the decoded weight: one rounding
  kChannel,      // FP32, once, in the epilogue
};

// Which template a variant is made from.
enum class GemmKernel {
  kTiles,   // tiles of the output, mma.sync: every path
  kStream,  // few tokens, kept in shared memory, weights streamed past them: Path::kHopper
  kBulk,    // few tokens, tiles of mma.sync that bulk copies feed: Path::kHopper
  kWgmma,   // weights in registers of warpgroups, tensor copies of tokens: Path::kHopper, sm_90
};

// One compiled kernel: it serves m_min <= M <= m_max.
struct GemmVariant {
  std::string name;  // the entry point's name
  std::int64_t m_min = 1;
  std::int64_t m_max = 1;
  Path path = Path::kAmpere;  // never kAuto
  GemmKernel kernel = GemmKernel::kTiles;
  int tile_m = 8;    // tokens per block, a multiple of 8 * warps_m
  int tile_n = 64;   // rows of W per block, a multiple of 16 * warps_n
  int stage_k = 64;  // K per pipeline stage, a multiple of 64 * warps_k
  int stages = 2;
  // kBulk, kWgmma: stages whose weights are copied before griddepcontrol.wait, i.e. while the
  // previous kernel still runs.
  int stages_ahead = 1;
  int split_k = 1;  // blocks along K; their sums are added in a fixed order
  int warps_m = 1;
  int warps_n = 1;  // kWgmma: 8 or 16, two or four warpgroups
  int warps_k = 1;
  bool reads_ahead = false;  // kTiles: warps load, and decode, ahead of what they multiply
  // kStream: blocks that share the row blocks, some without any; kWgmma: the most blocks of a
  // launch.
  int workers = 0;
  int stage_chunks = 0;  // all but kTiles: chunks of a row block that are loaded at a time
  // kStream: blocks of a cluster share K (split_k of them) or what they read of the tokens; kWgmma:
  // they share the tokens.
  int cluster = 1;
  // kWgmma only: several blocks may share the K of a tile, two of them as a pair that exchanges
  // sums in shared memory; weights are decoded `step_tiles` tiles of 16 columns at a time, into
  // `decoded_sets` sets of registers in turn.
  bool shares_tiles = false;
  bool shares_in_pairs = false;
  int step_tiles = 4;
  int decoded_sets = 2;
  ScaleMode scale_mode = ScaleMode::kAccumulator;
  // DecodeRequest's: the power of two of the codes is left to the scale; or decoding multiplies by
  // the scale, too.
  bool fold_power = false;
  bool fold_scale = false;
  int shared_bytes = 0;   // dynamic
  int blocks_per_sm = 1;  // what the register budget is set for

  // wgmma has four warps more, which fetch, kBulk one, streams one, which adds.
  int threads() const noexcept {
    const int more = kernel == GemmKernel::kTiles ? 0 : kernel == GemmKernel::kWgmma ? 4 : 1;
    return 32 * (warps_m * warps_n * warps_k + more);
  }
  int row_tiles() const noexcept { return tile_n / (16 * warps_n); }   // of 16 rows, per warp
  int token_tiles() const noexcept { return tile_m / (8 * warps_m); }  // of 8 tokens, per warp
};

// The variant of a kernel of a gemm's plan, and those of all.
const GemmVariant& variant_of(const PlannedKernel& kernel) noexcept;
std::vector<GemmVariant> gemm_variants(const Plan& plan);

// The variant's decode plan: plan.decode, but for fold_power and fold_scale.
DecodePlan decode_plan_of(const Plan& plan, const GemmVariant& variant);

std::string_view to_string(ScaleMode mode) noexcept;
std::string_view to_string(GemmKernel kernel) noexcept;

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_GEMM_VARIANT_H_
