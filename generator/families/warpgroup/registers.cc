#include "generator/families/warpgroup/registers.h"

#include <algorithm>

#include "generator/families/scale_mode.h"

namespace heddle {
namespace {

using device::WarpgroupConfig;

// Registers other than those of sums and decoded words, found by compiling (CompileWgmma and
// CompileWgmmaBytes, of every kernel).
constexpr int kAddresses = 28;       // and the loop's
constexpr int kWeightAddresses = 8;  // of weights that are multiplied from shared memory
constexpr int kDecoding = 40;        // words, scales and zero points on their way
constexpr int kPromoting = 16;
// Addresses and words of a second row tile, for each chunk of a stage after the first.
constexpr int kFurtherChunk = 6;
// While sums of INT8 become FP32: addresses and words of a second row tile; and where the scales of
// outputs are found, places of a thread for each chunk of a stage after the first.
constexpr int kSecondConverted = 64, kFoundChunk = 16;

// Row tiles of a warpgroup. Two warpgroups may share one.
int row_tiles(const WarpgroupConfig& c) {
  return std::max(1, c.tile_n / (WarpgroupConfig::kRowTile * c.warpgroups));
}

// Sums of INT8 that become FP32 group by group: both forms have registers where that happens
// several times a chunk, or where scales of outputs are found, in stages of several chunks.
int conversion_registers(const WarpgroupConfig& c) {
  const bool is_short = c.weights.meta_group < device::Chunk::kColumns;
  const bool finds = c.epilogue.finds_scales;
  const int further = c.stage_chunks - 1;
  const int again = further > 0 && (is_short || finds) ? wgmma_sum_registers(c) : 0;
  return kSecondConverted * (row_tiles(c) - 1) + again + (finds ? kFoundChunk * further : 0);
}

}  // namespace

int wgmma_sum_registers(const WarpgroupConfig& c) {
  const int sums = 4 * row_tiles(c) * (c.tile_m / 8);
  if (c.byte_operands()) return sums + (c.promotes ? c.chunk_sum_tokens() / 2 : 0);
  // Sums of a group, or of 128 columns, of one row tile at a time.
  if (c.byte_tokens()) return sums + (c.has_group_sums() ? c.tile_m / 2 : 0);
  return c.scaling.mode == ScaleMode::kAccumulator ? 2 * sums : sums;
}

int wgmma_registers(const GemmSpec& spec, const WarpgroupConfig& c) {
  int registers = wgmma_sum_registers(c) + kAddresses;
  if (c.byte_operands()) return registers + kWeightAddresses;
  constexpr int kWords = 4;  // of a lane, of a tile of the matrix instruction
  registers += kWords * WarpgroupConfig::kDecodedSets * c.step_tiles;
  const bool is_int8 = spec.activation == DType::kInt8;
  // Products of FP8 whose sums of groups are added are waited for before the next words come.
  const bool waits = c.byte_tokens() && !is_int8 && c.has_group_sums();
  if (!waits) registers += kDecoding;
  if (c.promotes) registers += kPromoting;
  if (c.byte_tokens()) registers += kFurtherChunk * (row_tiles(c) - 1) * (c.stage_chunks - 1);
  const bool converts = is_int8 && c.scaling.mode == ScaleMode::kGroup;
  return registers + (converts ? conversion_registers(c) : 0);
}

bool wgmma_fits_registers(const GemmSpec& spec, const WarpgroupConfig& c) {
  return c.has_four() || wgmma_registers(spec, c) <= kWgmmaRegisters;
}

}  // namespace heddle
